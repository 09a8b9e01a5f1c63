"""The output files: growing in the partial folder, given their final names only when complete and on disk.

    DIR/.memwatch-partial/train_0000.part, val_0000.part     growing
    DIR/.memwatch-partial/train_0000.starts                  where its documents begin, if there is to be an index
    DIR/train.bin, DIR/train_shard_0000.bin, ...             complete

The coordinator adds up token counts in the order of the input and says where each block belongs (`place`); workers
write there, so a growing file may have holes. What is complete from its start on (`wrote`) is hashed and written to
disk by the hasher, and only that counts: a checkpoint describes it, and a resumed run cuts off the rest. A hole would
look like a text full of exclamation marks, token 0.

A file that is complete is first recorded as such in the checkpoint and then renamed (output_folder.py).
"""

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from memwatch.model.units import MIB
from memwatch.tokenize.formats.document_index import START_BYTES
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.formats.format_registry import FORMATS, has_index
from memwatch.tokenize.growing_files import GrowingFile, OutputPart, PartShare, Places, StartPlaces
from memwatch.tokenize.messages import Finish, Finished, Grow, Hashed, MakeIndex, Message, Sync, TakeUp
from memwatch.tokenize.output_state import FileRecord, OutputState, PartState
from memwatch.tokenize.settings import Split, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

# The hasher is sent this much at once.
GROWTH_BYTES = 8 * MIB


class PlacedBlock(NamedTuple):
    """Where the tokens of a block belong, and the places where its documents begin."""

    train: Places
    val: Places
    train_starts: StartPlaces
    val_starts: StartPlaces


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
        self._format = FORMATS[settings.format]
        self._has_index = has_index(settings)
        self._names = names
        self._send = send
        self.sharded = state.sharded
        self.complete = list(state.complete)
        # The last one is growing; those before it have their size and wait for what is still to be written.
        self._train = deque([self._part("train", state.train)])
        self._val = deque([self._part("val", state.val)])
        # With --val first-shard, val takes the first tokens, and train those after it.
        self._is_first_shard = settings.val == "first-shard" and not (state.train.shard or state.train.tokens)
        # What was placed and is not written yet, in order.
        self._under_way: deque[list[PartShare]] = deque()
        self._finishing: dict[str, FileRecord] = {}
        self._reported_bytes = self._hashed_bytes = 0
        self._requested: OutputState | None = None

    @property
    def unhashed_bytes(self) -> int:
        """How far the hasher is behind."""
        return self._reported_bytes - self._hashed_bytes

    @property
    def is_finished(self) -> bool:
        return not self._finishing

    def place(
        self, train_tokens: int, val_tokens: int, train_starts: bytes = b"", val_starts: bytes = b""
    ) -> PlacedBlock:
        """Where the next block in order belongs. Starts are 32-bit numbers: the tokens at which documents begin."""
        shares: list[PartShare] = []
        self._under_way.append(shares)
        train, train_places = self._place(self._train, train_tokens, train_starts, shares)
        val, val_places = self._place(self._val, val_tokens, val_starts, shares)
        return PlacedBlock(train, val, train_places, val_places)

    def wrote(self) -> bool:
        """The next block in order is written. Says whether that completed a shard."""
        completed = False
        for part, tokens, starts in self._under_way.popleft():
            parts = self._train if part.split == "train" else self._val
            while parts[0] is not part:
                self._finish(parts.popleft())
                completed = True
            for file, count in zip(part.files, (tokens, starts), strict=False):
                file.written += count
                self._report(file)
            if part.is_complete:
                self._finish(parts.popleft())
                completed = True
        return completed

    def switch_to_shards(self) -> None:
        """What has its place becomes the first shard, whatever its size, and shards follow."""
        if self.sharded:
            return
        self.sharded = True
        growing = self._train[-1]
        if self._format.keeps_documents_whole:
            growing.limit = growing.tokens.placed
        elif growing.tokens.placed:
            self._next_shard(self._train)
            if growing is self._train[0] and growing.is_complete:
                self._finish(self._train.popleft())

    def finish(self) -> None:
        """Complete all files, the last shard too, whatever its size. Everything must have been written.

        What stays empty and is not wanted goes with the partial folder: the hasher may not have opened it yet."""
        for (part,), is_wanted in ((self._train, True), (self._val, self._settings.wants_val)):
            if part.tokens.written or (is_wanted and not part.shard):
                self._finish(part)

    def request_state(self) -> None:
        """Have what is written put on disk. When the hasher has done it, `state_of` says what that was."""
        train, val = self._train[0], self._val[0]
        self._requested = OutputState(self.sharded, train.state, val.state)
        self._send(Sync(tuple((str(file.path), file.written_end) for file in (*train.files, *val.files))))

    def state_of(self, sha256: tuple[str, ...]) -> OutputState:
        """What was requested; all shards before are complete by then, because the hasher works in order."""
        requested, self._requested = self._requested, None
        assert requested is not None
        half = len(sha256) // 2
        train, val = requested.train.with_sha256(sha256[:half]), requested.val.with_sha256(sha256[half:])
        return OutputState(requested.sharded, train, val, tuple(self.complete))

    @property
    def final_state(self) -> OutputState:
        return OutputState(self.sharded, complete=tuple(self.complete))

    def take(self, message: Hashed | Finished) -> None:
        """What the hasher reports: how far it is, or that a file is complete."""
        if isinstance(message, Hashed):
            self._hashed_bytes = message.total_bytes
            return
        record = self._finishing.pop(message.part)
        self.complete.append(replace(record, size_bytes=message.size_bytes, sha256=message.sha256))

    def _place(
        self, parts: deque[OutputPart], tokens: int, packed_starts: bytes, shares: list[PartShare]
    ) -> tuple[Places, StartPlaces]:
        starts = array("I", packed_starts)
        places, start_places = [], []
        token = start = 0
        while token < tokens:
            is_first = self._is_first_shard and parts is self._train
            part = self._val[-1] if is_first else parts[-1]
            count = self._count_for(part, token, tokens, starts)
            stop = bisect_left(starts, token + count, start)
            if stop > start:
                start_places.append(part.place_starts(start, stop, token))
            if count:
                places.append(part.place(token, count))
                shares.append(PartShare(part, count, stop - start))
            token, start = token + count, stop
            if token < tokens and is_first:
                self._is_first_shard = False
            elif token < tokens:
                self._next_shard(parts)
        return tuple(places), tuple(start_places)

    def _count_for(self, part: OutputPart, token: int, tokens: int, starts: "array[int]") -> int:
        """How many tokens of a block, from one on, belong to a file: up to its limit, or to the end of the document
        that reaches it."""
        limit = self._limit_tokens(part)
        if limit is None:
            return tokens - token
        end = token + max(limit - part.tokens.placed, 0)
        if self._format.keeps_documents_whole:
            after = bisect_left(starts, end)
            end = starts[after] if after < len(starts) else tokens
        return min(end, tokens) - token

    def _limit_tokens(self, part: OutputPart) -> int | None:
        """How much a file may hold. Only train is cut into shards; a format may have a limit of its own."""
        limits = [part.limit, self._format.most_tokens(self._encoding.token_bytes)]
        if (self.sharded and part.split == "train") or self._settings.val == "first-shard":
            limits.append(self._settings.shard_tokens)
        return min((limit for limit in limits if limit is not None), default=None)

    def _next_shard(self, parts: deque[OutputPart]) -> None:
        parts[-1].is_full = True
        parts.append(self._part(parts[-1].split, PartState(shard=parts[-1].shard + 1)))

    def _report(self, file: GrowingFile) -> None:
        grown = file.written_end - file.reported
        if grown >= GROWTH_BYTES:
            file.reported += grown
            self._reported_bytes += grown
            self._send(Grow(str(file.path), file.reported))

    def _finish(self, part: OutputPart) -> None:
        self._reported_bytes += sum(file.written_end - file.reported for file in part.files)
        tokens, token_bytes = part.tokens.written, self._encoding.token_bytes
        path = part.tokens.path
        name = self._names.file(part.split, part.shard, self.sharded)
        self._finishing[str(path)] = FileRecord(name, path.name, part.split, tokens, 0, "")
        self._send(Finish(str(path), part.tokens.written_end, self._format.header(tokens, token_bytes)))
        if part.starts is not None:
            index = path.with_suffix(".index")
            name = self._names.index(part.split, part.shard, self.sharded)
            self._finishing[str(index)] = FileRecord(name, index.name, part.split, 0, 0, "", "index")
            self._send(
                MakeIndex(
                    str(part.starts.path), part.starts.written, str(index), self._format.name, tokens, token_bytes
                )
            )

    def _part(self, split: Split, state: PartState) -> OutputPart:
        path = self._partial / f"{split}_{state.shard:04d}.part"
        header_bytes, token_bytes = self._format.header_bytes, self._encoding.token_bytes
        tokens = self._taken_up(path, header_bytes, token_bytes, state.tokens, state.sha256)
        starts = None
        if self._has_index:
            path = path.with_suffix(".starts")
            starts = self._taken_up(path, 0, START_BYTES, state.starts, state.starts_sha256)
        return OutputPart(split, state.shard, tokens, starts)

    def _taken_up(self, path: Path, header_bytes: int, item_bytes: int, items: int, sha256: str) -> GrowingFile:
        file = GrowingFile.taken_up(path, header_bytes, item_bytes, items)
        self._send(TakeUp(str(path), header_bytes, file.reported, sha256))
        return file
