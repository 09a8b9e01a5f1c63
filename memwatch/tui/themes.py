"""memwatch's own two themes; all of Textual's can be chosen, too."""

import os
from collections.abc import Mapping

from textual.theme import Theme

DARK = Theme(
    name="memwatch-dark",
    dark=True,
    primary="#5ab8f0",
    secondary="#4b5c78",
    accent="#9db8e8",
    foreground="#d6dde8",
    background="#10141b",
    surface="#161b24",
    panel="#1e2531",
    success="#7ccf8f",
    warning="#f5b04c",
    error="#f0616d",
)
LIGHT = Theme(
    name="memwatch-light",
    dark=False,
    primary="#0b6bb5",
    secondary="#a9b8cc",
    accent="#3a5a94",
    foreground="#1d2530",
    background="#fbfcfd",
    surface="#f1f4f8",
    panel="#e3e8ef",
    success="#1d7f3c",
    warning="#b06a00",
    error="#c0232f",
)
NAMES = {"dark": DARK.name, "light": LIGHT.name, "ansi": "ansi-dark"}


def known_names() -> list[str]:
    """Textual's own, for --theme."""
    from textual.theme import BUILTIN_THEMES

    return sorted(BUILTIN_THEMES)


def theme_for(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The name of a theme; `auto` uses COLORFGBG, which some terminals set."""
    if environment.get("NO_COLOR"):
        return NAMES["ansi"]  # The terminal's own two, and no others.
    if name != "auto":
        return NAMES.get(name, name)
    back = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if back in ("7", "15") else DARK.name
