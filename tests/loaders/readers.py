"""How training programs read token files, written from descriptions of their behaviour; none of their code is copied.

Each reader fails where the real one does: on a wrong header or size, and on a file with too few tokens for a batch.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Batch:
    """What one process trains on in one step, and where in which file it was."""

    file: Path
    start: int
    inputs: Tokens
    targets: Tokens


@dataclass(frozen=True)
class BatchShape:
    sequences: int
    length: int
    rank: int = 0
    processes: int = 1

    @property
    def tokens(self) -> int:
        return self.sequences * self.length


def nanogpt_windows(path: Path, block_size: int) -> Iterator[Batch]:
    """nanoGPT maps a file of 16-bit tokens and draws positions below `length - block_size`; here all of them."""
    tokens = np.memmap(path, dtype=np.uint16, mode="r")
    positions = len(tokens) - block_size
    assert positions > 0, f"{path} is too short: there is no position to draw"
    for start in range(positions):
        inputs, targets = tokens[start : start + block_size], tokens[start + 1 : start + 1 + block_size]
        assert len(inputs) == len(targets) == block_size, "a window runs over the end of the file"
        yield Batch(path, start, inputs, targets)


def llmc_shard(path: Path) -> Tokens:
    """llm.c reads 256 int32: magic, version, number of tokens; the file must have exactly that size."""
    header = np.fromfile(path, dtype="<i4", count=256)
    token_bytes = {(20240520, 1): 2, (20240801, 7): 4}[(int(header[0]), int(header[1]))]
    count = int(header[2])
    size = path.stat().st_size
    assert size == 1024 + count * token_bytes, f"{path} has {size} bytes for {count} tokens"
    assert size < 2**31, f"{path} is larger than the offsets of llm.c"
    return np.fromfile(path, dtype=f"<u{token_bytes}", offset=1024)


def llmc_batches(folder: Path, pattern: str, shape: BatchShape) -> Iterator[Batch]:
    """llm.c takes the files of a pattern in the order of their names. Each must hold a batch of every process and one
    token more. A batch of all processes is a sample; a process reads its part, and one token after it."""
    files = sorted(folder.glob(pattern))
    assert files, f"no files match {pattern}"
    together = shape.tokens * shape.processes
    for path in files:
        tokens = llmc_shard(path)
        assert len(tokens) >= together + 1, f"{path} has {len(tokens)} tokens, fewer than a batch"
        for sample in range((len(tokens) - 1) // together):
            yield _batch(path, tokens, sample * together + shape.rank * shape.tokens, shape)


def build_nanogpt_batches(folder: Path, split: str, shape: BatchShape) -> Iterator[Batch]:
    """build-nanogpt takes every file whose name contains the split, loads it with numpy, and goes on to the next one
    when the next batch of all processes would run over its end."""
    names = sorted(name for name in os.listdir(folder) if split in name)
    assert names, f"no shards for {split}"
    together = shape.tokens * shape.processes
    for name in names:
        tokens = np.load(folder / name).astype(np.int32)
        position = shape.tokens * shape.rank
        while True:
            yield _batch(folder / name, tokens, position, shape)
            position += together
            if position + together + 1 > len(tokens):
                break


def _batch(path: Path, tokens: Tokens, start: int, shape: BatchShape) -> Batch:
    buffer = tokens[start : start + shape.tokens + 1]
    # Raises ValueError for a buffer that is too short, as a view of a tensor does.
    inputs = buffer[:-1].reshape(shape.sequences, shape.length)
    return Batch(path, start, inputs, buffer[1:].reshape(shape.sequences, shape.length))


_MEGATRON_TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}


class MegatronDataset:
    """Megatron-LM's indexed dataset: PREFIX.bin, and PREFIX.idx with a length and a byte offset for each sequence."""

    def __init__(self, prefix: Path) -> None:
        index = prefix.with_name(prefix.name + ".idx").read_bytes()
        magic, version, token_type, sequences, documents = struct.unpack_from("<9sQBQQ", index)
        assert magic == b"MMIDIDX\x00\x00"
        assert version == 1
        self._type = np.dtype(_MEGATRON_TYPES[token_type])
        at = struct.calcsize("<9sQBQQ")
        self.lengths = np.frombuffer(index, "<i4", sequences, at)
        at += self.lengths.nbytes
        self.pointers = np.frombuffer(index, "<i8", sequences, at)
        at += self.pointers.nbytes
        self.documents = np.frombuffer(index, "<i8", documents, at)
        assert at + self.documents.nbytes == len(index), "something follows the index"
        assert len(self.lengths) == self.documents[-1]
        self._tokens = prefix.with_name(prefix.name + ".bin").read_bytes()

    @property
    def tokens(self) -> Tokens:
        return np.frombuffer(self._tokens, self._type)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> Tokens:
        return np.frombuffer(self._tokens, self._type, int(self.lengths[number]), int(self.pointers[number]))
