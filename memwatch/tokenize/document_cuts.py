"""Cuts of a text under a vocabulary of which no safe cuts are known: between documents only."""

from memwatch.tokenize.cuts import CELL_EDGE_BYTES, LONGEST_RECORD_BYTES, BlockCut, Cuts, TextCuts, View
from memwatch.tokenize.documents import Separator
from memwatch.tokenize.vocabulary import Encoding


class WholeDocumentCuts:
    """Without a separator the text is one document."""

    boundary_reach_bytes = LONGEST_RECORD_BYTES
    margin_bytes = CELL_EDGE_BYTES

    def __init__(self, separator: Separator | None) -> None:
        self._separator = separator

    def block_end(self, window: bytes, origin: int, limit: int, at_end: bool) -> BlockCut | None:
        if at_end and len(window) <= limit:
            return BlockCut(len(window))
        if self._separator is not None:
            # A document longer than a block is a block of its own.
            found = self._separator.last_boundary(window, limit) or self._separator.first_boundary(window, limit)
            if found is not None:
                return BlockCut(found)
        return BlockCut(len(window)) if at_end else None

    def in_document(self, window: bytes, at: int) -> bool:
        return False

    def first_cut(self, view: View, offset: int) -> BlockCut | None:
        found = self.boundary(view, offset) if offset else 0
        if found is None:
            return BlockCut(view.end) if view.at_end else None
        return BlockCut(found)

    def is_inside_document(self, view: View, offset: int) -> bool:
        return False

    def boundary(self, view: View, offset: int) -> int | None:
        if self._separator is None:
            return None
        found = self._separator.local_boundary(view.data, offset - view.origin)
        return None if found is None else view.origin + found

    def last_boundary(self, view: View, start: int, goal: int) -> int:
        if self._separator is None:
            return start
        window = view.data[start - view.origin :]
        return start + (self._separator.last_boundary(window, goal - start) or 0)


def cuts_for(encoding: Encoding, separator: Separator | None) -> Cuts:
    """The cuts of a text with this encoding."""
    if encoding.pretokenizer is None:
        return WholeDocumentCuts(separator)
    return TextCuts(encoding.pretokenizer, separator, encoding.whole_texts)


def sampling_cuts(encoding: Encoding) -> TextCuts:
    """Cuts that need not be safe: for pieces that are only counted, or that two engines encode alike."""
    return TextCuts(encoding.pretokenizer or "gpt2", separator=None)
