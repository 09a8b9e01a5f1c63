"""The output files: growing in the partial folder, given their final names only when complete and on disk.

    DIR/.memwatch-partial/train_0000.part, val_0000.part     growing
    DIR/train.bin, DIR/train_shard_0000.bin, ...             complete

The coordinator adds up token counts in the order of the input and says where each block belongs (`place`); workers
write there, so a growing file may have holes. What is complete from its start on (`wrote`) is hashed and written to
disk by the hasher, and only that counts: a checkpoint describes it, and whoever resumes cuts off the rest. A hole would
look like a text full of exclamation marks, token 0.

A file that is complete is first recorded as such in the checkpoint and then renamed, so that after a crash between the
two the rename is made good (`publish`).
"""

import hashlib
import os
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.formats import HEADER_BYTES, Names, header, most_llmc_tokens
from memwatch.tokenize.messages import Finish, Finished, Grow, Hashed, Message, Sync, TakeUp
from memwatch.tokenize.settings import Split, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

# The hasher hears of this much at once.
GROWTH_BYTES = 8 * MIB

Places = tuple[tuple[str, int, int, int], ...]


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


@dataclass(slots=True)
class _Part:
    """One growing file."""

    path: Path
    split: Split
    shard: int
    header_bytes: int
    token_bytes: int
    placed: int  # tokens that have their place
    written: int  # of them, those without a hole before them
    is_full: bool = False
    reported: int = 0  # bytes that the hasher knows of

    def end(self, tokens: int) -> int:
        return self.header_bytes + tokens * self.token_bytes

    def place(self, start: int, count: int) -> tuple[str, int, int, int]:
        """For some tokens of a block, from its token `start` on."""
        at = self.end(self.placed)
        self.placed += count
        return str(self.path), at, start * self.token_bytes, (start + count) * self.token_bytes


class Outputs:
    """All files of a run. `send` reaches the hasher, whose answers come to `take`."""

    def __init__(
        self,
        partial: Path,
        settings: TokenizeSettings,
        encoding: Encoding,
        names: Names,
        state: OutputState,
        send: Callable[[Message], None],
    ) -> None:
        self._partial = partial
        self._settings = settings
        self._encoding = encoding
        self._names = names
        self._send = send
        self.sharded = state.sharded
        self.complete = list(state.complete)
        # The last one is growing; those before it have their size and wait for what is still to be written.
        self._train = deque([self._part("train", state.train)])
        self._val = deque([self._part("val", state.val)])
        self._finishing: dict[str, _Part] = {}
        self._reported_bytes = self._hashed_bytes = 0
        self._requested: OutputState | None = None

    @property
    def unhashed_bytes(self) -> int:
        """How far the hasher is behind."""
        return self._reported_bytes - self._hashed_bytes

    @property
    def is_finished(self) -> bool:
        return not self._finishing

    def place(self, train_tokens: int, val_tokens: int) -> tuple[Places, Places]:
        """Where the tokens of the next block in order belong."""
        return self._place(self._train, train_tokens), self._place(self._val, val_tokens)

    def wrote(self, train_tokens: int, val_tokens: int) -> bool:
        """The next block in order is written. Says whether that completed a shard."""
        completed_train = self._wrote(self._train, train_tokens)
        return self._wrote(self._val, val_tokens) or completed_train

    def switch_to_shards(self) -> None:
        """What has its place becomes the first shard, whatever its size, and shards follow."""
        if not self.sharded:
            self.sharded = True
            if self._train[-1].placed:
                self._next_shard(self._train)
                if self._train[0].written == self._train[0].placed:
                    self._finish(self._train.popleft())

    def finish(self) -> None:
        """Complete all files, the last shard too, whatever its size. Everything must have been written.

        What stays empty and is not wanted goes with the partial folder: the hasher may not have opened it yet."""
        for (part,), is_wanted in ((self._train, True), (self._val, self._settings.val_fraction > 0)):
            if part.written or (is_wanted and not part.shard):
                self._finish(part)

    def request_state(self) -> None:
        """Have what is written put on disk. When the hasher has done it, `state_of` says what that was."""
        train, val = self._train[0], self._val[0]
        self._requested = OutputState(
            self.sharded, PartState(train.shard, train.written), PartState(val.shard, val.written)
        )
        self._send(Sync(((str(train.path), train.end(train.written)), (str(val.path), val.end(val.written)))))

    def state_of(self, sha256: tuple[str, ...]) -> OutputState:
        """What was requested; all shards before are complete by then, because the hasher works in order."""
        requested, self._requested = self._requested, None
        assert requested is not None
        train, val = (
            PartState(state.shard, state.tokens, digest)
            for state, digest in zip((requested.train, requested.val), sha256, strict=True)
        )
        return OutputState(requested.sharded, train, val, tuple(self.complete))

    @property
    def final_state(self) -> OutputState:
        return OutputState(self.sharded, complete=tuple(self.complete))

    def take(self, message: Hashed | Finished) -> None:
        if isinstance(message, Hashed):
            self._hashed_bytes = message.total_bytes
            return
        part = self._finishing.pop(message.part)
        name = self._names.file(part.split, part.shard, self.sharded)
        self.complete.append(
            FileRecord(name, part.path.name, part.split, part.written, message.size_bytes, message.sha256)
        )

    def _place(self, parts: deque[_Part], tokens: int) -> Places:
        places = []
        start = 0
        while tokens:
            room = self._room_tokens(parts[-1])
            count = tokens if room is None else min(tokens, room)
            if count:
                places.append(parts[-1].place(start, count))
            start, tokens = start + count, tokens - count
            if tokens:
                self._next_shard(parts)
        return tuple(places)

    def _wrote(self, parts: deque[_Part], tokens: int) -> bool:
        completed = False
        while tokens:
            part = parts[0]
            count = min(tokens, part.placed - part.written)
            part.written += count
            tokens -= count
            self._report(part)
            if tokens or (part.is_full and part.written == part.placed):
                self._finish(parts.popleft())
                completed = True
        return completed

    def _room_tokens(self, part: _Part) -> int | None:
        """How much more a file may hold. Only train is cut into shards; a format may have a limit of its own."""
        limits = [self._settings.shard_tokens] if self.sharded and part.split == "train" else []
        if self._settings.format == "llmc":
            limits.append(most_llmc_tokens(self._encoding))
        return min(limits) - part.placed if limits else None

    def _next_shard(self, parts: deque[_Part]) -> None:
        parts[-1].is_full = True
        parts.append(self._part(parts[-1].split, PartState(shard=parts[-1].shard + 1)))

    def _report(self, part: _Part) -> None:
        grown = part.end(part.written) - part.reported
        if grown >= GROWTH_BYTES:
            part.reported += grown
            self._reported_bytes += grown
            self._send(Grow(str(part.path), part.reported))

    def _finish(self, part: _Part) -> None:
        self._reported_bytes += part.end(part.written) - part.reported
        self._finishing[str(part.path)] = part
        format_header = header(self._settings.format, part.written, self._encoding)
        self._send(Finish(str(part.path), part.end(part.written), format_header))

    def _part(self, split: Split, state: PartState) -> _Part:
        path = self._partial / f"{split}_{state.shard:04d}.part"
        header_bytes = HEADER_BYTES[self._settings.format]
        part = _Part(path, split, state.shard, header_bytes, self._encoding.token_bytes, state.tokens, state.tokens)
        part.reported = part.end(state.tokens)
        _take_up(path, part.reported, state.tokens)
        self._send(TakeUp(str(path), header_bytes, part.reported, state.sha256))
        return part


def _take_up(path: Path, size: int, tokens: int) -> None:
    """Make a file what the checkpoint says: cut off what came later."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        if tokens and os.fstat(fd).st_size < size:
            raise MemwatchError(f"{path} is shorter than the checkpoint records; start over with --fresh")
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


def publish(records: tuple[FileRecord, ...], partial: Path, folder: Path) -> None:
    """Give complete files their final names. May be done again after a crash."""
    renamed = False
    for record in records:
        part = partial / record.part
        if part.exists():
            os.replace(part, folder / record.name)
            renamed = True
        elif not (folder / record.name).exists():
            raise MemwatchError(f"{folder / record.name} is missing although it was complete; start over with --fresh")
    if renamed:
        sync_folder(partial)
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
