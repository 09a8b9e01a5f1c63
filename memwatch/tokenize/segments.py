"""Which segments the inputs have: a function of their sizes and footers alone.

A segment is a range of one input that is encoded on its own. Plain inputs are cut by a grid of bytes; the real ends are
the first cuts at or after its offsets (blocks.py). Rows are cut between row groups. What can only be read from the
front, packed files and very large row groups, is one segment that is fed to the workers in blocks.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memwatch.model.units import MIB
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.inputs.input_source import Input

# A row group up to this size is read by one worker, which holds all its tokens.
LARGEST_OWN_GROUP_BYTES = 32 * MIB

Groups = Sequence[tuple[int, int]]  # (bytes of text, rows) of each row group


class Segment(NamedTuple):
    """Bytes of a plain input, or row groups of parquet, from `begin` up to `end`; `end` is None where the end shows
    only when it is read. `is_fed` says that one process reads it, for several that encode."""

    input: int
    begin: int
    end: int | None
    is_fed: bool = False


def segments_of(
    number: int, source: Input, groups: Groups | None, size_bytes: int, start: ReadPosition
) -> Iterator[Segment]:
    """The segments of one input from a position on, each of about a size. Parquet needs its row groups."""
    if source.is_plain:
        yield from _grid(number, source.size_bytes or 0, size_bytes, start.offset)
    elif source.has_rows:
        assert groups is not None
        yield from _row_groups(number, groups, size_bytes, start.row_group)
    else:
        yield Segment(number, 0, None, is_fed=True)


def _grid(number: int, total_bytes: int, size_bytes: int, start: int) -> Iterator[Segment]:
    while start < total_bytes:
        end = min((start // size_bytes + 1) * size_bytes, total_bytes)
        yield Segment(number, start, end)
        start = end


def _row_groups(number: int, groups: Groups, size_bytes: int, start: int) -> Iterator[Segment]:
    begin, held = start, 0
    for group in range(start, len(groups)):
        group_bytes = groups[group][0]
        if group_bytes > LARGEST_OWN_GROUP_BYTES:
            if begin < group:
                yield Segment(number, begin, group)
            yield Segment(number, group, group + 1, is_fed=True)
            begin, held = group + 1, 0
            continue
        if held and held + group_bytes > size_bytes:
            yield Segment(number, begin, group)
            begin, held = group, 0
        held += group_bytes
    if begin < len(groups):
        yield Segment(number, begin, len(groups))
