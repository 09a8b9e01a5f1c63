"""Reads a file in blocks and encodes it, without any processes."""

from dataclasses import dataclass
from pathlib import Path

from memwatch.tokenize.block_opener import BlockReader
from memwatch.tokenize.blocks import Block, ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import Engine
from memwatch.tokenize.inputs.finding import look_at
from memwatch.tokenize.messages import Counts
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding


@dataclass
class Read:
    """What comes out when a file is read in blocks and encoded, without any processes."""

    train: list[int]
    val: list[int]
    blocks: list[Block]
    counts: Counts


def read_in_blocks(
    path: Path,
    settings: TokenizeSettings,
    encoding: Encoding,
    engine: Engine,
    limit: int,
    start: ReadPosition | None = None,
) -> Read:
    source = look_at(str(path), any_bytes=True)
    reader = BlockReader([source], settings, encoding, start or ReadPosition())
    encoder = BlockEncoder(engine, encoding, settings)
    tokens: dict[str, list[int]] = {"train": [], "val": []}
    total = Counts()
    blocks = []
    while (block := reader.next(limit)) is not None:
        encoded, counts = encoder.encode(bytes(block.data), block.layout)
        tokens[block.split] += encoded.tolist()
        for name in ("documents", "missing_texts", "replaced_bytes", "records"):
            setattr(total, name, getattr(total, name) + getattr(counts, name))
        blocks.append(block)
    reader.close()
    return Read(tokens["train"], tokens["val"], blocks, total)
