"""Watches a paused job: whether somebody else has ended the pause, and whether it holds."""

import signal
from enum import StrEnum

from memwatch.decide.forecast import Forecast
from memwatch.decide.pause_check import Runaway, runaway
from memwatch.guard.act import Actor
from memwatch.model.sample import Sample
from memwatch.probe.process_waits import ENDING, is_suspended, pending_signals

# For each process of a paused job: between two looks at what signals wait for all of them, which take 15 us each.
PENDING_INTERVAL_S = 0.003


class PauseEnd(StrEnum):
    """What ends a pause from outside, in words for the journal."""

    ENDING = "the job has a signal to end, and needs to run for that"
    SUSPENDED = "suspended from the terminal"
    CONTINUED = "resumed by SIGCONT from outside memwatch"


class PauseWatch:
    """One for the whole run: the loop calls `begin` at every pause, and the others at every sample of it."""

    def __init__(self, actor: Actor, job_pid: int) -> None:
        self._actor = actor
        self._job_pid = job_pid
        self._first_sample: Sample | None = None
        self._due_s = float("-inf")
        self._pending_before: dict[int, set[signal.Signals]] = {}

    def begin(self, new_pids: list[int] | None) -> None:
        """`new_pids` are paused from now on; None: the job was paused before, and only has a new deadline."""
        self._first_sample = None
        if new_pids is not None:
            self._pending_before = {pid: pending_signals(pid) for pid in new_pids}

    def end(self, sample: Sample) -> PauseEnd | None:
        """What has ended the pause from outside; None if it lasts."""
        waiting = self._signals_since_pause(sample)
        if waiting & set(ENDING):
            return PauseEnd.ENDING
        if is_suspended(self._job_pid):
            return PauseEnd.SUSPENDED
        if self._actor.was_continued() or signal.SIGCONT in waiting:
            return PauseEnd.CONTINUED
        return None

    def runaway(self, sample: Sample, outlook: Forecast) -> Runaway | None:
        """A process that goes on to grow in the pause."""
        self._first_sample = first = self._first_sample or sample
        not_stopped = self._actor.not_yet_stopped()
        return runaway(first, sample, not_stopped, outlook.headroom_bytes, outlook.reserve_bytes)

    def _signals_since_pause(self, sample: Sample) -> set[signal.Signals]:
        """What waits for any process of the paused job, and was sent from outside: the job itself cannot send."""
        if sample.clock_s < self._due_s:
            return set()
        self._due_s = sample.clock_s + len(sample.job) * PENDING_INTERVAL_S
        before = self._pending_before
        return {s for p in sample.job for s in pending_signals(p.pid) - before.get(p.pid, set())}
