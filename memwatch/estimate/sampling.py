"""How many tokens each input holds, without reading it all: a few hundred pieces of it, tokenized exactly.

Pieces and time are shared among the inputs by size (input_sampler.py samples one). Small inputs are tokenized as a
whole, and the answer is exact.
"""

import math
import random
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from memwatch.estimate.counter import Counter
from memwatch.estimate.input_sampler import PIECE_BYTES, InputSampler, block_reader, in_turn, usual_bytes
from memwatch.estimate.statistics import LEAST_UNSEEN_SPREAD, Cell, like_the_others, token_ranges, with_unseen
from memwatch.model.ranges import Range
from memwatch.model.units import MIB
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.settings import DEFAULT_BLOCK_BYTES

PIECES = 512
# Of inputs that are read from the front, count less and read further: what was not seen adds most to the interval.
STREAM_PIECES = 256
LONGEST_STRIDE_BYTES = 1 * MIB
# Up to here inputs are tokenized whole, unless the engine is slow or the machine very busy. The first block always is,
# so that a small file gets its exact count whatever else runs.
WHOLE_BYTES = 8 * MIB
WHOLE_S = 1.0
# Few pieces say little about the spread, so read this many even if it is late: a hard disk is slow to seek.
LEAST_PIECES = 16


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was found out about one input."""

    source: Input
    tokens: Range
    text_bytes: Range  # when unpacked
    pieces: int = 0
    read_bytes: int = 0
    seen_share: float = 1.0  # less where only a beginning was read in time; 0 where nothing was
    token_count: int | None = None  # the sum of a parquet column of this name


def sample_inputs(inputs: Sequence[Input], counter: Counter, rng: random.Random, seconds: float) -> list[Sampled]:
    """What each input holds, in the order given."""
    nothing = Range.exactly(0)
    found = {i: Sampled(source, nothing, nothing) for i, source in enumerate(inputs) if not source.size_bytes}
    found |= _tokenized_whole({i: source for i, source in enumerate(inputs) if source.size_bytes}, counter)
    left = {i: source for i, source in enumerate(inputs) if i not in found}
    sizes = {i: usual_bytes(source) for i, source in left.items()}
    total_bytes, deadline_s = sum(sizes.values()), time.monotonic() + seconds
    stride = min(max(total_bytes // STREAM_PIECES, 2 * PIECE_BYTES), LONGEST_STRIDE_BYTES)
    seen: dict[int, InputSampler] = {}

    def pieces() -> int:
        return sum(sampler.pieces for sampler in seen.values())

    for i, stop_s in in_turn(rng.sample(list(left), len(left)), lambda i: sizes[i], deadline_s, LEAST_PIECES, pieces):
        seen[i] = InputSampler(left[i], counter, rng, stride, round(PIECES * sizes[i] / total_bytes))
        seen[i].sample(stop_s, -(-LEAST_PIECES // len(left)))
    sampled = dict(zip(sorted(seen), _judged([seen[i] for i in sorted(seen)]), strict=True))
    unseen = {i: source for i, source in left.items() if i not in seen}
    found |= sampled | _like_the_others(unseen, list(sampled.values()))
    return [found[i] for i in range(len(inputs))]


def _tokenized_whole(inputs: dict[int, Input], counter: Counter) -> dict[int, Sampled]:
    """Exact answers, if all inputs together are small, for those that there is time for."""
    total_bytes, until_s = sum(map(usual_bytes, inputs.values())), time.monotonic() + WHOLE_S
    found: dict[int, Sampled] = {}
    for i, source in inputs.items() if total_bytes <= WHOLE_BYTES else ():
        tokens = blocks = size = 0
        with closing(block_reader(source, counter, ReadPosition())) as reader:
            while (block := reader.next(DEFAULT_BLOCK_BYTES)) is not None:
                tokens += counter.count(bytes(block.data), block.layout, source.name, block.start.offset)
                blocks, size = blocks + 1, block.after.offset
                if size > DEFAULT_BLOCK_BYTES and time.monotonic() > until_s:
                    return found
        found[i] = Sampled(source, Range.exactly(tokens), Range.exactly(size), blocks, size)
    return found


def _judged(samplers: Sequence[InputSampler]) -> list[Sampled]:
    all_cells = [sampler.cells for sampler in samplers]
    found = []
    for sampler, cells, tokens in zip(samplers, all_cells, token_ranges(all_cells), strict=True):
        text_bytes, share = sampler.text_bytes()
        covered = sum(cell.length for cell in cells)
        tokens = tokens.times(text_bytes.estimate * share / covered if covered else 0)
        if share == 1 and text_bytes.estimate:
            within = text_bytes.off_by / text_bytes.estimate
            tokens = Range.around(tokens.estimate, math.hypot(tokens.off_by, within * tokens.estimate))
        tokens = with_unseen(tokens, share, cells)
        found.append(
            Sampled(sampler.source, tokens, text_bytes, len(cells), sampler.read_bytes, share, sampler.token_count)
        )
    return found


def _like_the_others(unseen: dict[int, Input], seen: Sequence[Sampled]) -> dict[int, Sampled]:
    """Estimates for inputs that were not read in time: they are assumed to be like the others."""
    if not unseen:
        return {}
    sizes = [usual_bytes(each.source) for each in seen]
    cells = [Cell(size, size, each.tokens.estimate) for size, each in zip(sizes, seen, strict=True)]
    tokens = like_the_others(cells, len(unseen))
    unpacked = sum(each.text_bytes.estimate for each in seen) / sum(sizes)
    text = Range.around(unpacked, LEAST_UNSEEN_SPREAD * unpacked)
    found = {}
    for i, source in unseen.items():
        size = usual_bytes(source)
        text_bytes = Range.exactly(size) if source.is_plain else text.times(size)
        found[i] = Sampled(source, tokens.times(size), text_bytes, seen_share=0.0)
    return found
