"""Documents in a plain text: what separates them, and where one ends.

The places right after a separator are document boundaries. A separator belongs to no document; an empty document is
none at all. Records (jsonl, parquet) are documents by themselves and need no separator.
"""

import re
from collections.abc import Iterator
from typing import Protocol


class Separator(Protocol):
    longest_bytes: int

    def split(self, text: bytes) -> list[bytes]: ...

    def first_boundary(self, window: bytes, start: int) -> int | None:
        """The first boundary at or after `start` that more text could not move."""

    def last_boundary(self, window: bytes, limit: int) -> int | None:
        """The last boundary in (0, limit] that more text could not move."""

    def is_boundary(self, window: bytes, at: int) -> bool:
        """Whether a document ends at `at`, also where it ends inside a separator."""


class TextSeparator:
    def __init__(self, text: bytes) -> None:
        self._text = text
        self.longest_bytes = len(text)
        # Such as two line ends among three: which two they are depends on where one begins to look.
        self._overlaps_itself = any(text.startswith(text[i:]) for i in range(1, len(text)))

    def split(self, text: bytes) -> list[bytes]:
        return text.split(self._text)

    def first_boundary(self, window: bytes, start: int) -> int | None:
        if self._overlaps_itself:
            return next((end for end in self._ends(window, len(window)) if end >= max(start, 1)), None)
        found = window.find(self._text, max(start - len(self._text), 0))
        return None if found < 0 else found + len(self._text)

    def last_boundary(self, window: bytes, limit: int) -> int | None:
        if self._overlaps_itself:
            return max(self._ends(window, limit), default=None)
        found = window.rfind(self._text, 0, limit)
        return None if found < 0 else found + len(self._text)

    def is_boundary(self, window: bytes, at: int) -> bool:
        return self.last_boundary(window, at) == at

    def _ends(self, window: bytes, limit: int) -> Iterator[int]:
        """From the window's start, which is no place inside a separator, one after the other, as `split` does it."""
        end = 0
        while (found := window.find(self._text, end, limit)) >= 0:
            end = found + len(self._text)
            yield end


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
        begin = len(window[:start].rstrip(b"\r\n"))
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
            end = len(window[:found].rstrip(b"\r\n"))
        return None

    def is_boundary(self, window: bytes, at: int) -> bool:
        return window.count(b"\n", len(window[:at].rstrip(b"\r\n")), at) >= 2


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
