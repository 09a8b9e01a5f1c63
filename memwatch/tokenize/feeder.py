"""The feeder: a process that reads what can only be read from the front, and puts it in blocks into slots of shared
memory, from which the workers encode it. Packed files, standard input, and very large row groups of parquet are fed.

`Feeder` is the process; `FedBlocks` is what the coordinator knows of it.
"""

import mmap
from array import array
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from memwatch.errors import MemwatchError
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import Block, BlockLayout, BlockSource, ReadPosition
from memwatch.tokenize.messages import BlockFailed, Feed, FeedEnded, Fill, SlotTask, receive, send

if TYPE_CHECKING:
    from memwatch.tokenize.crew import Crew, CrewMember  # Which starts the feeder.

ROW_END_TYPE = "q"
ROW_END_BYTES = 8


def _row_ends(layout: BlockLayout) -> "array[int]":
    ends = layout.row_ends
    return array(ROW_END_TYPE, ends if isinstance(ends, tuple) else ends.tolist())  # type: ignore[union-attr]


class Feeder:
    """Answers each `Fill` with a block in that slot, or with `FeedEnded`."""

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
        """Until the coordinator closes the connection."""
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


class FedBlocks:
    """Which slots are free, what the feeder has read and nobody encodes yet, and whether it has more.

    `watch` is called with the feeder's process when it is started, to receive what it sends.
    """

    def __init__(self, crew: "Crew", block_bytes: int, watch: "Callable[[CrewMember], None]") -> None:
        self._crew = crew
        self._large_bytes = 4 * block_bytes
        self._watch = watch
        self._free_slots = deque(range(crew.slots))
        self._blocks: deque[SlotTask] = deque()
        self.is_feeding = False
        self.failure: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self._blocks

    def start(self, feed: Feed) -> None:
        """Have the feeder read a segment, into all slots that are free."""
        if self._crew.feeder is None:
            self._watch(self._crew.start_feeder())
        assert self._crew.feeder is not None
        self.is_feeding = True
        self._crew.feeder.send(feed)
        while self._free_slots:
            self._crew.feeder.send(Fill(self._free_slots.popleft()))

    def add(self, block: SlotTask) -> None:
        """The feeder has filled a slot."""
        self._blocks.append(block)

    def next(self) -> SlotTask | None:
        """The next block to encode; None if there is none."""
        return self._blocks.popleft() if self._blocks else None

    def release(self, slot: int, length: int) -> None:
        """A block of this length was encoded. Of a large one the slot's memory is given back."""
        if length > self._large_bytes:
            self._crew.empty_slot(slot)
        if self.is_feeding and self._crew.feeder is not None:
            self._crew.feeder.send(Fill(slot))
        else:
            self._free_slots.append(slot)

    def end(self, slot: int) -> None:
        """The feeder has read all of a segment and did not need this slot."""
        self.is_feeding = False
        self._free_slots.append(slot)

    def fail(self, problem: str) -> None:
        """The feeder cannot read on. What was read before is still encoded."""
        self.failure, self.is_feeding = problem, False
