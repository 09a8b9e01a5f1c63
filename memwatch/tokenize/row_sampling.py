"""How many tokens a parquet file holds: metadata tells how large every row group is, and some are looked into."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from memwatch.core.cells import Cell, Range, relative_spread, token_range, with_unseen
from memwatch.core.halving import Span
from memwatch.core.units import KIB, MIB
from memwatch.tokenize.blocks import Layout
from memwatch.tokenize.inputs import Input
from memwatch.tokenize.pieces import Found, Means, counted
from memwatch.tokenize.rows import Rows
from memwatch.tokenize.sampling import FIRST_PIECES, looked_at

# How much text to tokenize in all, at least in a row group, and in a piece.
SAMPLE_BYTES = 16 * MIB
LEAST_GROUP_BYTES = 128 * KIB
PIECE_BYTES = 64 * KIB
LEAST_GROUP_S = 0.01
# Beside its text, a value has its length.
LENGTH_BYTES = 4
# Metadata counts a text that is repeated only once. Rows that are this much longer than it says are believed; less may
# be chance, where not all rows were seen.
REPEATED = 1.05
# What metadata says of a column's size is not quite that of its text.
METADATA_WITHIN = 0.02
# Pieces of this many row groups tell about the file; with fewer, what comes after the pieces was not seen.
FEW_GROUPS = 8
TOKEN_COUNT = "token_count"
TOKEN_COUNT_SHARE = 0.25  # of the time


@dataclass(frozen=True, slots=True)
class _Piece:
    rows: int
    text_bytes: int
    tokens: int

    @property
    def column_bytes(self) -> int:
        return self.text_bytes + LENGTH_BYTES * self.rows


@dataclass(slots=True)
class _Group:
    number: int
    size_bytes: int  # of the column, as the metadata says
    rows: int
    rows_passed: int = 0
    bytes_passed: int = 0  # of the column, with repeated texts
    pieces: list[_Piece] = field(default_factory=list)

    @property
    def passed_share(self) -> float:
        return self.rows_passed / self.rows


def sample_rows(source: Input, means: Means, deadline_s: float) -> Found:
    rows = Rows(source, means.settings.text_column)
    try:
        sizes = enumerate(rows.group_sizes())
        groups = [_Group(number, size, count) for number, (size, count) in sizes if count]
        if not groups:
            return Found(Range.exactly(0), Range.exactly(0))
        now_s = time.monotonic()
        token_count = rows.sum_of(TOKEN_COUNT, now_s + TOKEN_COUNT_SHARE * (deadline_s - now_s))
        reader = _GroupReader(source, rows, groups, means, deadline_s)
        spans = looked_at([(0, len(groups))], reader.look, reader.cell, means.rng, deadline_s)
    finally:
        rows.close()
    return _found(spans, groups, token_count)


class _GroupReader:
    def __init__(self, source: Input, rows: Rows, groups: list[_Group], means: Means, deadline_s: float) -> None:
        self._source = source
        self._rows = rows
        self._groups = groups
        self._means = means
        self._deadline_s = deadline_s
        self._to_come = min(len(groups), FIRST_PIECES)
        self._most_bytes = max(SAMPLE_BYTES // len(groups), LEAST_GROUP_BYTES)

    def cell(self, span: Span) -> Cell | None:
        """As one, to see how far groups differ."""
        pieces = self._groups[span.chosen].pieces
        length = sum(group.size_bytes for group in self._groups[span.first : span.end])
        if not pieces or not length:
            return None
        return Cell(0, length, sum(p.column_bytes for p in pieces) or 1, sum(p.tokens for p in pieces))

    def look(self, index: int) -> None:
        """Pieces spread over a row group; over its beginning, where there is no time for more."""
        group = self._groups[index]
        now_s = time.monotonic()
        until_s = now_s + max((self._deadline_s - now_s) / max(self._to_come, 1), LEAST_GROUP_S)
        self._to_come -= 1
        for texts, missing in self._pieces(group, until_s):
            data = b"".join(texts)
            ends, end = [], 0
            for text in texts:
                end += len(text)
                ends.append(end)
            layout = Layout("parquet", row_ends=tuple(ends), missing_rows=missing)
            tokens = counted(data, layout, self._source, 0, self._means)
            group.pieces.append(_Piece(len(texts) + missing, len(data), tokens))

    def _pieces(self, group: _Group, until_s: float) -> Iterator[tuple[list[bytes], int]]:
        gap_bytes = PIECE_BYTES * max(group.size_bytes / self._most_bytes - 1, 0)
        to_skip = gap_bytes * self._means.rng.random()
        texts: list[bytes] = []
        size = missing = 0
        gauge = self._means.gauge
        started_s = time.thread_time()
        self._rows.go_to(group.number)
        while (row := self._rows.next()) is not None and row[0] == group.number:
            group.rows_passed += 1
            text = row[2]
            group.bytes_passed += len(text or b"") + LENGTH_BYTES
            gauge.reading_bytes += len(text or b"")
            if to_skip > 0:
                to_skip -= len(text or b"") + LENGTH_BYTES
                continue
            if text is None:
                missing += 1
            else:
                texts.append(text)
                size += len(text)
            if size >= PIECE_BYTES:
                gauge.reading_s += time.thread_time() - started_s
                yield texts, missing
                started_s = time.thread_time()
                texts, size, missing = [], 0, 0
                to_skip = gap_bytes * self._means.rng.uniform(0.5, 1.5)
                if time.monotonic() > until_s:
                    break
        gauge.reading_s += time.thread_time() - started_s
        if texts or missing or not group.pieces:
            yield texts, missing


def _found(spans: list[Span], groups: list[_Group], token_count: int | None) -> Found:
    looked = [group for group in groups if group.rows_passed]
    repeated = _repeated(looked)
    cells = [cell for span in spans for cell in _cells(span, groups, repeated)]
    if not cells:
        return Found(Range.exactly(0), Range.exactly(0), token_count=token_count)
    column_bytes = repeated * sum(group.size_bytes for group in groups)
    tokens = token_range(cells).times(column_bytes / sum(cell.length for cell in cells))
    text_bytes = max(column_bytes - LENGTH_BYTES * sum(group.rows for group in groups), 0)
    seen_share = 1.0
    if len(looked) < FEW_GROUPS:
        seen_share = sum(group.rows_passed for group in looked) / sum(group.rows for group in looked)
        tokens = with_unseen(tokens.times(seen_share), seen_share, relative_spread([cell.density for cell in cells]))
    read = sum(piece.text_bytes for group in looked for piece in group.pieces)
    around = Range.around(text_bytes, METADATA_WITHIN * text_bytes)
    return Found(tokens, around, len(cells), read, seen_share, token_count)


def _repeated(looked: list[_Group]) -> float:
    """How much text there is to a byte of what the metadata tells."""
    ratio = sum(group.bytes_passed for group in looked) / sum(group.size_bytes * group.passed_share for group in looked)
    return ratio if ratio > REPEATED or all(group.passed_share == 1 for group in looked) else 1.0


def _cells(span: Span, groups: list[_Group], repeated: float) -> Iterator[Cell]:
    """The run of row groups that one was looked at for, divided among its pieces, in bytes of the column."""
    length = repeated * sum(group.size_bytes for group in groups[span.first : span.end])
    pieces = groups[span.chosen].pieces
    read = sum(piece.column_bytes for piece in pieces)
    at = 0
    for piece in pieces:
        end = at + round(length * piece.column_bytes / max(read, 1))
        if end > at and piece.column_bytes:
            yield Cell(at, end, piece.column_bytes, piece.tokens)
        at = end
