"""How many tokens an input holds, without reading it all: a few hundred pieces of it, tokenized exactly.

Plain files, however many, are one long line from which pieces are read by seeking. A piece begins at the first safe cut
after a random place and ends at one, so it has the tokens that the whole text has there. A small input is tokenized
from beginning to end, and then the answer is exact.
"""

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memwatch.core.cells import (
    Cell,
    Range,
    expected_tokens,
    like_the_others,
    token_range,
    token_ranges,
)
from memwatch.core.halving import Span, evenly, one_of_each
from memwatch.core.units import KIB, MIB
from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import BlockReader, Layout, Position
from memwatch.tokenize.cuts import TextCuts
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.inputs import LONGEST_RECORD_BYTES, Input
from memwatch.tokenize.pieces import Found, Means, counted, cut_out, records_in, too_long
from memwatch.tokenize.settings import DEFAULT_BLOCK_BYTES

PIECE_BYTES = 32 * KIB
FIRST_PIECES = 32
MOST_PIECES = 512
# Up to here an input is tokenized whole, if the engine is quick enough; a small one is, however busy the machine.
WHOLE_BYTES = 16 * MIB
SMALL_BYTES = MIB
# Few pieces say little about the spread, so go on to this many even if it is late: a disk that turns is slow to seek.
LEAST_PIECES = 16
MOST_LATE_S = 0.5
# No more pieces are read when the answer is this good.
GOOD_ENOUGH = 0.008


def tokenized_whole(source: Input, means: Means, deadline_s: float) -> Found | None:
    """The exact answer, or None if that takes too long."""
    tokens = blocks = 0
    reader = BlockReader([source], means.settings, means.encoding, Position())
    try:
        while (block := reader.next(DEFAULT_BLOCK_BYTES)) is not None:
            tokens += counted(bytes(block.data), block.layout, source, block.start.offset, means)
            blocks += 1
            if time.monotonic() > deadline_s:
                return None
    finally:
        reader.close()
    size = reader.position.before_bytes
    return Found(Range.exactly(tokens), Range.exactly(size), blocks, size)


@dataclass(frozen=True, slots=True)
class _Place:
    """Somewhere in a file where a piece may be read."""

    source: int
    start: int
    end: int


def sample_line(sources: Sequence[Input], means: Means, deadline_s: float) -> list[Found]:
    """Plain text and jsonl files, all together: each gets pieces according to its size."""
    return _Line(sources, means).sampled(deadline_s)


class _Line:
    def __init__(self, sources: Sequence[Input], means: Means) -> None:
        self._sources = sources
        self._means = means
        self._cuts = TextCuts(means.encoding.pretokenizer, separator=None)
        self._in_document = separator_named(means.settings.documents) is not None
        self._places: list[_Place] = []
        self._stretches: list[tuple[int, int]] = []  # of places, for each file
        total = sum(map(_size, sources))
        for index, size in enumerate(map(_size, sources)):
            count = min(max(round(MOST_PIECES * size / total), 1), max(size // PIECE_BYTES, 1))
            first = len(self._places)
            self._places += [_Place(index, start, end) for start, end in evenly(0, size, count)]
            self._stretches.append((first, len(self._places)))
        self._read: dict[int, tuple[int, int]] = {}  # (bytes, tokens) at each place that was looked at

    def sampled(self, deadline_s: float) -> list[Found]:
        spans = looked_at(self._stretches, self._look, self._cell, self._means.rng, deadline_s)
        cells = [cell for cell in map(self._cell, spans) if cell is not None]
        groups: list[list[int]] = [[] for _ in self._sources]
        with_cells = (span for span in spans if self._cell(span) is not None)
        for i, span in enumerate(with_cells):
            groups[self._places[span.chosen].source].append(i)
        if not cells:
            raise MemwatchError(f"no record could be found in {self._sources[0].name}; is it complete?")
        ranges = token_ranges(cells, groups)
        # For files whose turn did not come before the time was over.
        mean = expected_tokens(cells) / sum(cell.length for cell in cells)
        usual = like_the_others(mean, [cell.density for cell in cells], groups.count([]))
        return [self._found(source, [cells[i] for i in group], tokens, usual)
                for source, group, tokens in zip(self._sources, groups, ranges, strict=True)]  # fmt: skip

    def _found(self, source: Input, cells: Sequence[Cell], tokens: Range, usual: Range) -> Found:
        size = Range.exactly(_size(source))
        if not cells:
            return Found(usual.times(size.estimate), size, seen_share=0.0)
        covered = sum(cell.length for cell in cells)
        read = sum(cell.read_bytes for cell in cells)
        return Found(tokens.times(size.estimate / covered), size, len(cells), read)

    def _cell(self, span: Span) -> Cell | None:
        read_bytes, tokens = self._read.get(span.chosen, (0, 0))
        if not read_bytes:
            return None
        return Cell(self._places[span.first].start, self._places[span.end - 1].end, read_bytes, tokens)

    def _look(self, index: int) -> None:
        place = self._places[index]
        source = self._sources[place.source]
        room = place.end - place.start - PIECE_BYTES
        at = place.start + (self._means.rng.randrange(room + 1) if room > 0 else 0)
        data = self._records(place, at) if source.kind == "jsonl" else self._text(place, at)
        layout = Layout(source.kind, continues=self._in_document and at > 0, open_end=self._in_document)
        tokens = counted(data, layout, source, at, self._means) if data else 0
        self._read[index] = (len(data), tokens)

    def _text(self, place: _Place, at: int) -> bytes:
        end = min(at + PIECE_BYTES, place.end)
        window = self._pread(place.source, at, end)
        return cut_out(window, self._cuts, at_start=at == 0, at_end=end == _size(self._sources[place.source]))

    def _records(self, place: _Place, at: int) -> bytes:
        """The records that begin in a window; if none does, the next one."""
        size = _size(self._sources[place.source])
        end = min(at + PIECE_BYTES, place.end)
        window = self._pread(place.source, at, end)
        while True:
            start, stop = records_in(window, at_start=at == 0, size=end - at)
            if stop is not None or at + len(window) >= size:
                return b"" if start is None else window[start:stop]
            if len(window) > 2 * LONGEST_RECORD_BYTES:
                raise too_long(self._sources[place.source], at)
            window += self._pread(place.source, at + len(window), min(at + 2 * len(window), size))

    def _pread(self, source: int, start: int, end: int) -> bytes:
        name = self._sources[source].name
        try:
            fd = os.open(self._sources[source].path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.pread(fd, end - start, start)
            finally:
                os.close(fd)
        except OSError as error:
            raise MemwatchError(f"cannot read {name}: {error.strerror}") from error
        if not data:
            raise MemwatchError(f"{name} became shorter while it was looked at; try again when it is complete")
        return data


def looked_at(
    stretches: Sequence[tuple[int, int]],
    look: Callable[[int], None],
    cell: Callable[[Span], Cell | None],
    rng: random.Random,
    deadline_s: float,
) -> list[Span]:
    """Look at places until the answer is good, all were looked at, or the time is over."""
    spans = one_of_each(stretches, FIRST_PIECES, rng)
    for count, i in enumerate(rng.sample(range(len(spans)), len(spans))):
        late_s = time.monotonic() - deadline_s
        if late_s > 0 and (count >= LEAST_PIECES or (late_s > MOST_LATE_S and count >= 2)):
            return spans
        look(spans[i].chosen)
    while not _is_good([cell(span) for span in spans]):
        halved = {}
        able = [i for i, span in enumerate(spans) if span.end - span.first > 1]
        for i in rng.sample(able, len(able)):
            if time.monotonic() > deadline_s:
                break
            halved[i] = spans[i].halves(rng)
            look(next(half.chosen for half in halved[i] if half.chosen != spans[i].chosen))
        spans = [span for i, old in enumerate(spans) for span in halved.get(i, (old,))]
        if len(halved) < len(able) or not able:
            break
    return spans


def _is_good(cells: Sequence[Cell | None]) -> bool:
    read = [cell for cell in cells if cell is not None]
    if not read:
        return False
    tokens = token_range(read)
    return tokens.off_by <= GOOD_ENOUGH * tokens.estimate


def _size(source: Input) -> int:
    return source.size_bytes or 0
