"""Documents in a plain text: what separates them, and where one ends.

The places right after a separator are document boundaries. A separator belongs to no document; an empty document is
none at all. Records (jsonl, parquet) are documents by themselves and need no separator.
"""

import re
from collections.abc import Iterator
from typing import Protocol

# So many separators that overlap are told apart from any place among them.
MOST_OVERLAPS = 4096


class Separator(Protocol):
    """What stands between two documents of a plain text, as --documents names it."""

    longest_bytes: int

    def split(self, text: bytes) -> list[bytes]: ...

    def marked(self, text: bytes, mark: bytes) -> bytes:
        """The documents with a mark between them, as `split` finds them."""

    def first_boundary(self, window: bytes, start: int) -> int | None:
        """The first boundary at or after `start` that more text could not move."""

    def last_boundary(self, window: bytes, limit: int) -> int | None:
        """The last boundary in (0, limit] that more text could not move."""

    def is_boundary(self, window: bytes, at: int) -> bool:
        """Whether a document ends at `at`, also where it ends inside a separator."""

    def local_boundary(self, view: bytes, at: int) -> int | None:
        """As `first_boundary`, in a view that may begin anywhere."""

    def is_local_boundary(self, view: bytes, at: int) -> bool:
        """As `is_boundary`, in a view that may begin anywhere."""

    def is_inside(self, view: bytes, at: int) -> bool:
        """Whether a cut at `at` would tear a separator apart."""


class TextSeparator:
    """A fixed text, such as `<|endoftext|>`."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.longest_bytes = len(text)
        # Such as two line ends among three: which two they are depends on where one begins to look.
        self._overlaps_itself = any(text.startswith(text[i:]) for i in range(1, len(text)))

    def split(self, text: bytes) -> list[bytes]:
        return text.split(self._text)

    def marked(self, text: bytes, mark: bytes) -> bytes:
        return text.replace(self._text, mark)

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

    def local_boundary(self, view: bytes, at: int) -> int | None:
        if not self._overlaps_itself:
            return self.first_boundary(view, at)
        begin = self._begin_of_cluster(view, max(at - 1, 0))
        while begin is None:  # A long one: which of its places are boundaries shows only from its far beginning.
            at = begin = self._end_of_cluster(view, at)
        return next((end for end in self._ends(view, len(view), begin) if end >= max(at, 1)), None)

    def is_local_boundary(self, view: bytes, at: int) -> bool:
        if not self._overlaps_itself:
            return self.is_boundary(view, at)
        begin = self._begin_of_cluster(view, at - 1)
        return begin is not None and at in self._ends(view, at, begin)

    def is_inside(self, view: bytes, at: int) -> bool:
        return view.find(self._text, max(at - len(self._text) + 1, 0), at + len(self._text) - 1) >= 0

    def _begin_of_cluster(self, view: bytes, at: int) -> int | None:
        """The place at or before `at` that no separator reaches across: from there on they can be told apart."""
        for _ in range(MOST_OVERLAPS):
            found = view.rfind(self._text, max(at - len(self._text) + 1, 0), at + len(self._text) - 1)
            if found < 0 or found >= at:
                return at
            at = found
        return None

    def _end_of_cluster(self, view: bytes, at: int) -> int:
        while (found := view.find(self._text, max(at - len(self._text) + 1, 0), at + len(self._text) - 1)) >= 0:
            at = max(found + len(self._text), at + 1)
        return at

    def _ends(self, window: bytes, limit: int, begin: int = 0) -> Iterator[int]:
        """From the window's start, which is no place inside a separator, one after the other, as `split` does it."""
        end = begin
        while (found := window.find(self._text, end, limit)) >= 0:
            end = found + len(self._text)
            yield end


class LineSeparator(TextSeparator):
    """One document a line, with \\n or \\r\\n at its end."""

    def __init__(self) -> None:
        super().__init__(b"\n")

    def split(self, text: bytes) -> list[bytes]:
        return _without_carriage_returns(text.split(b"\n"))

    def marked(self, text: bytes, mark: bytes) -> bytes:
        return text.replace(b"\r\n", b"\n").replace(b"\n", mark)


class BlankLineSeparator:
    """One blank line or more, with \\n or \\r\\n at the ends."""

    longest_bytes = 1
    _run = re.compile(rb"\n\r?\n[\r\n]*")
    _closed_run = re.compile(rb"\r?\n\r?\n[\r\n]*")

    def split(self, text: bytes) -> list[bytes]:
        return _without_carriage_returns(self._run.split(text))

    def marked(self, text: bytes, mark: bytes) -> bytes:
        return self._closed_run.sub(mark, text)

    def first_boundary(self, window: bytes, start: int) -> int | None:
        # A boundary is never inside a run of line ends: look from where the run around `start` begins.
        begin = self._begin_of_run(window, start)
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
        return window.count(b"\n", self._begin_of_run(window, at), at) >= 2

    def local_boundary(self, view: bytes, at: int) -> int | None:
        return self.first_boundary(view, at)

    def is_local_boundary(self, view: bytes, at: int) -> bool:
        return self.is_boundary(view, at)

    def is_inside(self, view: bytes, at: int) -> bool:
        return view[at : at + 1] in (b"\n", b"\r") and view[at - 1 : at] in (b"\n", b"\r")

    def _begin_of_run(self, window: bytes, at: int) -> int:
        nearby = max(at - MOST_OVERLAPS, 0)
        return nearby + len(window[nearby:at].rstrip(b"\r\n"))


def _without_carriage_returns(parts: list[bytes]) -> list[bytes]:
    """All parts but the last stood before a line end, which may have been \\r\\n."""
    return [*(part.removesuffix(b"\r") for part in parts[:-1]), parts[-1]]


def separator_named(documents: str) -> Separator | None:
    """The separator that `--documents` names for a plain text."""
    match documents:
        case "auto" | "none":
            return None
        case "line":
            return LineSeparator()
        case "blank":
            return BlankLineSeparator()
        case text:
            return TextSeparator(text.encode())
