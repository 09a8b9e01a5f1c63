"""How many tokens the inputs hold, judged by a few small pieces of each.

Good enough to see whether the output fits on the disk, and to show a projection from the first second on.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB
from memwatch.tokenize.block_opener import BlockOpener, BlockReader
from memwatch.tokenize.blocks import Block, BlockLayout, ReadPosition
from memwatch.tokenize.cuts import Cuts, RecordCuts
from memwatch.tokenize.document_cuts import sampling_cuts
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

if TYPE_CHECKING:
    from memwatch.tokenize.encoding import BlockEncoder

PIECES = 64  # of all files together
PIECE_BYTES = 32 * KIB
FILES_SAMPLED = 64
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


def expected_marks(
    opener: BlockOpener, encoding: Encoding, encoder: "BlockEncoder"
) -> tuple[tuple[int, float], ...] | None:
    """Marks for `Expected` of all inputs; None if one of them is standard input. Called in a worker."""
    inputs = opener.inputs
    if any(source.size_bytes is None for source in inputs):
        return None
    marks = [(0, 0.0)]
    stride = max(-(-len(inputs) // FILES_SAMPLED), 1)
    count = max(PIECES * stride // len(inputs), 1)
    for i in range(0, len(inputs), stride):
        # One file stands for those after it that are not looked at.
        size = sum(source.size_bytes or 0 for source in inputs[i : i + stride])
        blocks = sample_pieces(inputs[i], opener.settings, encoding, min(count, PIECES))
        _mark(marks, size, _unpacking(inputs[i]), blocks, [_tokens_of(encoder, block) for block in blocks])
    return tuple(marks)


def _tokens_of(encoder: "BlockEncoder", block: Block) -> int:
    try:
        return len(encoder.encode(bytes(block.data), block.layout)[0])
    except MemwatchError:
        return 0  # The run itself will say what is wrong, and where.


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
    return LEAST_UNPACKING if source.packing or source.archive or source.has_rows else 1


def sample_pieces(source: Input, settings: TokenizeSettings, encoding: Encoding, count: int) -> list[Block]:
    """Small pieces of an input, spread over it where it can be read anywhere, else from its beginning."""
    if source.is_plain:
        cuts: Cuts = RecordCuts() if source.kind == "jsonl" else sampling_cuts(encoding)
        return _spread_pieces(source, cuts, count)
    reader = BlockReader([source], settings, encoding, ReadPosition())
    try:
        block = reader.next(count * PIECE_BYTES)
    except MemwatchError:
        block = None
    finally:
        reader.close()
    return [] if block is None else [_beginning(block, 2 * count * PIECE_BYTES)]


def _beginning(block: Block, most_bytes: int) -> Block:
    """A text that cannot be cut makes a large block, of which the beginning will do."""
    if block.layout.kind != "text" or len(block.data) <= most_bytes:
        return block
    return replace(block, data=bytes(block.data[:most_bytes]).decode("utf-8", "ignore").encode())


def _spread_pieces(source: Input, cuts: Cuts, most: int) -> list[Block]:
    assert source.size_bytes is not None
    found: list[Block] = []
    layout = BlockLayout("jsonl" if source.kind == "jsonl" else "text")
    file = PlainFile(source)
    try:
        count = min(most, -(-source.size_bytes // PIECE_BYTES))
        for i in range(count):
            offset = source.size_bytes * i // count
            view = file.view(offset, offset + PIECE_BYTES)
            start = 0 if offset == 0 else (cuts.boundary(view, offset + 1) or offset) - offset
            cut = cuts.block_end(view.data, 0, len(view.data), at_end=view.at_end)
            if cut is not None and cut.at > start:
                at = ReadPosition(offset=offset + start)
                found.append(Block(view.data[start : cut.at], layout, "train", False, at, at, 0, source.name))
    finally:
        file.close()
    return found
