"""How many tokens a parquet file holds: metadata tells how large every row group is, and some are looked into."""

import time
from dataclasses import dataclass

from memwatch.core.cells import Cell, Range, relative_spread, token_range, with_unseen
from memwatch.core.halving import Span
from memwatch.core.units import KIB, MIB
from memwatch.tokenize.blocks import Layout
from memwatch.tokenize.inputs import Input
from memwatch.tokenize.rows import Rows
from memwatch.tokenize.sampling import Found, Means, looked_at

# How much text to read in all, and at least in a row group: decoding one has its price.
SAMPLE_BYTES = 16 * MIB
LEAST_GROUP_BYTES = 128 * KIB
# Beside its text, a value has its length.
LENGTH_BYTES = 4
# Metadata counts a text that is repeated only once. If rows are this much longer than it says, go by rows instead.
MOST_REPEATED = 1.25
# With this many row groups, the first rows of each tell about all; with fewer, what comes after them was not seen.
MANY_GROUPS = 16
TOKEN_COUNT = "token_count"
TOKEN_COUNT_SHARE = 0.25  # of the time


@dataclass(slots=True)
class _Group:
    size_bytes: int  # of the column, as the metadata says
    rows: int
    rows_read: int = 0
    text_bytes: int = 0
    tokens: int = 0


def sample_rows(source: Input, means: Means, deadline_s: float) -> Found:
    rows = Rows(source, means.settings.text_column)
    try:
        started_s = time.monotonic()
        sizes = [_Group(size, count) for size, count in rows.group_sizes()]
        groups = [group for group in sizes if group.rows]
        numbers = [number for number, group in enumerate(sizes) if group.rows]
        if not groups:
            return Found(Range.exactly(0), Range.exactly(0))
        token_count = rows.sum_of(TOKEN_COUNT, started_s + TOKEN_COUNT_SHARE * (deadline_s - started_s))
        most_bytes = max(SAMPLE_BYTES // len(groups), LEAST_GROUP_BYTES)

        def look(index: int) -> None:
            _read(rows, numbers[index], groups[index], most_bytes, means, deadline_s)

        spans = looked_at([(0, len(groups))], look, lambda span: _cell(span, groups, by_rows=False), means.rng,
                          deadline_s)  # fmt: skip
    finally:
        rows.close()
    return _found(spans, groups, token_count)


def _read(rows: Rows, number: int, group: _Group, most_bytes: int, means: Means, deadline_s: float) -> None:
    """The first rows of a row group, as one block."""
    started_s = time.perf_counter()
    rows.go_to(number)
    data, ends, missing = bytearray(), [], 0
    while len(data) < most_bytes and (row := rows.next()) is not None and row[0] == number:
        group.rows_read += 1
        if row[2] is None:
            missing += 1
        else:
            data += row[2]
            ends.append(len(data))
        if time.monotonic() > deadline_s and len(data) >= LEAST_GROUP_BYTES:
            break
    means.gauge.reading_s += time.perf_counter() - started_s
    means.gauge.reading_bytes += len(data)
    group.text_bytes = len(data)
    layout = Layout("parquet", row_ends=tuple(ends), missing_rows=missing)
    group.tokens = means.gauge.count(bytes(data), layout)


def _cell(span: Span, groups: list[_Group], by_rows: bool) -> Cell | None:
    """A run of row groups, and what was read of one of them; in bytes of the column, or in rows."""
    group = groups[span.chosen]
    if not group.rows_read:
        return None
    start = sum(each.rows if by_rows else each.size_bytes for each in groups[: span.first])
    length = sum(each.rows if by_rows else each.size_bytes for each in groups[span.first : span.end])
    read = group.rows_read if by_rows else group.text_bytes + LENGTH_BYTES * group.rows_read
    return Cell(start, start + length, read, group.tokens) if length else None


def _found(spans: list[Span], groups: list[_Group], token_count: int | None) -> Found:
    looked = [group for group in groups if group.rows_read]
    rows_read = sum(group.rows_read for group in looked)
    text = sum(group.text_bytes for group in looked)
    by_metadata = sum(group.size_bytes * group.rows_read / group.rows for group in looked)
    by_rows = text + LENGTH_BYTES * rows_read > MOST_REPEATED * by_metadata
    cells = [cell for span in spans if (cell := _cell(span, groups, by_rows)) is not None]
    whole = sum(group.rows if by_rows else group.size_bytes for group in groups)
    tokens = token_range(cells).times(whole / sum(cell.length for cell in cells))
    rows = sum(group.rows for group in groups)
    text_bytes = text * rows / rows_read if by_rows else max(whole - LENGTH_BYTES * rows, 0)
    seen_share = 1.0
    if len(looked) < MANY_GROUPS and rows_read < rows:
        seen_share = rows_read / sum(group.rows for group in looked)
        spread = relative_spread([cell.density for cell in cells])
        tokens = with_unseen(tokens.times(seen_share), seen_share, spread)
    # The metadata is no count of the text itself.
    around = Range.around(text_bytes, 0.02 * text_bytes)
    return Found(tokens, around, len(cells), text, seen_share, token_count)
