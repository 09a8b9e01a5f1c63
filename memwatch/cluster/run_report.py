"""What a process of a run reports while it works, and what it obeys: signals, and the guard's commands."""

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from memwatch.cluster.guard_readings import GuardReadings
from memwatch.cluster.kept_journals import KEEP_EVERY_S, KeptJournal
from memwatch.cluster.nodes import NodeStatus, NodeWatch
from memwatch.cluster.rank_run import RunProgress
from memwatch.cluster.run_folder import RunFolder
from memwatch.cluster.run_view import node_rows, running_segments, seen_nodes
from memwatch.errors import Interrupted, MemwatchError
from memwatch.job import Channel
from memwatch.model.node_rows import MOST_NODES, NodeRow
from memwatch.storage.retrying import StorageUnavailable
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.progress_report import Meter
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.session import show_note

PROGRESS_INTERVAL_S = 1.0
# Segments are done one by one: over a shorter time the rate would jump.
RATE_OVER_S = 60.0
# Of the time of a process that reads the status of all others, so that a thousand of them do not ask all the time.
READING_SHARE = 0.05


class ReportedRun(Protocol):
    """A rank, or the driver of tasks."""

    notes: list[str]

    @property
    def progress(self) -> RunProgress: ...

    @property
    def pids(self) -> list[int]:
        """The process ids of its workers on this machine."""

    def shrink(self) -> None:
        """Use less memory."""


class RunReporter:
    def __init__(
        self,
        channel: Channel | None,
        signals: Signals,
        segment_bytes: list[int],
        token_bytes: int,
        watch: NodeWatch,
        beat_s: float,
    ) -> None:
        self._channel = channel
        self._signals = signals
        self._segment_bytes = segment_bytes
        self._meter = Meter(sum(segment_bytes), token_bytes, None, RATE_OVER_S)
        self._nodes = _Nodes(watch, beat_s)
        self._reported_s = float("-inf")
        self.peak_rss_bytes = 0
        self.readings: GuardReadings | None = None  # what the guard of this process finds; None: it keeps no journal
        if channel is not None:
            channel.send({"event": "journal"})

    @property
    def drivers(self) -> set[str]:
        """Those that work in this folder, by their status: this process, and any other command."""
        return self._nodes.drivers

    def step(self, run: ReportedRun) -> list[Any]:
        """Called in each round of the run's loop. Returns what wakes it. Raises Interrupted to stop it."""
        self._signals.drain()
        channel = self._channel
        if channel is not None and channel.is_open:
            for message in channel.receive():
                if message.get("command") == "shard":
                    self._signals.shard = True
                elif isinstance(message.get("journal"), str):
                    self.readings = GuardReadings(message["journal"])
        if channel is not None and not channel.is_open:
            raise _interrupted("the guard of this job has exited", 15)
        if self._signals.stop is not None:
            raise _interrupted("stopped", self._signals.stop)
        if self._signals.shard:
            self._signals.shard = False
            run.shrink()
            self._note("one worker from now on, to use less memory")
        while run.notes:
            self._note(run.notes.pop(0))
        now, progress = time.monotonic(), run.progress
        is_last = len(progress.done) + len(progress.failed) >= progress.segments
        if is_last or now >= self._reported_s + PROGRESS_INTERVAL_S:
            self._reported_s = now
            self._report(run, now)
        return [self._signals.wakeup] + ([] if channel is None else [channel])

    def _report(self, run: ReportedRun, now_s: float) -> None:
        rss = sum(rss_bytes(pid) or 0 for pid in (os.getpid(), *run.pids))
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss)
        rows = self._nodes.rows(now_s)
        if self._channel is None:
            return
        progress = run.progress
        done_bytes = sum(self._segment_bytes[number] for number in progress.done)
        self._channel.send(
            {
                **self._meter.report(now_s, done_bytes, progress.tokens_here),
                "sharded": True,
                "rss_bytes": rss,
                "segments": progress.segments,
                "segments_done": len(progress.done),
                "segments_running": max(progress.running, running_segments(rows, progress.done)),
                "segments_retried": progress.retried,
                "segments_failed": len(progress.failed),
                "nodes": sum(row.state in ("working", "paused") for row in rows),
            }
        )
        if self._nodes.has_changed:
            self._nodes.has_changed = False
            self._channel.send({"event": "nodes", "nodes": [row.as_json() for row in rows[:MOST_NODES]]})

    def _note(self, text: str) -> None:
        show_note(self._channel, text)


class _Nodes:
    """The nodes as their status files show them, read again as often as it pays."""

    def __init__(self, watch: NodeWatch, beat_s: float) -> None:
        self._watch = watch
        self._beat_s = beat_s
        self._due_s = float("-inf")
        self._rows: list[NodeRow] = []
        self.drivers: set[str] = set()
        self.has_changed = False

    def rows(self, now_s: float) -> list[NodeRow]:
        if now_s >= self._due_s:
            began_s = time.monotonic()
            with suppress(StorageUnavailable):
                nodes = seen_nodes(self._watch)
                self._rows = node_rows(nodes)
                self.drivers = {
                    n.status.node for n in nodes if not n.status.workers and self._watch.is_moving(n.status)
                }
                self.has_changed = True
            self._due_s = now_s + max(self._beat_s, (time.monotonic() - began_s) / READING_SHARE)
        return self._rows


def _interrupted(why: str, number: int) -> Interrupted:
    return Interrupted(f"{why}; finished segments are kept: repeat the same command to resume", number)


class RankGuard:
    def __init__(self, folder: RunFolder, name: str, reporter: RunReporter) -> None:
        self._folder = folder
        self._name = name
        self._reporter = reporter
        self._kept_s = time.monotonic()

    def shown(self, status: NodeStatus) -> NodeStatus:
        """Called with every beat. Also keeps the journal, in case this machine is lost; `memwatch run` keeps it again
        at the end."""
        readings = self._reporter.readings
        if readings is None:
            return status
        readings.refresh()
        now = time.monotonic()
        if now >= self._kept_s + KEEP_EVERY_S:
            self._kept_s = now
            with suppress(MemwatchError, OSError):
                KeptJournal(self._folder, self._name, None, readings.path).keep()
        return replace(status, headroom_bytes=readings.headroom_bytes, level=readings.level)
