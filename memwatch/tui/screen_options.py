"""How the full screen is to look, and what the terminal can show. Loads no Textual."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """How the full screen is to look."""

    is_ascii: bool = False
    theme: str = "auto"


def speaks_unicode(environment: Mapping[str, str]) -> bool:
    """By the locale. Where none is set Python takes UTF-8, and so do today's terminals."""
    locale = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "C.UTF-8")
    return locale.upper().replace("-", "").endswith("UTF8")
