"""What a rank reports while it works, and what it obeys: signals, and the guard's commands."""

import os
import time
from typing import Any

from memwatch.cluster.rank_run import RankRun
from memwatch.errors import Interrupted
from memwatch.job import Channel
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.progress_report import Meter
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.session import show_note

PROGRESS_INTERVAL_S = 1.0


class RunReporter:
    def __init__(self, channel: Channel | None, signals: Signals, segment_bytes: list[int], token_bytes: int) -> None:
        self._channel = channel
        self._signals = signals
        self._segment_bytes = segment_bytes
        self._token_bytes = token_bytes
        self._meter = Meter(sum(segment_bytes), token_bytes, None)
        self._reported_s = float("-inf")
        self.peak_rss_bytes = 0

    def step(self, run: RankRun) -> list[Any]:
        """Called in each round of the rank's loop. Returns what wakes it. Raises Interrupted to stop it."""
        self._signals.drain()
        channel = self._channel
        if channel is not None and channel.is_open:
            for message in channel.receive():
                if message.get("command") == "shard":
                    self._signals.shard = True
        if channel is not None and not channel.is_open:
            raise _interrupted("the guard of this job has exited", 15)
        if self._signals.stop is not None:
            raise _interrupted("stopped", self._signals.stop)
        if self._signals.shard:
            self._signals.shard = False
            run.shrink()
            self._note("one worker from now on, to use less memory")
        now = time.monotonic()
        if now >= self._reported_s + PROGRESS_INTERVAL_S:
            self._reported_s = now
            self._report(run, now)
        return [self._signals.wakeup] + ([] if channel is None else [channel])

    def _report(self, run: RankRun, now_s: float) -> None:
        while run.notes:
            self._note(run.notes.pop(0))
        rss = sum(rss_bytes(pid) or 0 for pid in (os.getpid(), *run.pids))
        self.peak_rss_bytes = max(self.peak_rss_bytes, rss)
        if self._channel is not None:
            progress = run.progress
            done_bytes = sum(self._segment_bytes[number] for number in progress.done)
            report = self._meter.report(now_s, done_bytes, progress.tokens_here)
            self._channel.send(
                {
                    **report,
                    "sharded": True,
                    "rss_bytes": rss,
                    "segments": progress.segments,
                    "segments_done": len(progress.done),
                    "nodes": progress.nodes,
                }
            )

    def _note(self, text: str) -> None:
        show_note(self._channel, text)


def _interrupted(why: str, number: int) -> Interrupted:
    return Interrupted(f"{why}; finished segments are kept: repeat the same command to resume", number)
