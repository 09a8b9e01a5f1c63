"""The feeder: a process that reads what can only be read from the front, and puts it in blocks into slots of shared
memory, from which the workers encode it. Packed files, standard input, and very large row groups of parquet are fed.
"""

import mmap
from array import array
from multiprocessing.connection import Connection

from memwatch.errors import MemwatchError
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import Block, BlockLayout, BlockSource, ReadPosition
from memwatch.tokenize.messages import BlockFailed, Feed, FeedEnded, Fill, SlotTask, receive, send

ROW_END_TYPE = "q"
ROW_END_BYTES = 8


def _row_ends(layout: BlockLayout) -> "array[int]":
    ends = layout.row_ends
    return array(ROW_END_TYPE, ends if isinstance(ends, tuple) else ends.tolist())  # type: ignore[union-attr]


class Feeder:
    def __init__(self, connection: Connection, slots: list[mmap.mmap], opener: BlockOpener) -> None:
        self._connection = connection
        self._slots = slots
        self._opener = opener
        self._blocks: BlockSource | None = None
        self._position = ReadPosition()
        self._block_bytes = 0
        self._lines = 0
        self._next: Block | None = None

    def work(self) -> None:
        while True:
            match receive(self._connection):
                case Feed(start, stop_group, block_bytes):
                    self._open(ReadPosition.from_json(start), stop_group, block_bytes)
                case Fill(slot):
                    self._fill(slot)

    def _open(self, start: ReadPosition, stop_group: int | None, block_bytes: int) -> None:
        self._position, self._block_bytes = start, block_bytes
        self._lines = start.lines
        try:
            is_rows = self._opener.inputs[start.input].has_rows
            self._blocks = self._opener.open_rows(start, stop_group) if is_rows else self._opener.open(start)
        except MemwatchError as error:
            self._blocks = None
            send(self._connection, BlockFailed(-1, str(error)))

    def _fill(self, slot: int) -> None:
        if self._blocks is None:
            send(self._connection, FeedEnded(slot))
            return
        try:
            block = self._blocks.next(self._position, self._block_bytes)
        except MemwatchError as error:
            send(self._connection, BlockFailed(-1, str(error)))
            return
        if block is None:
            self._blocks.close()
            self._blocks = None
            send(self._connection, FeedEnded(slot))
            return
        send(self._connection, self._task(block, slot))
        self._position = block.after

    def _task(self, block: Block, slot: int) -> SlotTask:
        length, layout = len(block.data), block.layout
        ends = _row_ends(layout).tobytes()
        self._slots[slot][:length] = bytes(block.data)
        self._slots[slot][length : length + len(ends)] = ends
        lines = self._lines = self._lines if block.start.member == self._position.member else 0
        if layout.kind in ("jsonl", "json"):
            self._lines += bytes(block.data).count(b"\n")
        return SlotTask(
            -1, slot, length, layout.kind, layout.continues, layout.open_end, len(layout.row_ends),
            layout.missing_rows, block.split, block.inexact, block.start.as_json(), block.after.as_json(),
            block.file_position, block.name, lines,
        )  # fmt: skip
