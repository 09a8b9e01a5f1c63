"""How many tokens packed text holds: read from the beginning for as long as there is time, a piece of each stretch
tokenized. What lies beyond is taken to be like it, by its packed size; and the answer says how little was seen."""

import itertools
import math
import time
from dataclasses import dataclass, field, replace

from memwatch.core.cells import Cell, Range, relative_spread, token_range, with_unseen
from memwatch.core.units import KIB, MIB
from memwatch.tokenize.blocks import Layout
from memwatch.tokenize.cuts import TextCuts
from memwatch.tokenize.inputs import LONGEST_RECORD_BYTES, Input, Stream
from memwatch.tokenize.pieces import Found, Means, counted, cut_out, records_in, too_long
from memwatch.tokenize.sampling import tokenized_whole

# A piece out of every stretch; how many of those a file has, it does not tell before its end.
STRETCHES = 512
LEAST_STRETCH_BYTES, MOST_STRETCH_BYTES = 64 * KIB, 1 * MIB
USUAL_UNPACKING = 4
PIECE_BYTES = 32 * KIB
# What was seen is divided into this many parts, to see how much one differs from another.
PARTS = 8
# Before the unpacker has taken bytes this often, nobody knows how much text they stand for.
LEAST_STEPS = 2


@dataclass(slots=True)
class _Progress:
    """What was read, and how much of the file that was. The unpacker takes bytes in large steps; how many of them it
    has used up shows only when it takes the next: all it had before."""

    text_bytes: int = 0
    taken_bytes: int = 0
    steps: list[tuple[int, int]] = field(default_factory=list)  # (packed bytes, text bytes)

    def read(self, text_bytes: int, taken_bytes: int) -> None:
        if taken_bytes > self.taken_bytes and self.taken_bytes:
            self.steps.append((self.taken_bytes, self.text_bytes))
        self.text_bytes += text_bytes
        self.taken_bytes = taken_bytes


def sample_packed(source: Input, means: Means, deadline_s: float) -> Found:
    cells: list[Cell] = []
    progress = _Progress()
    cuts = TextCuts(means.encoding.pretokenizer, separator=None)
    size = source.size_bytes or 0
    stretch_bytes = min(max(size * USUAL_UNPACKING // STRETCHES, LEAST_STRETCH_BYTES), MOST_STRETCH_BYTES)
    stream = Stream(source)
    try:
        while time.monotonic() <= deadline_s or len(progress.steps) < LEAST_STEPS or not cells:
            started_s = time.thread_time()
            stretch = _filled(stream, stretch_bytes)
            means.gauge.reading_s += time.thread_time() - started_s
            means.gauge.reading_bytes += len(stretch)
            cell = _cell(stretch, progress.text_bytes, cuts, source, means)
            progress.read(len(stretch), stream.unpacked_position)
            at_end = len(stretch) < stretch_bytes
            if cell is not None:
                cells.append(cell)
            elif stretch_bytes <= LONGEST_RECORD_BYTES:
                stretch_bytes *= 2
            elif not at_end:
                raise too_long(source, progress.text_bytes)
            if at_end:
                return _found(cells, progress.text_bytes) if cells else _whole(source, means)
    finally:
        stream.close()
    packed, text_bytes = progress.steps[-1]
    seen = _found(cells, text_bytes)
    share = packed / size
    tokens = with_unseen(seen.tokens, share, _spread(cells, progress.steps))
    text = with_unseen(Range.exactly(text_bytes), share, 0.0)
    return replace(seen, tokens=tokens, text_bytes=text, seen_share=share)


def _found(cells: list[Cell], text_bytes: int) -> Found:
    """What so much text holds, the pieces of which are in the cells."""
    tokens = token_range(cells).times(text_bytes / sum(cell.length for cell in cells))
    return Found(tokens, Range.exactly(text_bytes), len(cells), sum(cell.read_bytes for cell in cells))


def _whole(source: Input, means: Means) -> Found:
    """A few records, each longer than what was looked at at once."""
    found = tokenized_whole(source, means, math.inf)
    assert found is not None
    return found


def _filled(stream: Stream, missing: int) -> bytes:
    parts: list[bytes] = []
    while missing and (data := stream.read(missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


def _cell(stretch: bytes, start: int, cuts: TextCuts, source: Input, means: Means) -> Cell | None:
    """A stretch, and a piece at a random place in it; None where no record lies inside."""
    if not stretch:
        return None
    at = means.rng.randrange(max(len(stretch) - PIECE_BYTES, 0) + 1)
    if source.kind == "jsonl":
        first, stop = records_in(stretch[at:], at_start=start + at == 0, size=PIECE_BYTES)
        data = b"" if first is None else stretch[at + first : at + (stop or stretch.rfind(b"\n", at) + 1 - at)]
    else:
        data = cut_out(stretch[at : at + PIECE_BYTES], cuts, at_start=start + at == 0, at_end=False)
    if not data:
        return None
    tokens = counted(data, Layout(source.kind), source, start + at, means)
    return Cell(start, start + len(stretch), len(data), tokens)


def _spread(cells: list[Cell], steps: list[tuple[int, int]]) -> float:
    """How much the tokens in a packed byte differ from part to part of what was seen."""
    bounds = steps[:: max(len(steps) // PARTS, 1)]
    rates = []
    for (packed, text), (packed_end, text_end) in itertools.pairwise(bounds):
        inside = [cell.density for cell in cells if text <= cell.start < text_end]
        if inside:
            rates.append((text_end - text) * sum(inside) / len(inside) / (packed_end - packed))
    return relative_spread(rates)
