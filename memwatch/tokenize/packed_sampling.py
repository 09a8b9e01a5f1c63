"""How many tokens packed text holds: read from the beginning for as long as there is time, a piece of each stretch
tokenized. What lies beyond is taken to be like it, by its packed size; and the answer says how little was seen."""

import time

from memwatch.core.cells import Cell, Range, relative_spread, token_range, with_unseen
from memwatch.core.units import KIB, MIB
from memwatch.tokenize.blocks import Layout
from memwatch.tokenize.cuts import Cuts, RecordCuts, TextCuts
from memwatch.tokenize.inputs import Input, Stream
from memwatch.tokenize.sampling import Found, Means

STRETCH_BYTES = 1 * MIB
PIECE_BYTES = 64 * KIB
# What was seen is divided into this many parts, to see how much one differs from another.
PARTS = 8


def sample_packed(source: Input, means: Means, deadline_s: float) -> Found:
    cells: list[Cell] = []
    packed_at: list[int] = []
    cuts: Cuts = RecordCuts() if source.kind == "jsonl" else TextCuts(means.encoding.pretokenizer, separator=None)
    stream = Stream(source)
    read = 0
    try:
        while True:
            started_s = time.perf_counter()
            stretch = _filled(stream)
            means.gauge.reading_s += time.perf_counter() - started_s
            means.gauge.reading_bytes += len(stretch)
            if not stretch:
                break
            cell = _cell(stretch, read, cuts, source, means)
            read += len(stretch)
            if cell is not None:
                cells.append(cell)
                packed_at.append(stream.unpacked_position)
            if cells and time.monotonic() > deadline_s:
                break
        at_end = len(stretch) < STRETCH_BYTES
        packed = stream.unpacked_position
    finally:
        stream.close()
    if not cells:
        return Found(Range.exactly(0), Range.exactly(0))
    seen_share = 1.0 if at_end else min(packed / (source.size_bytes or 1), 1.0)
    covered = sum(cell.length for cell in cells)
    seen = token_range(cells).times(read / covered)
    tokens = with_unseen(seen, seen_share, _spread(cells, packed_at))
    text = with_unseen(Range.exactly(read), seen_share, 0.0)
    return Found(tokens, text, len(cells), sum(cell.read_bytes for cell in cells), seen_share)


def _filled(stream: Stream) -> bytes:
    parts: list[bytes] = []
    missing = STRETCH_BYTES
    while missing and (data := stream.read(missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


def _cell(stretch: bytes, start: int, cuts: Cuts, source: Input, means: Means) -> Cell | None:
    """A stretch, and a piece at a random place in it; None where no piece can be cut out."""
    room = max(len(stretch) - PIECE_BYTES, 0)
    at = means.rng.randrange(room + 1)
    first = 0 if start + at == 0 else cuts.unit_end(stretch, at + 1)
    if first is None:
        return None
    window = stretch[first:]
    cut = cuts.block_end(window, 0, min(PIECE_BYTES, len(window)), at_end=False)
    if cut is None or cut.at == 0:
        return None
    tokens = means.gauge.count(window[: cut.at], Layout(source.kind))
    return Cell(start, start + len(stretch), cut.at, tokens)


def _spread(cells: list[Cell], packed_at: list[int]) -> float:
    """How much the tokens in a packed byte differ from part to part."""
    rates = []
    size = max(len(cells) // PARTS, 1)
    for first in range(size, len(cells) - size + 1, size):
        packed = packed_at[first + size - 1] - packed_at[first - 1]
        if packed > 0:
            rates.append(sum(cell.density * cell.length for cell in cells[first : first + size]) / packed)
    return relative_spread(rates)
