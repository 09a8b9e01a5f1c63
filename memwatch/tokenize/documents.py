"""Documents in a plain text: what separates them, and where one ends.

The places right after a separator are document boundaries. A separator belongs to no document; an empty document is
none at all. Records (jsonl, parquet) are documents by themselves and need no separator.
"""

import re
from typing import Protocol


class Separator(Protocol):
    longest_bytes: int

    def split(self, text: bytes) -> list[bytes]: ...

    def first_boundary(self, window: bytes, start: int) -> int | None:
        """The first boundary at or after `start` that more text could not move."""

    def last_boundary(self, window: bytes, limit: int) -> int | None:
        """The last boundary in (0, limit] that more text could not move."""


class TextSeparator:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self.longest_bytes = len(text)

    def split(self, text: bytes) -> list[bytes]:
        return text.split(self._text)

    def first_boundary(self, window: bytes, start: int) -> int | None:
        found = window.find(self._text, max(start - len(self._text), 0))
        return None if found < 0 else found + len(self._text)

    def last_boundary(self, window: bytes, limit: int) -> int | None:
        found = window.rfind(self._text, 0, limit)
        return None if found < 0 else found + len(self._text)


class LineSeparator(TextSeparator):
    def __init__(self) -> None:
        super().__init__(b"\n")

    def split(self, text: bytes) -> list[bytes]:
        return _without_carriage_returns(text.split(b"\n"))


class BlankLineSeparator:
    """One blank line or more, with \\n or \\r\\n at the ends."""

    longest_bytes = 1
    _run = re.compile(rb"\n\r?\n[\r\n]*")

    def split(self, text: bytes) -> list[bytes]:
        return _without_carriage_returns(self._run.split(text))

    def first_boundary(self, window: bytes, start: int) -> int | None:
        # A boundary is never inside a run of line ends: look from where the run around `start` begins.
        begin = min(start, len(window))
        while begin > 0 and window[begin - 1] in b"\r\n":
            begin -= 1
        for run in self._run.finditer(window, begin):
            if run.end() == len(window):
                return None
            if run.end() >= max(start, 1):
                return run.end()
        return None

    def last_boundary(self, window: bytes, limit: int) -> int | None:
        end = limit
        while (found := max(window.rfind(b"\n\n", 0, end), window.rfind(b"\n\r\n", 0, end))) >= 0:
            run = self._run.match(window, found)
            if run is not None and run.end() <= limit and run.end() < len(window):
                return run.end()
            end = found + 1
        return None


def _without_carriage_returns(parts: list[bytes]) -> list[bytes]:
    """All parts but the last stood before a line end, which may have been \\r\\n."""
    return [*(part.removesuffix(b"\r") for part in parts[:-1]), parts[-1]]


def separator_named(documents: str) -> Separator | None:
    """The separator that `--documents` asks for in a plain text."""
    match documents:
        case "auto" | "none":
            return None
        case "line":
            return LineSeparator()
        case "blank":
            return BlankLineSeparator()
        case text:
            return TextSeparator(text.encode())
