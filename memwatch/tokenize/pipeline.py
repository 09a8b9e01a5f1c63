"""Drives a run: reads blocks, has them encoded, writes tokens in order, and remembers where it stands.

One thread, one loop. It reads while there is room, waits for workers, signals and commands, and writes what is next in
order. Every few seconds the data is written to disk, and then the checkpoint that describes it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from memwatch.errors import Broken, Interrupted, MemwatchError
from memwatch.job import Channel
from memwatch.tokenize.blocks import Block, BlockReader, ReadPosition
from memwatch.tokenize.checkpoint import Totals
from memwatch.tokenize.crew import Crew, wait_for
from memwatch.tokenize.inputs import Input
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.messages import BlockDone, BlockFailed
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.progress_report import Meter
from memwatch.tokenize.settings import FLOOR_BLOCK_BYTES

CHECKPOINT_INTERVAL_S = 4.0
PROGRESS_INTERVAL_S = 1.0
MOST_MARKS = 256
FIRST_MARK_STRIDE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    block_bytes: int
    held_bytes: int | None  # in memory mode: switch to shards beyond this


class Pipeline:
    def __init__(
        self,
        inputs: list[Input],
        reader: BlockReader,
        crew: Crew,
        outputs: Outputs,
        totals: Totals,
        limits: PipelineLimits,
        signals: Signals,
        channel: Channel | None,
        meter: Meter,
        save_checkpoint: Callable[[ReadPosition, Totals], None],
    ) -> None:
        self._inputs = inputs
        self._reader = reader
        self._crew = crew
        self._outputs = outputs
        self._totals = totals
        self._limits = limits
        self._signals = signals
        self._channel = channel
        self._meter = meter
        self._save_checkpoint = save_checkpoint
        self._block_bytes = limits.block_bytes
        self._position = reader.position
        self._file_bytes_before = [0]
        for source in inputs:
            self._file_bytes_before.append(self._file_bytes_before[-1] + (source.size_bytes or 0))
        # Blocks under way, by number, and the results that came before their turn.
        self._under_way: dict[int, Block] = {}
        self._early: dict[int, BlockDone | BlockFailed] = {}
        self._next_number = 0
        self._next_to_write = 0
        self._to_floor = False
        self._seconds_before = totals.seconds
        self._started_s = self._checkpointed_s = self._reported_s = time.monotonic()

    def run(self) -> None:
        """Work to the end of the inputs. Raises Interrupted when asked to stop, with everything kept."""
        self._signals.patient = True
        self._report()
        while not (self._reader.at_end and not self._under_way):
            if not self._to_floor:
                self._feed()
            self._wait()
            self._take_requests()
            self._keep_time()
        self._note_resources()
        self._report()

    def _feed(self) -> None:
        while self._crew.has_room and (block := self._reader.next(self._block_bytes)) is not None:
            self._crew.submit(self._next_number, block)
            # The data is in shared memory now; what stays is where it came from.
            self._under_way[self._next_number] = block.without_data()
            self._next_number += 1

    def _wait(self) -> None:
        waitables: list[object] = [*self._crew.connections, self._signals.wakeup]
        if self._channel is not None and self._channel.is_open:
            waitables.append(self._channel)
        if self._crew.has_room and not self._reader.at_end and not self._to_floor:
            waitables.append(0)  # Only standard input makes the reader wait.
        due_s = min(self._checkpointed_s + CHECKPOINT_INTERVAL_S, self._reported_s + PROGRESS_INTERVAL_S)
        ready = wait_for(waitables, max(due_s - time.monotonic(), 0))
        for result in self._crew.results(ready):
            self._early[result.number] = result
        self._write()
        if self._channel is not None and self._channel in ready:
            self._read_commands(self._channel)

    def _write(self) -> None:
        completed_shard = False
        while (done := self._early.pop(self._next_to_write, None)) is not None:
            block = self._under_way.pop(self._next_to_write)
            if isinstance(done, BlockFailed):
                raise self._failure(block, done)
            with self._crew.tokens(done) as tokens:
                completed_shard |= self._outputs.append(block.split, tokens)
            self._crew.release(done)
            self._count(block, done)
            self._position = block.after
            self._next_to_write += 1
        if completed_shard:
            self._checkpoint()

    def _read_of_file(self, block: Block) -> int:
        """A parquet file's end is read more than once, and a small one is all end: never more than there is."""
        size_bytes = self._inputs[block.start.input].size_bytes
        return block.file_position if size_bytes is None else min(block.file_position, size_bytes)

    def _count(self, block: Block, done: BlockDone) -> None:
        totals = self._totals
        if block.split == "train" and not block.layout.continues:
            self._mark(block.start)
        totals.text_bytes += block.length
        totals.file_bytes = self._file_bytes_before[block.start.input] + self._read_of_file(block)
        totals.documents += done.counts.documents
        totals.missing_texts += done.counts.missing_texts
        totals.replaced_bytes += done.counts.replaced_bytes
        totals.records = done.counts.records + (totals.records if block.start.offset else 0)
        totals.inexact_cuts += block.inexact
        if block.split == "train":
            totals.train_tokens += done.tokens
            return
        totals.val_tokens += done.tokens
        last = totals.val_ranges[-1] if totals.val_ranges else None
        if last is not None and last[0] == block.start.input and last[2] == block.start.offset:
            last[2] = block.after.offset
        else:
            totals.val_ranges.append([block.start.input, block.start.offset, block.after.offset])

    def _mark(self, at: ReadPosition) -> None:
        """Remember now and then which token a place in the input became."""
        totals = self._totals
        stride = totals.mark_stride_bytes or FIRST_MARK_STRIDE_BYTES
        if totals.marks and at.total_bytes - totals.marks[-1]["total_bytes"] < stride:
            return
        mark = {"total_bytes": at.total_bytes, "train_token": totals.train_tokens, "position": at.as_json()}
        totals.marks.append(mark)
        if len(totals.marks) > MOST_MARKS:
            totals.marks = totals.marks[::2]
            stride *= 2
        totals.mark_stride_bytes = stride

    def _read_commands(self, channel: Channel) -> None:
        for message in channel.receive():
            if message.get("command") == "shard":
                self._signals.shard = True

    def _take_requests(self) -> None:
        self._signals.drain()
        if self._channel is not None and not self._channel.is_open:
            # Whoever ran us is gone. To go on unseen would keep the folder locked against the next attempt.
            self._stop("the guard of this job has exited")
        if self._signals.stop is not None:
            self._stop("stopped", self._signals.stop)
        held = self._limits.held_bytes
        if held is not None and self._outputs.holds_tokens and self._outputs.held_bytes > held:
            self._signals.shard = True
        if self._signals.shard:
            self._signals.shard = False
            self._to_floor = True
        # The crew can shrink when it is idle, and what is under way takes only some milliseconds.
        if self._to_floor and not self._under_way:
            self._go_to_floor()

    def _go_to_floor(self) -> None:
        """Shards from now on, and as little memory as will do."""
        self._to_floor = False
        self._block_bytes = min(FLOOR_BLOCK_BYTES, self._limits.block_bytes)
        self._crew.shrink()
        self._outputs.switch_to_shards()
        self._checkpoint()
        self._send_note("switched to shards, with one worker and less memory")

    def _stop(self, why: str, number: int = 15) -> None:
        if self._outputs.holds_tokens:
            kept = "no output was written, because memory mode writes at the end: the same command starts over"
        else:
            self._checkpoint()
            kept = f"{self._totals.tokens:,} tokens are kept: repeat the same command to resume"
        raise Interrupted(f"{why}; {kept}", number)

    def _keep_time(self) -> None:
        now = time.monotonic()
        if now >= self._reported_s + PROGRESS_INTERVAL_S:
            self._note_resources()
            self._report()
        if now >= self._checkpointed_s + CHECKPOINT_INTERVAL_S:
            self._checkpoint()

    def _checkpoint(self) -> None:
        if not self._outputs.holds_tokens:
            self._note_resources()
            self._save_checkpoint(self._position, self._totals)
        self._checkpointed_s = time.monotonic()

    def _note_resources(self) -> None:
        self._totals.seconds = self._seconds_before + time.monotonic() - self._started_s
        self._totals.peak_rss_bytes = max(self._totals.peak_rss_bytes, self._crew.rss_bytes())

    def _report(self) -> None:
        self._reported_s = time.monotonic()
        while self._crew.notes:
            self._send_note(self._crew.notes.pop())
        if self._channel is not None:
            report = self._meter.report(self._reported_s, self._totals.file_bytes, self._totals.tokens)
            self._channel.send({**report, "sharded": self._outputs.sharded, "rss_bytes": self._crew.rss_bytes()})

    def _send_note(self, text: str) -> None:
        if self._channel is not None:
            self._channel.send({"event": "note", "text": text})

    def _failure(self, block: Block, failed: BlockFailed) -> MemwatchError:
        source = self._inputs[block.start.input]
        if failed.line is not None:
            line = failed.line + (self._totals.records if block.start.offset else 0)
            return MemwatchError(f"line {line} of {source.name} {failed.problem}")
        if failed.offset is not None:
            return MemwatchError(f"{source.name} at byte {block.start.offset + failed.offset} {failed.problem}")
        return Broken(f"{source.name} at byte {block.start.offset}: {failed.problem}")
