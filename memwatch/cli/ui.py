"""Which view to show: the full screen, plain lines, or none. A command that needs a keyboard gets no full screen."""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import click

from memwatch.errors import UsageError, printable
from memwatch.tui.draw.glyphs import shows_unicode

Command = Callable[..., Any]


def screen_options(command: Command) -> Command:
    """What every command with a full screen takes."""
    ascii_only = click.option("--ascii", "is_ascii", is_flag=True, help="Draw with ASCII characters only.")
    theme = click.option("--theme", default="auto", show_default=True, metavar="NAME", callback=_known_theme,
                         help="Colours: dark, light, ansi (the terminal's own) or a Textual theme.")  # fmt: skip
    return ascii_only(theme(command))


def _known_theme(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """Loads Textual, which is slow, only for a name that is not one of memwatch's own."""
    if name in ("auto", "dark", "light", "ansi"):
        return name
    from memwatch.tui.themes import DARK, LIGHT, known_names

    if name not in (DARK.name, LIGHT.name, *known_names()):
        raise click.BadParameter(f"there is no theme {name!r}; choose dark, light, ansi or one of: "
                                 f"{', '.join(known_names())}.", ctx, param)  # fmt: skip
    return name


def chosen_ui(asked: str, is_ascii: bool, command: Sequence[str] = ()) -> str:
    """`full`, `plain` or `none`; `command` is the job's. Raises UsageError if a screen is requested and impossible.

    Where a terminal gets plain lines all the same, one line on standard error says why.
    """
    has_terminal = all(_is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr))
    if asked == "full" and not has_terminal:
        raise UsageError("the full screen needs a terminal; use --ui plain")
    if asked == "full" and needs_terminal(command):
        raise UsageError(f"{command[0]} needs the terminal for itself; use --ui plain")
    if asked != "auto":
        return asked
    if not has_terminal or not _is_in_foreground():
        return "plain"
    why = why_not_full(os.environ, is_ascii, command)
    if why is None:
        return "full"
    print(f"memwatch: plain lines, because {printable(why)}", file=sys.stderr)
    return "plain"


def require_screen(is_ascii: bool, instead: str) -> None:
    """For commands that have no plain lines. `instead` is what to do without a terminal. Raises UsageError."""
    if not all(_is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError(f"this command needs a terminal; {instead}")
    if (why := why_not_full(os.environ, is_ascii)) is not None:
        raise UsageError(f"this terminal cannot show the screen: {why}")


def why_not_full(environment: Mapping[str, str], is_ascii: bool, command: Sequence[str] = ()) -> str | None:
    """Why the full screen cannot be shown, in words; None if it can."""
    if environment.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return f"TERM={environment.get('TERM', '')} cannot show the full screen"
    if needs_terminal(command):
        return f"{command[0]} needs the terminal for itself"
    if not is_ascii and not shows_unicode(environment):
        return "the locale is not UTF-8; --ascii draws the full screen without it"
    return None


def _is_in_foreground() -> bool:
    """Whether memwatch may draw on the terminal: a program started with & is stopped when it does."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False


def _is_terminal(stream: TextIO | None) -> bool:
    """False where the stream was closed before Python started."""
    return stream is not None and stream.isatty()


# Pagers, editors, monitors and debuggers: useless without a keyboard, whatever their arguments are.
_ALWAYS = frozenset(
    (
        *("less", "more", "most", "man", "fzf"),
        *("vi", "vim", "vimdiff", "nvim", "view", "nano", "pico", "emacs", "mc"),
        *("top", "htop", "btop", "atop", "tmux", "screen"),
        *("irb", "ghci", "ipython", "ipython3", "bpython", "ptpython", "gdb", "lldb", "pudb", "pudb3"),
    )
)
# Programs that read commands from the terminal unless they are given a script.
_INTERPRETER = re.compile(r"(?:python|pypy|node|lua|julia|R|bash|sh|dash|zsh|fish|ksh)[\d.]*")
_RUNS_WORDS = re.compile(r"-[A-Za-z]*[cemfsVh]|--(?:eval|print|file|version|help)(?:=.*)?")
_ASKS_FOR_PROMPT = re.compile(r"-[A-Za-z]*i|--interactive")
_INTERACTIVE_MODULES = frozenset(("pdb", "code", "IPython", "pudb", "ptpython", "bpython"))


def needs_terminal(command: Sequence[str]) -> bool:
    """Whether this command line starts something that a person types into. Where it is not sure, it is False."""
    program, *arguments = command or [""]
    name = program.rpartition("/")[2]
    if name in _ALWAYS:
        return "--help" not in arguments and "--version" not in arguments
    if _INTERPRETER.fullmatch(name) is None:
        return False
    for number, word in enumerate(arguments):
        if _ASKS_FOR_PROMPT.fullmatch(word):
            return True
        if word == "-m":
            return "".join(arguments[number + 1 : number + 2]) in _INTERACTIVE_MODULES
        if not word.startswith("-") or word == "-" or _RUNS_WORDS.fullmatch(word):
            return False
    return True
