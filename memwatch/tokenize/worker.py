"""A worker: reads and encodes blocks, and writes their tokens where the coordinator says that they belong.

It goes on with its next block while it waits for the place of the last one.
"""

import errno
import mmap
import os
import time
from array import array
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import Block, BlockLayout, ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import choose
from memwatch.tokenize.feeder import ROW_END_BYTES, ROW_END_TYPE
from memwatch.tokenize.formats.format_registry import has_index
from memwatch.tokenize.inputs.input_source import Checksum, Input
from memwatch.tokenize.messages import (
    BatchTask,
    BlockFailed,
    Encoded,
    Footers,
    FootersTask,
    ReadTask,
    Ready,
    SampledTokens,
    SampleTask,
    Shrink,
    SlotTask,
    WorkerBroken,
    WriteFailed,
    WritePlace,
    Written,
    receive,
    send,
)
from memwatch.tokenize.pagecache import STEP_BYTES
from memwatch.tokenize.plan import WORST_GROWTH_BYTES, longest_document_bytes, may_grow
from memwatch.tokenize.rss import release_free_memory, rss_bytes
from memwatch.tokenize.segment_encoder import (
    BadInput,
    EngineFailed,
    OpenFiles,
    Piece,
    encode_block,
    encode_segment,
    encode_slice,
)
from memwatch.tokenize.settings import DEFAULT_BLOCK_BYTES, TokenizeSettings
from memwatch.tokenize.shuffle_order import key_of, shuffled
from memwatch.tokenize.sizing import expected_marks
from memwatch.tokenize.vocabulary import Encoding

# A new engine takes 0.1 s, so it must have been worth it.
LEAST_GROWTH_BYTES = 8 * MIB
# Tokens and document starts of both splits.
OPEN_OUTPUTS = 4


class EncodedBlock:
    """The tokens of a block, by side of the split, and what is reported of it."""

    def __init__(self, dtype: np.dtype[Any], has_index: bool = False) -> None:
        self.dtype = dtype
        self._has_index = has_index
        self._slice: int | None = None
        self._records_before_slice = 0
        self._parts: dict[str, list[npt.NDArray[Any]]] = {"train": [], "val": []}
        self._starts: dict[str, list[npt.NDArray[Any]]] = {"train": [], "val": []}
        self.val_ranges: list[tuple[int, int, int]] = []
        self.mark: tuple[int, dict[str, Any]] | None = None
        self.after: ReadPosition | None = None
        self.text_bytes = self.documents = self.missing_texts = self.replaced_bytes = self.inexact_cuts = 0
        self.records = 0
        self.bad: list[tuple[str, int, str]] = []
        self._checksum = Checksum()
        self.read_range: tuple[Input, int, int] | None = None  # of a plain input
        self.file_position = self._base = 0
        self.reading_s = self.encoding_s = 0.0

    def add(self, piece: Piece) -> None:
        block = piece.block
        if self.after is None and block.layout.kind in ("rows", "long row"):
            self._base = block.start.offset  # How much text comes before these rows is not known here.
        start, after = block.start.offset - self._base, block.after.offset - self._base
        if block.split == "val":
            self.val_ranges.append((block.start.input, start, after))
        elif not block.layout.continues and self.mark is None:
            self.mark = (self.tokens("train"), {**block.start.as_json(), "offset": start})
        if len(piece.counts.starts):
            self._starts[block.split].append(piece.counts.starts + self.tokens(block.split))
        self._parts[block.split].append(piece.tokens.astype(self.dtype))
        self._checksum.update(block.data)
        name, records = block.name, self.records - self._records_before_slice
        if self._slice is not None:  # Lines before a slice are not counted.
            name = f"{name}, slice at {self._slice}"
        self.bad += [(name, records + number, problem) for number, problem in piece.counts.bad]
        self.records += piece.counts.records
        self.text_bytes += block.length
        self.documents += piece.counts.documents
        self.missing_texts += piece.counts.missing_texts
        self.replaced_bytes += piece.counts.replaced_bytes
        self.inexact_cuts += block.inexact
        self.after = block.after
        self.file_position = block.file_position
        self.reading_s += piece.reading_s
        self.encoding_s += piece.encoding_s

    def tokens(self, split: str) -> int:
        return sum(len(part) for part in self._parts[split])

    def data(self, split: str, start: int, end: int) -> list[memoryview]:
        """Bytes of the tokens from one place among them to another, in the parts in which they were made."""
        found, at = [], 0
        for part in self._parts[split]:
            if at < end and at + part.nbytes > start:
                found.append(part.data.cast("B")[max(start - at, 0) : end - at])
            at += part.nbytes
        return found

    def nbytes(self, split: str) -> int:
        return self.tokens(split) * self.dtype.itemsize

    def starts(self, split: str) -> npt.NDArray[np.uint32]:
        parts = self._starts[split]
        return np.concatenate(parts).astype("<u4") if parts else np.empty(0, "<u4")

    def _packed_starts(self, split: str) -> bytes:
        return self.starts(split).tobytes() if self._has_index else b""

    def shuffle_train(self, key: int, open_end: bool = False) -> None:
        """Put the documents for training into another order."""
        tokens = self._parts["train"]
        if tokens:
            together = tokens[0] if len(tokens) == 1 else np.concatenate(tokens)
            together, starts = shuffled(together, self.starts("train"), open_end, key)
            self._parts["train"], self._starts["train"] = [together], [starts]

    def begin_slice(self, begin: int) -> None:
        self._slice, self._records_before_slice = begin, self.records

    def ends_batch(self, task: BatchTask) -> None:
        """All slices are in. Their places in the text say nothing about the place of this block."""
        self.after = ReadPosition(task.slices[-1][0], turn=task.turn_after)
        self.file_position = task.file_bytes
        self.mark = (0, {**ReadPosition(task.slices[-1][0], turn=task.turn).as_json(), "offset": 0})

    def report(self, number: int, slot: int | None) -> Encoded:
        after = {} if self.after is None else self.after.as_json()
        return Encoded(
            number, slot, self.tokens("train"), self.tokens("val"), self.text_bytes, self.file_position, self.documents,
            self.missing_texts, self.replaced_bytes, self.inexact_cuts, self.records, tuple(self.bad),
            self._checksum.hex, tuple(self.val_ranges), self.mark, after, self.reading_s, self.encoding_s,
            self._packed_starts("train"), self._packed_starts("val"),
        )  # fmt: skip


def add_batch(
    block: EncodedBlock,
    task: BatchTask,
    opener: BlockOpener,
    encoder: BlockEncoder,
    files: OpenFiles,
    after_piece: Callable[[], None],
) -> None:
    """Fill a block with the documents of a batch, shuffled. Also called by `memwatch verify`."""
    for part in task.slices:
        block.begin_slice(part[1])
        for piece in encode_slice(opener, encoder, part, files, DEFAULT_BLOCK_BYTES):
            block.add(piece)
            after_piece()
    block.shuffle_train(key_of(opener.settings.shuffle or 0, task.turn))
    block.ends_batch(task)


class Worker:
    def __init__(
        self,
        connection: Connection,
        slots: list[mmap.mmap],
        opener: BlockOpener,
        encoder: BlockEncoder,
        encoding: Encoding,
        budget_bytes: int,
        block_bytes: int,
    ) -> None:
        self._connection = connection
        self._slots = slots
        self._opener = opener
        self._encoder = encoder
        self._encoding = encoding
        self._dtype = np.dtype(encoding.dtype).newbyteorder("<")
        self._budget_bytes = budget_bytes
        self._block_bytes = block_bytes
        self._files = OpenFiles()
        self._outputs: dict[str, int] = {}
        self._tasks: deque[ReadTask | SlotTask | BatchTask] = deque()
        self._seed = opener.settings.shuffle
        self._has_index = has_index(opener.settings)
        self._held: dict[int, EncodedBlock] = {}
        self._held_bytes = 0
        self._waiting_s = 0.0
        self._renewed_bytes = self._used_bytes()

    def work(self) -> None:
        while True:
            while not self._tasks or self._connection.poll():
                began_s = time.monotonic()
                message = receive(self._connection)
                if not self._tasks:
                    self._waiting_s += time.monotonic() - began_s
                self._take(message)
            self._encode(self._tasks.popleft())

    def _take(self, message: object) -> None:
        match message:
            case ReadTask() as task:
                source = self._opener.inputs[task.input]
                if self._tasks and source.is_plain:
                    self._files.get(source).read_ahead(task.begin, task.end)
                self._tasks.append(task)
            case SlotTask() | BatchTask() as task:
                self._tasks.append(task)
            case WritePlace() as place:
                self._write(place)
            case Shrink(memory_budget_bytes):
                self._budget_bytes = memory_budget_bytes
                self._renew()
            case FootersTask(number):
                send(self._connection, self._footers(number))
            case SampleTask():
                marks = expected_marks(self._opener, self._encoding, self._encoder)
                send(self._connection, SampledTokens(marks))

    def _encode(self, task: ReadTask | SlotTask | BatchTask) -> None:
        block = EncodedBlock(self._dtype, self._has_index)
        try:
            if isinstance(task, BatchTask):
                add_batch(block, task, self._opener, self._encoder, self._files, self._keep_budget)
            elif isinstance(task, ReadTask):
                for piece in encode_segment(self._opener, self._encoder, task, self._files, self._block_bytes):
                    block.add(piece)
                    self._keep_budget()
                self._note_range(block, task)
            else:
                block.add(self._slot_piece(task))
                if self._seed is not None:
                    at = ReadPosition.from_json(task.start)
                    key = key_of(self._seed, at.input, at.row_group, at.row, at.offset)
                    block.shuffle_train(key, task.open_end)
                self._keep_budget()
        except BadInput as error:
            send(self._connection, BlockFailed(task.number, str(error)))
            return
        except EngineFailed as error:
            send(self._connection, BlockFailed(task.number, str(error), is_broken=True))
            return
        self._held[task.number] = block
        self._held_bytes += block.nbytes("train") + block.nbytes("val")
        send(self._connection, block.report(task.number, task.slot if isinstance(task, SlotTask) else None))

    def _note_range(self, block: EncodedBlock, task: ReadTask) -> None:
        """What was read is dropped from the page cache when the block has its place. In memory mode that is at the end
        of the run: there each worker drops what it has read itself, and no more."""
        source = self._opener.inputs[task.input]
        if not source.is_plain:
            return
        if self._opener.settings.mode == "memory":
            self._files.forget(source, task.begin + STEP_BYTES, task.end)
        else:
            block.read_range = (source, task.begin, task.end)

    def _slot_piece(self, task: SlotTask) -> Piece:
        slot = self._slots[task.slot]
        ends = array(ROW_END_TYPE, slot[task.length : task.length + ROW_END_BYTES * task.rows])
        layout = BlockLayout(task.kind, task.continues, task.open_end, ends, task.missing_rows)  # type: ignore[arg-type]
        start, after = ReadPosition.from_json(task.start), ReadPosition.from_json(task.after)
        data = slot[: task.length]
        block = Block(data, layout, task.split, task.inexact, start, after, task.file_position, task.name)
        began_s = time.monotonic()
        source = self._opener.inputs[start.input]
        tokens, counts = encode_block(self._encoder, block, source, task.lines_before)
        return Piece(block, tokens, counts, 0.0, time.monotonic() - began_s)

    def _write(self, place: WritePlace) -> None:
        began_s = time.monotonic()
        block = self._held.pop(place.number)
        if block.read_range is not None:
            # Places are given in order, so nobody has to read this or anything before it. When it was encoded, another
            # worker was still reading the blocks before it: dropped too early, they were read from disk again.
            self._files.forget(*block.read_range)
        for split, places in (("train", place.train), ("val", place.val)):
            self._held_bytes -= block.nbytes(split)
            for path, offset, start, end in places:
                try:
                    for data in block.data(split, start, end):
                        offset += _write_at(self._output(path), data, offset)
                except OSError as error:
                    send(self._connection, WriteFailed(error.errno or errno.EIO, path))
                    return
        for split, starts in (("train", place.train_starts), ("val", place.val_starts)):
            for path, offset, first, last, added in starts:
                positions = block.starts(split)[first:last].astype("<i8") + added
                try:
                    _write_at(self._output(path), positions.data.cast("B"), offset)
                except OSError as error:
                    send(self._connection, WriteFailed(error.errno or errno.EIO, path))
                    return
        send(self._connection, Written(place.number, time.monotonic() - began_s, self._waiting_s))
        self._waiting_s = 0.0

    def _output(self, path: str) -> int:
        """An open file to write to. A shard that is full is never written again."""
        if path not in self._outputs:
            while len(self._outputs) >= OPEN_OUTPUTS:
                os.close(self._outputs.pop(next(iter(self._outputs))))
            self._outputs[path] = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        return self._outputs[path]

    def _keep_budget(self) -> None:
        used = self._used_bytes()
        engine = self._encoder.engine
        if used - self._renewed_bytes <= LEAST_GROWTH_BYTES or may_grow(engine, used, self._budget_bytes):
            return
        # pyarrow leaves much that is free in the heap; to hand it back each time would cost more than to decode.
        release_free_memory()
        self._renewed_bytes = self._used_bytes()
        if not may_grow(engine, self._renewed_bytes, self._budget_bytes):
            self._renew()

    def _renew(self) -> None:
        self._encoder.engine.renew()
        self._renewed_bytes = self._used_bytes()

    def _used_bytes(self) -> int:
        return (rss_bytes(os.getpid()) or 0) - self._held_bytes

    def _footers(self, number: int) -> Footers:
        from memwatch.tokenize.inputs.row_reader import open_rows

        try:
            rows = open_rows(self._opener.inputs[number], self._opener.settings.text_column)
            try:
                return Footers(number, tuple(rows.group_sizes()))
            finally:
                rows.close()
        except MemwatchError as error:
            return Footers(number, (), str(error))


def _write_at(fd: int, data: memoryview, offset: int) -> int:
    """Returns how much that was."""
    left = data
    while left:
        written = os.pwrite(fd, left, offset)
        left, offset = left[written:], offset + written
    return len(data)


def main(
    connection: Connection,
    slots: list[mmap.mmap],
    opener: BlockOpener,
    settings: TokenizeSettings,
    encoding: Encoding,
    ranks: Path,
    wanted_engine: str,
    check_engine: bool,
    budget_bytes: int,
    block_bytes: int,
) -> None:
    try:
        chosen = choose(wanted_engine, encoding, ranks, check_engine)
        send(connection, Ready(f"{chosen.engine.name} {chosen.engine.version}", chosen.note))
        encoder = BlockEncoder(chosen.engine, encoding, settings)
        free_bytes = budget_bytes + WORST_GROWTH_BYTES - (rss_bytes(os.getpid()) or 0)
        encoder.longest_document_bytes = longest_document_bytes(encoding, chosen.engine.name, free_bytes)
        Worker(connection, slots, opener, encoder, encoding, budget_bytes, block_bytes).work()
    except (EOFError, ConnectionError):
        pass  # The coordinator has gone, or closed the connection: nothing is left to do.
    except MemwatchError as error:
        send(connection, WorkerBroken(str(error)))
    except Exception as error:
        send(connection, WorkerBroken(f"a worker failed: {type(error).__name__}: {error}"))
