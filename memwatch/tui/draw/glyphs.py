"""The characters pictures are made of, for most terminals, without colours, and in ASCII; what a terminal can show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Glyphs:
    """`heights` rise in eighths of a cell, `lengths` grow in eighths of one. Without colours, a background cannot tell
    one thing from another: `shades` does."""

    heights: str = " ▁▂▃▄▅▆▇█"
    lengths: str = " ▏▎▍▌▋▊▉█"
    others: str = "█"
    free: str = " "
    has_colours: bool = True
    is_ascii: bool = False
    dot: str = "•"
    level: str = "┄"
    corners: str = "╭╮╰╯"
    across: str = "─"
    down: str = "│"
    tick: str = "┤"
    origin: str = "└"
    branch: str = "├─ "
    last_branch: str = "└─ "
    trunk: str = "│  "
    ellipsis: str = "…"
    arrow: str = "→"
    running: str = "●"
    paused: str = "‖"
    stopping: str = "■"
    done: str = "✓"
    failed: str = "✗"
    warning: str = "▲"
    shards: str = "◆"
    here: str = "┃"
    passed: str = "━"
    play: str = "▶"
    range: str = "–"
    times: str = "×"


UNICODE = Glyphs()
MONOCHROME = replace(UNICODE, others="▒", free="·", has_colours=False)
ASCII = Glyphs(
    heights=" ..--==##",
    lengths="    #####",
    others=":",
    free=".",
    has_colours=False,
    is_ascii=True,
    dot="*",
    level="-",
    corners="++++",
    across="-",
    down="|",
    tick="+",
    origin="+",
    branch="|- ",
    last_branch="`- ",
    trunk="|  ",
    ellipsis="~",
    arrow="->",
    running="*",
    paused="=",
    stopping="#",
    done="+",
    failed="x",
    warning="!",
    shards="%",
    here="|",
    passed="=",
    play=">",
    range="-",
    times="x",
)


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """How the full screen is to look."""

    is_ascii: bool = False
    theme: str = "auto"


def shows_unicode(environment: Mapping[str, str]) -> bool:
    """By the locale. Where none is set Python takes UTF-8, and so do today's terminals."""
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "C.UTF-8")
    return locale.upper().replace("-", "").endswith("UTF8")
