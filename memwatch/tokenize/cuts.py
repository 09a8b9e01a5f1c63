"""Where a text may be cut so that its parts, tokenized alone, give the tokens of the whole.

The pre-tokenizers have no look-behind, so a cut is safe when a pretoken always starts there and the left side does not
depend on what follows. Which places those are differs between encodings; the rules below look at the character before
the cut and the one after it, and at nothing else. So the set of cuts is a property of the text: it can be found from
anywhere, and does not depend on block sizes, on workers, or on where a run was resumed. Whoever reads a range of an
input finds its ends with `first_cut`, and so does whoever reads the next range.

Where a whole cell of `CELL_BYTES` has no safe cut, the text is cut at the cell's end all the same. Such a cut is
inexact: it may change a token, so it is counted; and it too depends on the text alone.
"""

from dataclasses import dataclass
from typing import Protocol

from memwatch.model.units import MIB
from memwatch.tokenize.documents import MOST_OVERLAPS, Separator
from memwatch.tokenize.safe_cuts import CutSearch, safe_cuts

CELL_BYTES = 1 * MIB
LONGEST_RECORD_BYTES = 16 * MIB
# An inexact cut moves on to the start of a character, up to 3 bytes into the next cell. Safe cuts so close to a cell's
# start do not count for it; else the cell would look different to a reader that starts at the inexact cut.
CELL_EDGE_BYTES = 4

# How many spaces from the end the quick search tries before the thorough one.
QUICK_TRIES = 64

# How far from the edge of a view a rule may look.
MARGIN_BYTES = 4
# How far before a place a view must begin to recognise separators.
LOOK_BACK_BYTES = 2 * MOST_OVERLAPS


@dataclass(frozen=True, slots=True)
class BlockCut:
    """Where a block ends. An inexact cut may change tokens beside it."""

    at: int
    inexact: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """Bytes from somewhere in an input. `at_end` says that no more input follows them."""

    data: bytes
    origin: int
    at_end: bool

    @property
    def end(self) -> int:
        return self.origin + len(self.data)


class Cuts(Protocol):
    """Finds cuts in a window of an input. Positions are relative to the window, which starts at a cut."""

    def block_end(self, window: bytes, origin: int, limit: int, at_end: bool) -> BlockCut | None:
        """Where a block of at most `limit` bytes ends; None if the window must grow first.

        `origin` is the window's offset in the input; `at_end` says that no more input follows it."""

    def in_document(self, window: bytes, at: int) -> bool:
        """Whether a cut at `at` falls inside a document."""

    # From here on offsets are those of the input, and the view may begin anywhere.

    boundary_reach_bytes: int  # how far a boundary is searched for
    margin_bytes: int  # how much of the input behind a block must be in view

    def first_cut(self, view: View, offset: int) -> BlockCut | None:
        """The first cut at or after an offset; None if the view must grow first, at both ends."""

    def is_inside_document(self, view: View, offset: int) -> bool:
        """Whether a cut falls inside a document."""

    def boundary(self, view: View, offset: int) -> int | None:
        """The first place in the view at or after an offset where the split may change sides."""

    def last_boundary(self, view: View, start: int, goal: int) -> int:
        """The last such place from one of them, `start`, up to `goal`."""


class TextCuts:
    """Cuts of a text: where the pre-tokenizer always divides it, or between documents. `whole_texts` are never cut."""

    def __init__(self, pretokenizer: str, separator: Separator | None, whole_texts: tuple[str, ...] = ()) -> None:
        self._safe = CutSearch(safe_cuts(pretokenizer, whole_texts))
        self._separator = separator
        self.margin_bytes = MARGIN_BYTES + (0 if separator is None else separator.longest_bytes)
        self.boundary_reach_bytes = CELL_BYTES if separator is None else LONGEST_RECORD_BYTES

    def block_end(self, window: bytes, origin: int, limit: int, at_end: bool) -> BlockCut | None:
        # An inexact cut may lie a few bytes past the cell's end, or after the separator that the cell's end falls into:
        # unless the input ends here, keep those in view.
        limit = min(limit, len(window) if at_end else len(window) - self.margin_bytes)
        if limit <= 0:
            return None
        at = self._first_inexact(window, origin, limit)
        if at is not None:
            return BlockCut(at, inexact=True)
        if at_end and limit == len(window):
            return BlockCut(limit)
        if self._separator is not None:
            boundary = self._separator.last_boundary(window, limit)
            if boundary is not None:
                return BlockCut(boundary)
            limit = min(limit, self._before_separator(window))
        at = self._last_space(window, limit) or self._safe.last(window, limit)
        return None if at is None else BlockCut(at)

    def in_document(self, window: bytes, at: int) -> bool:
        return self._separator is not None and not self._separator.is_boundary(window, at)

    def first_cut(self, view: View, offset: int) -> BlockCut | None:
        if offset == 0:
            return BlockCut(0)
        at, size = offset - view.origin, len(view.data)
        certain = size if view.at_end else size - self.margin_bytes
        while True:
            cell_end = at + CELL_BYTES - (view.origin + at) % CELL_BYTES
            found = self._first_usable(view.data, at, min(cell_end, certain))
            if found is not None:
                return BlockCut(view.origin + found)
            if view.at_end and cell_end >= size:
                return BlockCut(view.end)
            cell_start = cell_end - CELL_BYTES
            needs_more = cell_end + CELL_EDGE_BYTES > certain and not view.at_end
            if needs_more or (cell_start < 0 and view.origin > 0):
                return None
            if not self._has_cut(view.data, cell_start + CELL_EDGE_BYTES, cell_end):
                return BlockCut(view.origin + self._near(view.data, cell_end), inexact=True)
            at = cell_end

    def is_inside_document(self, view: View, offset: int) -> bool:
        if self._separator is None or offset == 0 or (view.at_end and offset == view.end):
            return False
        return not self._separator.is_local_boundary(view.data, offset - view.origin)

    def boundary(self, view: View, offset: int) -> int | None:
        at = offset - view.origin
        if self._separator is not None:
            found = self._separator.local_boundary(view.data, at)
        else:
            found = self._safe.first(view.data, at, len(view.data) - (0 if view.at_end else self.margin_bytes))
        return None if found is None else view.origin + found

    def last_boundary(self, view: View, start: int, goal: int) -> int:
        if self._separator is None:
            return self.boundary(view, goal) or start
        window = view.data[start - view.origin :]
        return start + (self._separator.last_boundary(window, goal - start) or 0)

    def _first_usable(self, data: bytes, at: int, end: int) -> int | None:
        """The first place in [at, end) that is a safe cut outside separators, or a document boundary."""
        boundary = None if self._separator is None else self._separator.local_boundary(data, at)
        if boundary is not None:
            end = min(end, boundary + 1)
        while (found := self._safe.first(data, at, end)) is not None:
            if self._separator is None or found == boundary or not self._separator.is_inside(data, found):
                return found
            at = found + 1
        return boundary if boundary is not None and boundary < end else None

    def _before_separator(self, window: bytes) -> int:
        """Up to where no separator begins: the first one here, or one of which only the beginning is in view."""
        assert self._separator is not None
        end = self._separator.first_boundary(window, 1) or len(window) + 1
        return max(end - self._separator.longest_bytes, 0)

    def _first_inexact(self, window: bytes, origin: int, limit: int) -> int | None:
        cell_end = CELL_BYTES - origin % CELL_BYTES
        while cell_end <= limit:
            if not self._has_cut(window, cell_end - CELL_BYTES + CELL_EDGE_BYTES, cell_end):
                return self._near(window, cell_end)
            cell_end += CELL_BYTES
        return None

    def _has_cut(self, window: bytes, start: int, end: int) -> bool:
        if start <= 0:
            return True  # The window starts inside the cell, and it starts at a cut.
        if self._safe.first(window, start, end) is not None:
            return True
        boundary = None if self._separator is None else self._separator.local_boundary(window, start)
        return boundary is not None and boundary < end

    def _near(self, window: bytes, at: int) -> int:
        """Where to cut near `at` without tearing a character or a separator apart."""
        if self._separator is not None:
            boundary = self._separator.local_boundary(window, at + 1)
            if boundary is not None and boundary - self._separator.longest_bytes < at:
                return boundary
        for _ in range(CELL_EDGE_BYTES - 1):
            if at < len(window) and window[at] & 0xC0 == 0x80:
                at += 1
        return at

    def _last_space(self, window: bytes, limit: int) -> int | None:
        """The usual case, quickly: a space after an ASCII character, within the last few words."""
        at = limit
        for _ in range(QUICK_TRIES):
            at = window.rfind(b" ", 1, at)
            if at < 1:
                return None
            if 0x21 <= window[at - 1] <= 0x7E:
                return at
        return None


class RecordCuts:
    """One record a line: cut after line ends only. A record that is longer than the longest is cut into pieces if it is
    to be skipped (`skips_long`): none of them has its text."""

    boundary_reach_bytes = LONGEST_RECORD_BYTES
    margin_bytes = CELL_EDGE_BYTES

    def __init__(self, skips_long: bool = False) -> None:
        self.skips_long = skips_long

    def block_end(self, window: bytes, origin: int, limit: int, at_end: bool) -> BlockCut | None:
        if at_end and len(window) <= limit:
            return BlockCut(len(window))
        # A record longer than a block is a block of its own.
        end = window.rfind(b"\n", 0, limit) + 1 or window.find(b"\n", limit, LONGEST_RECORD_BYTES) + 1
        if end:
            return BlockCut(end)
        if at_end and len(window) <= LONGEST_RECORD_BYTES:
            return BlockCut(len(window))
        return BlockCut(limit) if self.skips_long and limit >= LONGEST_RECORD_BYTES else None

    def in_document(self, window: bytes, at: int) -> bool:
        return self.skips_long and window[at - 1 : at] != b"\n"

    def first_cut(self, view: View, offset: int) -> BlockCut | None:
        found = self.boundary(view, offset) if offset else 0
        if found is None:
            return BlockCut(view.end) if view.at_end else None
        return BlockCut(found)

    def is_inside_document(self, view: View, offset: int) -> bool:
        return False

    def boundary(self, view: View, offset: int) -> int | None:
        found = view.data.find(b"\n", max(offset - view.origin - 1, 0))
        return None if found < 0 else view.origin + found + 1

    def last_boundary(self, view: View, start: int, goal: int) -> int:
        return max(view.origin + view.data.rfind(b"\n", start - view.origin, goal - view.origin) + 1, start)
