"""How many tokens the inputs hold, judged by a few small pieces of each.

Good enough to see whether the output fits on the disk, and to show a projection from the first second on.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memwatch.model.units import KIB
from memwatch.tokenize.blocks import Block, BlockLayout, BlockReader, ReadPosition
from memwatch.tokenize.cuts import Cuts, RecordCuts, TextCuts
from memwatch.tokenize.inputs import Input
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

PIECES = 16
PIECE_BYTES = 32 * KIB
MOST_FILES = 64
# Least text bytes per compressed byte. Low is on the safe side: no run is refused without reason.
LEAST_UNPACKING = 2


@dataclass(frozen=True, slots=True)
class Expected:
    """How many tokens there will be at which place, counted in bytes of the input files one after the other."""

    marks: tuple[tuple[int, float], ...]  # (file bytes, tokens), from (0, 0) to the end
    is_packed: bool  # then how much text a byte stands for is a guess

    @property
    def tokens(self) -> int:
        return round(self.marks[-1][1])

    def tokens_up_to(self, file_bytes: int) -> float:
        after = min(bisect_right(self.marks, (file_bytes, float("inf"))), len(self.marks) - 1)
        (start, tokens), (end, tokens_at_end) = self.marks[after - 1], self.marks[after]
        share = min((file_bytes - start) / (end - start), 1.0) if end > start else 1.0
        return tokens + share * (tokens_at_end - tokens)


def expected_tokens(
    inputs: list[Input],
    settings: TokenizeSettings,
    encoding: Encoding,
    count_tokens: Callable[[list[Block]], list[int]],
) -> Expected | None:
    """Of all inputs; None if one of them is standard input."""
    if any(source.size_bytes is None for source in inputs):
        return None
    marks = [(0, 0.0)]
    stride = max(len(inputs) // MOST_FILES, 1)
    for i in range(0, len(inputs), stride):
        # One file stands for those after it that are not looked at.
        size = sum(source.size_bytes or 0 for source in inputs[i : i + stride])
        blocks = pieces(inputs[i], settings, encoding)
        _mark(marks, size, _unpacking(inputs[i]), blocks, count_tokens(blocks))
    return Expected(tuple(marks), not all(map(_is_plain, inputs)))


def _mark(
    marks: list[tuple[int, float]], size: int, unpacking: int, blocks: list[Block], tokens: Sequence[int]
) -> None:
    """Go on from the last mark: the pieces stand for equal parts of the size."""
    start, so_far = marks[-1]
    for number, (block, count) in enumerate(zip(blocks, tokens, strict=True), 1):
        so_far += size / len(blocks) * unpacking * count / max(len(block.data), 1)
        marks.append((start + size * number // len(blocks), so_far))
    if not blocks:
        marks.append((start + size, so_far))


def _unpacking(source: Input) -> int:
    return 1 if _is_plain(source) else LEAST_UNPACKING


def _is_plain(source: Input) -> bool:
    return source.packing is None and source.kind != "parquet"


def pieces(source: Input, settings: TokenizeSettings, encoding: Encoding) -> list[Block]:
    if _is_plain(source):
        cuts: Cuts = RecordCuts() if source.kind == "jsonl" else TextCuts(encoding.pretokenizer, separator=None)
        return _spread_pieces(source, cuts)
    reader = BlockReader([source], settings, encoding, ReadPosition())
    try:
        block = reader.next(PIECES * PIECE_BYTES)
    finally:
        reader.close()
    return [] if block is None else [block]


def _spread_pieces(source: Input, cuts: Cuts) -> list[Block]:
    assert source.size_bytes is not None
    found: list[Block] = []
    with open(source.path, "rb") as file:
        count = min(PIECES, -(-source.size_bytes // PIECE_BYTES))
        for i in range(count):
            offset = source.size_bytes * i // count
            window = os.pread(file.fileno(), PIECE_BYTES, offset)
            start = 0 if offset == 0 else cuts.unit_end(window, 1) or 0
            cut = cuts.block_end(window, 0, len(window), at_end=offset + len(window) >= source.size_bytes)
            if cut is not None and cut.at > start:
                at = ReadPosition(offset=offset + start)
                found.append(Block(window[start : cut.at], BlockLayout(source.kind), "train", False, at, at, 0))
    return found
