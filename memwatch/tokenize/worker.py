"""A worker: reads and encodes blocks, and writes their tokens where the coordinator says that they belong.

It goes on with its next block while it waits for the place of the last one.
"""

import errno
import mmap
import os
import time
from array import array
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.blocks import Block, BlockLayout, BlockOpener, ReadPosition
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engines import choose
from memwatch.tokenize.feeder import ROW_END_BYTES, ROW_END_TYPE
from memwatch.tokenize.inputs.checksum import Checksum
from memwatch.tokenize.messages import (
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
from memwatch.tokenize.rss import release_free_memory, rss_bytes
from memwatch.tokenize.segment_encoder import BadInput, EngineFailed, OpenFiles, Piece, encode_block, encode_segment
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.sizing import expected_marks
from memwatch.tokenize.vocabulary import Encoding

# A new engine takes 0.1 s, so it must have been worth it.
LEAST_GROWTH_BYTES = 8 * MIB


class EncodedBlock:
    """The tokens of a block, by side of the split, and what is reported of it."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._parts: dict[str, list[npt.NDArray[Any]]] = {"train": [], "val": []}
        self.val_ranges: list[tuple[int, int]] = []
        self.mark: tuple[int, dict[str, Any]] | None = None
        self.after: ReadPosition | None = None
        self.text_bytes = self.documents = self.missing_texts = self.replaced_bytes = self.inexact_cuts = 0
        self.records = 0
        self.bad: list[tuple[str, int, str]] = []
        self._checksum = Checksum()
        self.file_position = self._base = 0
        self.reading_s = self.encoding_s = 0.0

    def add(self, piece: Piece) -> None:
        block = piece.block
        if self.after is None and block.layout.kind == "rows":
            self._base = block.start.offset  # How much text comes before these rows is not known here.
        start, after = block.start.offset - self._base, block.after.offset - self._base
        if block.split == "val":
            self.val_ranges.append((start, after))
        elif not block.layout.continues and self.mark is None:
            self.mark = (self.tokens("train"), {**block.start.as_json(), "offset": start})
        self._parts[block.split].append(piece.tokens.astype(self._dtype))
        self._checksum.update(block.data)
        self.bad += [(block.name, self.records + number, problem) for number, problem in piece.counts.bad]
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

    def data(self, split: str) -> memoryview:
        parts = self._parts[split]
        if len(parts) > 1:
            self._parts[split] = parts = [np.concatenate(parts)]
        return parts[0].data.cast("B") if parts and len(parts[0]) else memoryview(b"")

    def report(self, number: int, slot: int | None) -> Encoded:
        after = {} if self.after is None else self.after.as_json()
        return Encoded(
            number, slot, self.tokens("train"), self.tokens("val"), self.text_bytes, self.file_position, self.documents,
            self.missing_texts, self.replaced_bytes, self.inexact_cuts, self.records, tuple(self.bad),
            self._checksum.hex, tuple(self.val_ranges), self.mark, after, self.reading_s, self.encoding_s,
        )  # fmt: skip


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
        self._tasks: deque[ReadTask | SlotTask] = deque()
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
            case SlotTask() as task:
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

    def _encode(self, task: ReadTask | SlotTask) -> None:
        block = EncodedBlock(self._dtype)
        try:
            if isinstance(task, ReadTask):
                for piece in encode_segment(self._opener, self._encoder, task, self._files, self._block_bytes):
                    block.add(piece)
                    self._keep_budget()
            else:
                block.add(self._slot_piece(task))
                self._keep_budget()
        except BadInput as error:
            send(self._connection, BlockFailed(task.number, str(error)))
            return
        except EngineFailed as error:
            send(self._connection, BlockFailed(task.number, str(error), is_broken=True))
            return
        self._held[task.number] = block
        self._held_bytes += len(block.data("train")) + len(block.data("val"))
        send(self._connection, block.report(task.number, task.slot if isinstance(task, SlotTask) else None))

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
        for split, places in (("train", place.train), ("val", place.val)):
            data = block.data(split)
            self._held_bytes -= len(data)
            for path, offset, start, end in places:
                try:
                    _write_at(self._output(path), data[start:end], offset)
                except OSError as error:
                    send(self._connection, WriteFailed(error.errno or errno.EIO, path))
                    return
        send(self._connection, Written(place.number, time.monotonic() - began_s, self._waiting_s))
        self._waiting_s = 0.0

    def _output(self, path: str) -> int:
        """An open file to write to. Two are enough: a shard that is full is never written again."""
        if path not in self._outputs:
            for old in list(self._outputs)[:-1]:
                os.close(self._outputs.pop(old))
            self._outputs[path] = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        return self._outputs[path]

    def _keep_budget(self) -> None:
        used = self._used_bytes()
        if used > self._budget_bytes and used - self._renewed_bytes > LEAST_GROWTH_BYTES:
            # pyarrow leaves much that is free in the heap; to hand it back each time would cost more than to decode.
            release_free_memory()
            self._renewed_bytes = self._used_bytes()
            if self._renewed_bytes > self._budget_bytes:
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


def _write_at(fd: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written


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
        Worker(connection, slots, opener, encoder, encoding, budget_bytes, block_bytes).work()
    except (EOFError, ConnectionError):
        pass  # The coordinator has gone, or closed the connection: nothing is left to do.
    except MemwatchError as error:
        send(connection, WorkerBroken(str(error)))
    except Exception as error:
        send(connection, WorkerBroken(f"a worker failed: {type(error).__name__}: {error}"))
