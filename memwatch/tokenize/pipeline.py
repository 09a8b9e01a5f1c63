"""Drives a run: hands out work, gives blocks their places in order, and remembers where the run stands.

One thread, one loop, and no byte of text or tokens passes through it. Workers read and encode; the coordinator adds up
token counts in the order of the input and answers with a place (block_order.py); workers write there. What is written
without a gap before it is counted, hashed and written to disk by the hasher, and every few seconds a checkpoint
describes it (checkpointing.py).
"""

import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass

from memwatch.errors import Interrupted, MemwatchError
from memwatch.job import Channel
from memwatch.tokenize.block_order import BlockOrder
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Totals
from memwatch.tokenize.checkpointing import Checkpointing
from memwatch.tokenize.crew import Crew, CrewMember
from memwatch.tokenize.crew_size import CrewSize
from memwatch.tokenize.feeder import FedBlocks
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.messages import (
    BatchTask,
    BlockFailed,
    Encoded,
    Feed,
    FeedEnded,
    Finished,
    Footers,
    FootersTask,
    Hashed,
    HashFailed,
    Message,
    ReadTask,
    Ready,
    SlotTask,
    Synced,
    WorkerBroken,
    WriteFailed,
    Written,
)
from memwatch.tokenize.output_state import OutputState
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.progress_report import Meter, ProgressReporter
from memwatch.tokenize.shuffled_source import ShuffledSource
from memwatch.tokenize.tally import Tally
from memwatch.tokenize.task_source import TaskSource

DRAIN_S = 10.0


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """Sizes and limits that the session chooses for a run."""

    block_bytes: int
    task_bytes: int
    held_bytes: int | None  # in memory mode: switch to shards beyond this
    bad_limit: str  # the share of records that may be skipped
    shuffle_seed: int | None = None


class Pipeline:
    """The session calls `run`, then `finish`. `save_checkpoint` writes one to disk; `has_room` returns whether all
    workers would fit into memory; `holds`: memory mode, in which tokens are written at the end."""

    def __init__(
        self,
        inputs: list[Input],
        start: ReadPosition,
        crew: Crew,
        outputs: Outputs,
        totals: Totals,
        limits: PipelineLimits,
        signals: Signals,
        channel: Channel | None,
        meter: Meter,
        save_checkpoint: Callable[[ReadPosition, Totals, OutputState], None],
        has_room: Callable[[], bool],
        holds: bool,
    ) -> None:
        self._crew = crew
        self._outputs = outputs
        self._held_limit_bytes = limits.held_bytes
        self._signals = signals
        self._channel = channel
        self._tally = Tally(inputs, start, totals, limits.bad_limit, limits.shuffle_seed is not None)
        self._tasks: TaskSource | ShuffledSource = (
            TaskSource(inputs, start, limits.task_bytes, limits.block_bytes, self._request_footers)
            if limits.shuffle_seed is None
            else ShuffledSource(inputs, start, limits.shuffle_seed, self._request_footers)
        )
        self._order = BlockOrder(outputs, self._tally, holds)
        self._fed = FedBlocks(crew, limits.block_bytes, self._watch)
        self._crew_size = CrewSize(crew, self._tasks, self._watch, self._unwatch, has_room)
        self._checkpoints = Checkpointing(self._tally, outputs, save_checkpoint)
        self._progress = ProgressReporter(channel, meter, totals, crew, outputs)
        self._selector = selectors.DefaultSelector()
        for member in crew.members:
            self._watch(member)
        self._selector.register(signals.wakeup, selectors.EVENT_READ)
        if channel is not None and channel.is_open:
            self._selector.register(channel, selectors.EVENT_READ, channel)

    def run(self) -> None:
        """Work to the end of the inputs. Raises Interrupted at a request to stop, with everything kept."""
        self._signals.patient = True
        if self._crew.note is not None:
            self._progress.note(self._crew.note)
        self._progress.report()
        while not self._is_done():
            self._assign()
            self._wait()
            self._take_requests()
            self._keep_time()
        self._write_held()
        while not self._order.is_all_written:
            self._wait()
            self._keep_time()

    def finish(self) -> None:
        """Complete all files. Nothing else can change any more, so there is no further checkpoint."""
        self._outputs.finish()
        while not self._outputs.is_finished:
            self._wait()
            self._report_if_due()
        self._progress.measure()
        self._progress.report()

    @property
    def position(self) -> ReadPosition:
        """Up to where the inputs were read and counted."""
        return self._tally.position

    def _is_done(self) -> bool:
        if not self._order.is_idle or not self._fed.is_empty:
            return False
        if self._fed.failure is not None:
            raise MemwatchError(self._fed.failure)
        return self._tasks.ended and not self._fed.is_feeding

    # Handing out work

    def _assign(self) -> None:
        while (member := self._crew.least_busy()) is not None and (task := self._next_task()) is not None:
            self._order.assign(task.number, member)
            member.send(task)

    def _next_task(self) -> ReadTask | BatchTask | SlotTask | None:
        if (fed := self._fed.next()) is not None:
            return fed
        while not self._fed.is_feeding and self._fed.failure is None:
            task = self._tasks.next()
            if not isinstance(task, Feed):
                return task
            self._fed.start(task)
        return None

    def _request_footers(self, number: int) -> None:
        self._crew.workers[number % len(self._crew.workers)].send(FootersTask(number))

    # Messages

    def _watch(self, member: CrewMember) -> None:
        self._selector.register(member.connection, selectors.EVENT_READ, member)

    def _unwatch(self, member: CrewMember) -> None:
        self._selector.unregister(member.connection)

    def _wait(self) -> None:
        due_s = min(self._checkpoints.due_s, self._progress.due_s)
        for key, _ in self._selector.select(max(due_s - time.monotonic(), 0)):
            if isinstance(key.data, CrewMember):
                self._take(key.data, key.data.receive())
            elif key.data is self._channel and self._channel is not None:
                self._read_commands(self._channel)
        self._order.place()

    def _take(self, member: CrewMember, message: Message) -> None:
        match message:
            case Encoded():
                self._order.take(message)
                if message.slot is not None:
                    self._fed.release(message.slot, message.text_bytes)
            case Written():
                if self._order.take_written(member, message):
                    self._checkpoint()
                self._crew_size.dismiss_if_done(member)
            case SlotTask():
                self._fed.add(message._replace(number=self._tasks.next_number()))
            case BlockFailed(number, problem):
                if number < 0:
                    self._fed.fail(problem)
                else:
                    self._order.take(message)
            case FeedEnded(slot):
                self._fed.end(slot)
            case Ready():
                member.is_ready = True
            case Footers():
                self._tasks.take(message)
            case Hashed() | Finished():
                self._outputs.take(message)
            case Synced(sha256):
                self._checkpoints.finish(sha256)
            case WriteFailed(error_number, path):
                raise OSError(error_number, os.strerror(error_number), path)
            case HashFailed(problem, error_number):
                if error_number is not None:
                    raise OSError(error_number, problem)
                raise MemwatchError(problem)
            case WorkerBroken(problem):
                raise MemwatchError(problem)

    # Requests

    def _read_commands(self, channel: Channel) -> None:
        for message in channel.receive():
            if message.get("command") == "shard":
                self._signals.shard = True
        if not channel.is_open:
            self._selector.unregister(channel)

    def _take_requests(self) -> None:
        self._signals.drain()
        if self._channel is not None and not self._channel.is_open:
            # The guard has exited. To continue unseen would keep the folder locked against the next attempt.
            self._stop("the guard of this job has exited")
        if self._signals.stop is not None:
            self._stop("stopped", self._signals.stop)
        limit_bytes = self._held_limit_bytes
        if self._order.holds and limit_bytes is not None and self._order.held_bytes > limit_bytes:
            self._signals.shard = True
        if self._signals.shard:
            self._signals.shard = False
            self._switch_to_shards()

    def _switch_to_shards(self) -> None:
        """Shards from now on, and as little memory as will do."""
        if self._order.holds:
            self._write_held()
        self._outputs.switch_to_shards()
        self._crew_size.reduce()
        self._checkpoint()
        self._progress.note("switched to shards, with one worker and less memory")

    def _stop(self, why: str, number: int = 15) -> None:
        if self._order.holds:
            kept = "no output was written, because memory mode writes at the end: the same command starts over"
        else:
            self._drain()
            self._order.stop_placing()
            self._checkpoint_now()
            kept = f"{self._tally.totals.tokens:,} tokens are kept: repeat the same command to resume"
        raise Interrupted(f"{why}; {kept}", number)

    def _write_held(self) -> None:
        """Have workers write what they hold in memory mode, a little at a time."""
        self._order.stop_holding()
        while self._order.write_held():
            self._wait()
            self._keep_time()
        self._drain()

    def _drain(self) -> None:
        """Wait until all that has its place is written, for some seconds at most."""
        until_s = time.monotonic() + DRAIN_S
        while not self._order.is_all_written and time.monotonic() < until_s:
            self._wait()
            self._report_if_due()

    # Time

    def _keep_time(self) -> None:
        self._report_if_due()
        if time.monotonic() >= self._checkpoints.due_s:
            self._checkpoint()

    def _report_if_due(self) -> None:
        if time.monotonic() >= self._progress.due_s:
            self._progress.measure()
            self._progress.report()
            if self._crew_size.restore():
                self._progress.note("memory is available again: all workers are back, and the output stays in shards")

    def _checkpoint(self) -> None:
        """Have what is written put on disk; the checkpoint is saved when that is done (Synced)."""
        self._checkpoints.put_off()
        if self._order.is_all_counted_written and not self._checkpoints.is_under_way:
            self._progress.measure()
            self._checkpoints.begin()

    def _checkpoint_now(self) -> None:
        while self._checkpoints.is_under_way:
            self._wait()
        self._checkpoint()
        while self._checkpoints.is_under_way:
            self._wait()
