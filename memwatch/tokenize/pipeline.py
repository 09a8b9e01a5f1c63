"""Drives a run: hands out work, gives blocks their places in order, and remembers where the run stands.

One thread, one loop, and no byte of text or tokens passes through it. Workers read and encode; the coordinator adds up
token counts in the order of the input and answers with a place; workers write there. What is written without a gap
before it is counted, hashed and written to disk by the hasher, and every few seconds a checkpoint describes it.
"""

import os
import selectors
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memwatch.errors import Broken, Interrupted, MemwatchError
from memwatch.job import Channel
from memwatch.model.units import MIB
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Totals
from memwatch.tokenize.crew import Crew, CrewMember
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.messages import (
    BatchTask,
    BlockFailed,
    Encoded,
    Feed,
    FeedEnded,
    Fill,
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
    WritePlace,
    Written,
)
from memwatch.tokenize.output_state import OutputState
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.progress_report import Meter, time_shares
from memwatch.tokenize.settings import FLOOR_BLOCK_BYTES
from memwatch.tokenize.shuffled_source import ShuffledSource
from memwatch.tokenize.tally import Tally
from memwatch.tokenize.task_source import TaskSource

CHECKPOINT_INTERVAL_S = 4.0
PROGRESS_INTERVAL_S = 1.0
# A checkpoint that takes long, because it has much to say, comes less often.
CHECKPOINT_SHARE = 0.02
# Of what is written; the pages of the rest wait in the page cache.
MOST_UNHASHED_BYTES = 256 * MIB
# To a worker that writes out what it holds.
MOST_PLACES_UNDER_WAY = 64
DRAIN_S = 10.0
# After a switch, memory must be available for so long before workers come back.
ROOM_FOR_S = 30.0


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    block_bytes: int
    task_bytes: int
    held_bytes: int | None  # in memory mode: switch to shards beyond this
    bad_limit: str  # the share of records that may be skipped
    shuffle_seed: int | None = None


class Pipeline:
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
        self._limits = limits
        self._signals = signals
        self._channel = channel
        self._meter = meter
        self._save_checkpoint = save_checkpoint
        self._has_room = has_room
        self._tally = Tally(inputs, start, totals, limits.bad_limit, limits.shuffle_seed is not None)
        self._tasks: TaskSource | ShuffledSource = (
            TaskSource(inputs, start, limits.task_bytes, limits.block_bytes, self._request_footers)
            if limits.shuffle_seed is None
            else ShuffledSource(inputs, start, limits.shuffle_seed, self._request_footers)
        )
        # Blocks by number: who has them, what came back before its turn, and what was placed and is not written yet.
        self._owners: dict[int, CrewMember] = {}
        self._early: dict[int, Encoded | BlockFailed] = {}
        self._placed: dict[int, Encoded] = {}
        self._written: set[int] = set()
        self._next_to_place = 0
        self._next_to_count = 0
        # What the feeder has read and nobody encodes yet; slots that it may fill; whether it has more.
        self._fed: deque[SlotTask] = deque()
        self._free_slots = deque(range(crew.slots))
        self._is_feeding = False
        self._feed_failure: str | None = None
        # In memory mode: places of tokens that workers hold, in order.
        self._held: deque[tuple[CrewMember, WritePlace]] | None = deque() if holds else None
        self._held_bytes = 0
        self._is_at_floor = False
        self._room_since_s: float | None = None
        self._is_saving: tuple[ReadPosition, Totals] | None = None
        self._seconds_before = totals.seconds
        self._started_s = self._checkpointed_s = self._reported_s = time.monotonic()
        self._checkpoint_interval_s = CHECKPOINT_INTERVAL_S
        self._selector = selectors.DefaultSelector()
        for member in crew.members:
            self._selector.register(member.connection, selectors.EVENT_READ, member)
        self._selector.register(signals.wakeup, selectors.EVENT_READ)
        if channel is not None and channel.is_open:
            self._selector.register(channel, selectors.EVENT_READ, channel)

    @property
    def _totals(self) -> Totals:
        return self._tally.totals

    def run(self) -> None:
        """Work to the end of the inputs. Raises Interrupted when asked to stop, with everything kept."""
        self._signals.patient = True
        if self._crew.note is not None:
            self._send_note(self._crew.note)
        self._report()
        while not self._is_done():
            self._assign()
            self._wait()
            self._take_requests()
            self._keep_time()
        self._release_held()
        self._drain()

    def finish(self) -> None:
        """Complete all files. Nothing else can change any more, so there is no further checkpoint."""
        self._outputs.finish()
        while not self._outputs.is_finished:
            self._wait()
            self._report_if_due()
        self._note_resources()
        self._report()

    @property
    def position(self) -> ReadPosition:
        return self._tally.position

    def _is_done(self) -> bool:
        if self._feed_failure is not None and not self._owners and not self._fed:
            raise MemwatchError(self._feed_failure)
        return self._tasks.ended and not self._is_feeding and not self._fed and not self._owners

    # Handing out work

    def _assign(self) -> None:
        while (member := self._crew.least_busy()) is not None and (task := self._next_task()) is not None:
            self._owners[task.number] = member
            member.tasks += 1
            member.send(task)

    def _next_task(self) -> ReadTask | BatchTask | SlotTask | None:
        if self._fed:
            return self._fed.popleft()
        while not self._is_feeding and self._feed_failure is None:
            task = self._tasks.next()
            if not isinstance(task, Feed):
                return task
            self._start_feeding(task)
        return None

    def _start_feeding(self, feed: Feed) -> None:
        if self._crew.feeder is None:
            feeder = self._crew.start_feeder()
            self._selector.register(feeder.connection, selectors.EVENT_READ, feeder)
        assert self._crew.feeder is not None
        self._is_feeding = True
        self._crew.feeder.send(feed)
        while self._free_slots:
            self._crew.feeder.send(Fill(self._free_slots.popleft()))

    def _release_slot(self, slot: int, length: int = 0) -> None:
        if length > self._limits.block_bytes * 4:
            self._crew.empty_slot(slot)
        if self._is_feeding and self._crew.feeder is not None:
            self._crew.feeder.send(Fill(slot))
        else:
            self._free_slots.append(slot)

    def _request_footers(self, number: int) -> None:
        self._crew.workers[number % len(self._crew.workers)].send(FootersTask(number))

    # Messages

    def _wait(self) -> None:
        due_s = min(self._checkpointed_s + self._checkpoint_interval_s, self._reported_s + PROGRESS_INTERVAL_S)
        for key, _ in self._selector.select(max(due_s - time.monotonic(), 0)):
            if isinstance(key.data, CrewMember):
                self._take(key.data, key.data.receive())
            elif key.data is self._channel and self._channel is not None:
                self._read_commands(self._channel)
        self._place()

    def _take(self, member: CrewMember, message: Message) -> None:
        match message:
            case Encoded():
                self._early[message.number] = message
                if message.slot is not None:
                    self._release_slot(message.slot, message.text_bytes)
            case Written():
                self._take_written(member, message)
            case SlotTask():
                self._fed.append(message._replace(number=self._tasks.next_number()))
            case BlockFailed(number, problem):
                if number < 0:
                    self._feed_failure, self._is_feeding = problem, False
                else:
                    self._early[number] = message
            case FeedEnded(slot):
                self._is_feeding = False
                self._free_slots.append(slot)
            case Ready():
                member.is_ready = True
            case Footers():
                self._tasks.take(message)
            case Hashed() | Finished():
                self._outputs.take(message)
            case Synced(sha256):
                self._save(self._outputs.state_of(sha256))
            case WriteFailed(error_number, path):
                raise OSError(error_number, os.strerror(error_number), path)
            case HashFailed(problem, error_number):
                if error_number is not None:
                    raise OSError(error_number, problem)
                raise MemwatchError(problem)
            case WorkerBroken(problem):
                raise MemwatchError(problem)

    # Places, in order

    def _place(self) -> None:
        while self._outputs.unhashed_bytes < MOST_UNHASHED_BYTES:
            encoded = self._early.pop(self._next_to_place, None)
            if encoded is None:
                return
            if isinstance(encoded, BlockFailed):
                raise Broken(encoded.problem) if encoded.is_broken else MemwatchError(encoded.problem)
            number, member = encoded.number, self._owners[encoded.number]
            starts = encoded.train_starts, encoded.val_starts
            place = WritePlace(number, *self._outputs.place(encoded.train_tokens, encoded.val_tokens, *starts))
            self._placed[number] = encoded
            self._next_to_place += 1
            if self._held is None:
                member.send(place)
            else:
                self._hold(member, place, encoded)

    def _hold(self, member: CrewMember, place: WritePlace, encoded: Encoded) -> None:
        """In memory mode a block counts when it is held; it is written at the end, or at a switch to shards."""
        assert self._held is not None
        self._held.append((member, place))
        self._held_bytes += sum(end - start for _, _, start, end in (*place.train, *place.val))
        self._tally.count(encoded)
        member.tasks -= 1
        del self._owners[encoded.number]

    def _release_held(self) -> None:
        """Have workers write what they hold, a little at a time."""
        held, self._held = self._held, None
        while held:
            while held and len(self._owners) < MOST_PLACES_UNDER_WAY:
                member, place = held.popleft()
                self._owners[place.number] = member
                member.tasks += 1
                member.send(place)
            self._wait()
            self._keep_time()
        self._drain_placed()
        self._held_bytes = 0

    def _take_written(self, member: CrewMember, written: Written) -> None:
        member.tasks -= 1
        del self._owners[written.number]
        self._written.add(written.number)
        self._tally.add_time(written.writing_s, written.waiting_s)
        completed_shard = False
        while self._next_to_count in self._written:
            self._written.remove(self._next_to_count)
            encoded = self._placed.pop(self._next_to_count)
            completed_shard |= self._outputs.wrote()
            self._tally.count(encoded)
            self._next_to_count += 1
        if completed_shard:
            self._checkpoint()
        if member.is_leaving and not member.tasks:
            self._dismiss(member)

    def _drain_placed(self) -> None:
        """Wait until all that has its place is written."""
        until_s = time.monotonic() + DRAIN_S
        while self._placed and self._held is None and time.monotonic() < until_s:
            self._wait()
            self._report_if_due()

    def _drain(self) -> None:
        while self._placed:
            self._wait()
            self._keep_time()

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
        if (
            self._held is not None
            and self._limits.held_bytes is not None
            and self._held_bytes > self._limits.held_bytes
        ):
            self._signals.shard = True
        if self._signals.shard:
            self._signals.shard = False
            self._go_to_floor()

    def _go_to_floor(self) -> None:
        """Shards from now on, and as little memory as will do."""
        if self._held is not None:
            self._release_held()
        self._outputs.switch_to_shards()
        self._crew.shrink()
        self._is_at_floor, self._room_since_s = True, None
        self._tasks.block_bytes = self._tasks.task_bytes = min(FLOOR_BLOCK_BYTES, self._limits.block_bytes)
        for member in [each for each in self._crew.workers if each.is_leaving and not each.tasks]:
            self._dismiss(member)
        self._checkpoint()
        self._send_note("switched to shards, with one worker and less memory")

    def _dismiss(self, member: CrewMember) -> None:
        self._selector.unregister(member.connection)
        self._crew.workers.remove(member)
        member.end()

    def _come_back(self) -> None:
        """After a switch: when there has been room for a while, all workers work again. The shards stay."""
        now = time.monotonic()
        if not self._has_room():
            self._room_since_s = None
        elif self._room_since_s is None:
            self._room_since_s = now
        elif now - self._room_since_s >= ROOM_FOR_S:
            self._is_at_floor = False
            self._tasks.block_bytes, self._tasks.task_bytes = self._limits.block_bytes, self._limits.task_bytes
            self._crew.grow()
            while not self._crew.is_full:
                member = self._crew.hire()
                self._selector.register(member.connection, selectors.EVENT_READ, member)
            self._send_note("memory is available again: all workers are back, and the output stays in shards")

    def _stop(self, why: str, number: int = 15) -> None:
        if self._held is not None:
            kept = "no output was written, because memory mode writes at the end: the same command starts over"
        else:
            self._drain_placed()
            self._checkpoint_now()
            kept = f"{self._totals.tokens:,} tokens are kept: repeat the same command to resume"
        raise Interrupted(f"{why}; {kept}", number)

    # Time

    def _keep_time(self) -> None:
        self._report_if_due()
        if time.monotonic() >= self._checkpointed_s + self._checkpoint_interval_s:
            self._checkpoint()

    def _report_if_due(self) -> None:
        if time.monotonic() >= self._reported_s + PROGRESS_INTERVAL_S:
            self._note_resources()
            self._report()
            if self._is_at_floor:
                self._come_back()

    def _checkpoint(self) -> None:
        """Have what is written put on disk; `_save` follows when that is done."""
        self._checkpointed_s = time.monotonic()
        if self._held is None and self._is_saving is None and self._tally.is_written(self._next_to_count):
            self._note_resources()
            self._is_saving = (self._tally.position, self._tally.snapshot())
            self._outputs.request_state()

    def _save(self, state: OutputState) -> None:
        assert self._is_saving is not None
        position, totals = self._is_saving
        self._is_saving = None
        began_s = time.monotonic()
        self._save_checkpoint(position, totals, state)
        took_s = time.monotonic() - began_s
        self._checkpoint_interval_s = max(CHECKPOINT_INTERVAL_S, took_s / CHECKPOINT_SHARE)

    def _checkpoint_now(self) -> None:
        while self._is_saving is not None:
            self._wait()
        self._checkpoint()
        while self._is_saving is not None:
            self._wait()

    def _note_resources(self) -> None:
        self._totals.seconds = self._seconds_before + time.monotonic() - self._started_s
        self._totals.peak_rss_bytes = max(self._totals.peak_rss_bytes, self._crew.rss_bytes())

    def _report(self) -> None:
        self._reported_s = time.monotonic()
        if self._channel is not None:
            report = self._meter.report(self._reported_s, self._totals.file_bytes, self._totals.tokens)
            extra: dict[str, Any] = {"sharded": self._outputs.sharded, "rss_bytes": self._crew.rss_bytes()}
            self._channel.send({**report, **extra, "time_shares": time_shares(self._totals.time_s)})

    def _send_note(self, text: str) -> None:
        if self._channel is not None:
            self._channel.send({"event": "note", "text": text})
