"""How many tokens the inputs hold, judged by a few small pieces of each.

Good enough to see whether the output fits on the disk, and to show a projection from the first second on.
"""

import os
from collections.abc import Callable

from memwatch.core.units import KIB
from memwatch.tokenize.blocks import Block, BlockReader, Layout, Position
from memwatch.tokenize.cuts import Cuts, RecordCuts, TextCuts
from memwatch.tokenize.inputs import Input
from memwatch.tokenize.settings import Settings
from memwatch.tokenize.vocabulary import Encoding

PIECES = 16
PIECE_BYTES = 32 * KIB
MOST_FILES = 64
# How much text a packed byte stands for at the least. Too low is on the safe side: nobody is turned away for nothing.
LEAST_UNPACKING = 2


def expected_tokens(
    inputs: list[Input], settings: Settings, encoding: Encoding, count_tokens: Callable[[list[Block]], int]
) -> int | None:
    """Tokens in all inputs, or None if one of them is standard input."""
    if any(source.size_bytes is None for source in inputs):
        return None
    tokens = 0.0
    looked_at = inputs[:: max(len(inputs) // MOST_FILES, 1)]
    for source in looked_at:
        blocks = pieces(source, settings, encoding)
        sampled = sum(len(block.data) for block in blocks)
        if sampled:
            text_bytes = (source.size_bytes or 0) * (1 if _is_plain(source) else LEAST_UNPACKING)
            tokens += text_bytes * count_tokens(blocks) / sampled
    size = sum(source.size_bytes or 0 for source in looked_at)
    return round(tokens * sum(source.size_bytes or 0 for source in inputs) / size) if size else 0


def _is_plain(source: Input) -> bool:
    return source.packing is None and source.kind != "parquet"


def pieces(source: Input, settings: Settings, encoding: Encoding) -> list[Block]:
    if _is_plain(source):
        cuts: Cuts = RecordCuts() if source.kind == "jsonl" else TextCuts(encoding.pretokenizer, separator=None)
        return _spread_pieces(source, cuts)
    reader = BlockReader([source], settings, encoding, Position())
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
                at = Position(offset=offset + start)
                found.append(Block(window[start : cut.at], Layout(source.kind), "train", False, at, at, 0))
    return found
