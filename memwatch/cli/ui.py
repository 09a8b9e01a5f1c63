"""Which view to show: the full screen, plain lines, or none."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import click

from memwatch.errors import UsageError


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """How the full screen is to look."""

    is_ascii: bool = False
    theme: str = "auto"


Command = Callable[..., Any]


def screen_options(command: Command) -> Command:
    """What every command with a full screen takes."""
    ascii_only = click.option("--ascii", "is_ascii", is_flag=True, help="Draw with ASCII characters only.")
    theme = click.option("--theme", default="auto", show_default=True, metavar="NAME",
                         help="dark, light, ansi (the terminal's own colours), or a theme of Textual's.")  # fmt: skip
    return ascii_only(theme(command))


def chosen_ui(wish: str, is_ascii: bool) -> str:
    """`full`, `plain` or `none`. Raises UsageError if there is nothing to show a screen on."""
    has_terminal = all(_is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr))
    if wish == "full" and not has_terminal:
        raise UsageError("there is no terminal to show the full screen on; use --ui plain")
    if wish != "auto":
        return wish
    return "full" if has_terminal and can_draw(os.environ, is_ascii) else "plain"


def can_draw(environment: Mapping[str, str], is_ascii: bool) -> bool:
    """Whether a terminal shows more than letters, one after the other."""
    if environment.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return False
    return is_ascii or speaks_unicode(environment)


def speaks_unicode(environment: Mapping[str, str]) -> bool:
    """By the locale. Where none is set Python takes UTF-8, and so do today's terminals."""
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "C.UTF-8")
    return locale.upper().replace("-", "").endswith("UTF8")


def _is_terminal(stream: TextIO | None) -> bool:
    """Python has no stream where it was closed."""
    return stream is not None and stream.isatty()
