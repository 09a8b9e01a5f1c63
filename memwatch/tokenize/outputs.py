"""The output files: growing in the partial folder, given their final names only when complete and on disk.

    DIR/.memwatch-partial/train_0000.part, val_0000.part     growing
    DIR/train.bin, DIR/train_shard_0000.bin, ...             complete

A file that is complete is first recorded as such in the checkpoint and then renamed, so that after a crash between the
two the rename is made good (`publish`). Tokens are only ever appended: a preallocated file left by a crash would look
like a text full of exclamation marks, token 0.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.formats import HEADER_BYTES, MOST_LLMC_TOKENS, Names, header
from memwatch.tokenize.pagecache import WriteBehind, forget
from memwatch.tokenize.settings import Split, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

REREAD_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A complete file."""

    name: str
    part: str
    split: Split
    tokens: int
    size_bytes: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PartState:
    """How far a growing file has come. `sha256` is that of its tokens, without the header."""

    shard: int = 0
    tokens: int = 0
    sha256: str = field(default_factory=lambda: hashlib.sha256().hexdigest())


class PartFile:
    """One growing file."""

    def __init__(self, path: Path, token_bytes: int, header_bytes: int, state: PartState) -> None:
        self.path = path
        self.shard = state.shard
        self.tokens = 0
        self._token_bytes = token_bytes
        self._header_bytes = header_bytes
        self._sha256 = hashlib.sha256()
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        self._take_up(state)
        self._behind = WriteBehind(self._fd, self._end)

    @property
    def _end(self) -> int:
        return self._header_bytes + self.tokens * self._token_bytes

    @property
    def state(self) -> PartState:
        return PartState(self.shard, self.tokens, self._sha256.hexdigest())

    def append(self, tokens: memoryview) -> None:
        self._sha256.update(tokens)
        self.tokens += len(tokens) // self._token_bytes
        while tokens:
            tokens = tokens[os.write(self._fd, tokens) :]
        self._behind.wrote_up_to(self._end)

    def sync(self) -> None:
        getattr(os, "fdatasync", os.fsync)(self._fd)  # macOS has only the latter.

    def complete(self, format_header: bytes) -> tuple[int, str]:
        """Finish the file and return its size and hash."""
        if format_header:
            os.pwrite(self._fd, format_header, 0)
        os.fsync(self._fd)
        sha256 = self._sha256.hexdigest() if not format_header else sha256_of(self.path)
        size = os.fstat(self._fd).st_size
        forget(self._fd, 0, size)
        self.close()
        return size, sha256

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _take_up(self, state: PartState) -> None:
        """Go on where the checkpoint left off: cut off what came later, and make sure of what is there."""
        size = self._header_bytes + state.tokens * self._token_bytes
        if os.fstat(self._fd).st_size < size:
            if state.tokens:
                raise MemwatchError(f"{self.path} is shorter than the checkpoint records; start over with --fresh")
            os.pwrite(self._fd, b"\0" * self._header_bytes, 0)
        os.ftruncate(self._fd, size)
        _hash_file(self._fd, self._header_bytes, self._sha256.update)
        if self._sha256.hexdigest() != state.sha256:
            raise MemwatchError(f"{self.path} differs from the checkpoint; start over with --fresh")
        os.lseek(self._fd, 0, os.SEEK_END)
        self.tokens = state.tokens


def _hash_file(fd: int, offset: int, update: Callable[[bytes], None]) -> None:
    while data := os.pread(fd, REREAD_BYTES, offset):
        update(data)
        offset += len(data)
        forget(fd, offset - len(data), offset)


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _hash_file(fd, 0, digest.update)
    finally:
        os.close(fd)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class OutputState:
    """Everything about the outputs that a checkpoint must know."""

    sharded: bool = False
    train: PartState = field(default_factory=PartState)
    val: PartState = field(default_factory=PartState)
    complete: tuple[FileRecord, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "OutputState":
        return cls(
            sharded=data["sharded"],
            train=PartState(**data["train"]),
            val=PartState(**data["val"]),
            complete=tuple(FileRecord(**record) for record in data["complete"]),
        )


class Outputs:
    """All files of a run. In memory mode tokens are held until the end, or until a switch to shards."""

    def __init__(
        self, partial: Path, settings: TokenizeSettings, encoding: Encoding, names: Names, state: OutputState
    ) -> None:
        self._partial = partial
        self._settings = settings
        self._encoding = encoding
        self._names = names
        self.sharded = state.sharded
        self._complete = list(state.complete)
        self._train = self._part("train", state.train)
        self._val = self._part("val", state.val)
        self._held: list[tuple[Split, bytes]] | None = None
        if settings.mode == "memory" and not state.sharded:
            self._held = []
        self.held_bytes = 0

    @property
    def state(self) -> OutputState:
        return OutputState(self.sharded, self._train.state, self._val.state, tuple(self._complete))

    @property
    def holds_tokens(self) -> bool:
        return self._held is not None

    def append(self, split: Split, tokens: memoryview) -> bool:
        """Append tokens, and say whether that completed a shard."""
        if self._held is not None:
            self._held.append((split, bytes(tokens)))
            self.held_bytes += len(tokens)
            return False
        if split == "val":
            self._val.append(tokens)
            return False
        completed = False
        while (room := self._room_bytes()) is not None and room < len(tokens):
            self._train.append(tokens[:room])
            tokens = tokens[room:]
            self._next_shard()
            completed = True
        self._train.append(tokens)
        return completed

    def switch_to_shards(self) -> None:
        """What there is becomes the first shard, whatever its size, and shards follow."""
        if not self.sharded:
            self._stop_holding()
            self.sharded = True
            if self._train.tokens:
                self._next_shard()

    def finish(self) -> None:
        """Complete all files, the last shard too, whatever its size."""
        self._stop_holding()
        if self._train.tokens or not self._train.shard:
            self._complete_part("train", self._train)
        else:
            self._train.close()
            self._train.path.unlink()
        self._complete_part("val", self._val)

    def _stop_holding(self) -> None:
        """Write out what was held, giving the memory back piece by piece."""
        held, self._held = self._held or [], None
        held.reverse()
        while held:
            split, tokens = held.pop()
            self.append(split, memoryview(tokens))
        self.held_bytes = 0

    def sync(self) -> None:
        self._train.sync()
        self._val.sync()

    def close(self) -> None:
        self._train.close()
        self._val.close()

    def _room_bytes(self) -> int | None:
        """How much more the current train file may hold."""
        most = self._settings.shard_tokens if self.sharded else None
        if self._settings.format == "llmc":
            most = min(most or MOST_LLMC_TOKENS, MOST_LLMC_TOKENS)
        if most is None:
            return None
        return (most - self._train.tokens) * self._encoding.token_bytes

    def _next_shard(self) -> None:
        self._complete_part("train", self._train)
        self._train = self._part("train", PartState(shard=self._train.shard + 1))

    def _complete_part(self, split: Split, part: PartFile) -> None:
        size, sha256 = part.complete(header(self._settings.format, part.tokens, self._encoding))
        name = self._names.file(split, part.shard, self.sharded)
        self._complete.append(FileRecord(name, part.path.name, split, part.tokens, size, sha256))

    def _part(self, split: Split, state: PartState) -> PartFile:
        path = self._partial / f"{split}_{state.shard:04d}.part"
        return PartFile(path, self._encoding.token_bytes, HEADER_BYTES[self._settings.format], state)


def publish(records: tuple[FileRecord, ...], partial: Path, folder: Path) -> None:
    """Give complete files their final names. May be done again after a crash."""
    for record in records:
        part = partial / record.part
        if part.exists():
            os.replace(part, folder / record.name)
        elif not (folder / record.name).exists():
            raise MemwatchError(f"{folder / record.name} is missing although it was complete; start over with --fresh")
    sync_folder(partial)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
