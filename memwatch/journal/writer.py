"""Journal: the append-only events of one run, in JSON lines; one file a run.

Covers what is written and what is left out. How the lines look is in events.py, how they get to the disk in
appender.py, where in folder.py, how they are read again in reader.py.

An hour has at most 5 MB, whatever the job's tree: size_budget.py says which samples are written. Of a large tree the
biggest processes are listed, and the rest is added up. A run that lasts for weeks has no bigger journal than one that
lasts for hours: from half of the cap on, samples are written every tenth, later every hundredth time, and at the cap no
more. A change of level, an action and the exit are always written, with the sample before it. Nothing here raises
because of the disk: see `problem`.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memwatch.journal import events
from memwatch.journal.appender import Appender, NoFile
from memwatch.journal.events import Event
from memwatch.journal.folder import create_journal, make_runs_folder, open_journal, prune, run_id
from memwatch.journal.liveness import GuardId
from memwatch.journal.size_budget import JournalBudget
from memwatch.model.sample import Process, Sample
from memwatch.model.units import MIB

CAP_BYTES = 64 * MIB
# (share of the cap, one in how many): up to that share.
THINNING = ((0.5, 1), (0.75, 10), (1.0, 100))
OUTPUT_RESERVE_BYTES = MIB  # beyond the cap, for the end of the job's output
PROGRESS_INTERVAL_S = 0.5
VERDICT_INTERVAL_S = 1.0
NODES_INTERVAL_S = 5.0
LAST_SYNC_WAIT_S = 2.0
LISTED_PROCESSES = 12  # that a sample lists
# After an action every sample is of interest.
AFTERMATH_S = 30.0

GRAVE = ("warn", "act")


class Journal:
    """`open` it, `start` it as soon as the containment is known, and `close` it after `exit`.

    Every method gives back its event, for the views, whether or not it was written.
    """

    def __init__(
        self, file: Appender | NoFile, command: Sequence[str], cap_bytes: int, budget: JournalBudget | None = None
    ) -> None:
        """Without a budget every sample is written: for a caller that has a pace of its own."""
        self._file = file
        self._budget = budget
        self._command = tuple(command)
        self._cap_bytes = cap_bytes
        self._start_line = b""  # until it is written
        self._lost_lines = 0
        self._samples_since = 0
        self._sample_bytes = 0  # of the last one written
        self._whole_job: tuple[Process, ...] | None = None
        self._unwritten: Sample | None = None
        self._others: tuple[Process, ...] | None = None  # of a sample that was not written
        self._action_t = float("-inf")
        self._progress_t = self._verdict_t = float("-inf")
        self._nodes_t = float("-inf")
        self._progress_bytes = self._verdict_bytes = self._nodes_bytes = 0
        self._level: str | None = None
        self._held_progress: Event | None = None
        self._peak_job_bytes: int | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        command: Sequence[str],
        cap_bytes: int = CAP_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> "Journal":
        """None is a new file in the state folder, where old runs make room. Does not fail: see `problem`."""

        def opener() -> tuple[int, str]:
            if path is not None:
                return open_journal(os.fspath(path)), os.fspath(path)
            folder = make_runs_folder()
            opened = create_journal(folder, time.time())
            prune(folder)
            return opened

        return cls(Appender(opener, clock), command, cap_bytes, JournalBudget())

    @classmethod
    def unrecorded(cls, command: Sequence[str]) -> "Journal":
        """For --no-record: makes the events for the views, and writes none."""
        return cls(NoFile(), command, CAP_BYTES, JournalBudget())

    @property
    def path(self) -> str | None:
        return self._file.path

    @property
    def run_id(self) -> str | None:
        return None if self.path is None else run_id(self.path)

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    @property
    def problem(self) -> str | None:
        """Why nothing is written at the moment, in one sentence; None if all is well. To be shown when it changes."""
        return self._file.problem

    def start(
        self, limits: Mapping[str, object], containment: Mapping[str, object], t: float | None = None, **more: object
    ) -> Event:
        guard = GuardId.this()
        event = events.start_event(_now(t), self.run_id or "", guard, self._command, limits, containment) | more
        self._start_line = events.encode(event)
        self._write(b"", _t(event))
        self._file.sync()
        return event

    def sample(self, sample: Sample) -> Event:
        if sample.job:
            self.know_peak(sample.job_bytes)
        listed = self._listing(sample)
        self._samples_since += 1
        every = self._every()
        if every is not None and self._samples_since >= every and self._allows(sample):
            self._write_sample(listed)
        else:
            self._unwritten = listed  # Written if something happens before the next one.
            self._others = sample.others or self._others
        return events.sample_event(listed)

    def know_peak(self, job_bytes: int) -> None:
        """Peak memory has one definition: the highest of what samples add up over the job's processes, and of what a
        single process is known to have held (its VmHWM) where that is more. The exit event has it, for every view."""
        self._peak_job_bytes = max(self._peak_job_bytes or 0, job_bytes)

    @property
    def peak_job_bytes(self) -> int | None:
        return self._peak_job_bytes

    def progress(self, message: Mapping[str, object], t: float | None = None) -> Event:
        """What the job reports; at most twice a second, and the last report is kept for the exit."""
        event = events.progress_event(_now(t), message)
        if self._is_due(event, self._progress_t, PROGRESS_INTERVAL_S, self._progress_bytes):
            self._progress_t = _t(event)
            self._progress_bytes = self._write(events.encode(event), _t(event))
            self._held_progress = None
        else:
            self._held_progress = event
        return event

    def nodes(self, message: Mapping[str, object], t: float | None = None) -> Event:
        """The nodes of a run on many machines; a long list is written less often."""
        event = events.nodes_event(_now(t), message)
        if self._is_due(event, self._nodes_t, NODES_INTERVAL_S, self._nodes_bytes):
            self._nodes_t = _t(event)
            self._nodes_bytes = self._write(events.encode(event), _t(event))
        return event

    def need(self, facts: Mapping[str, object], t: float | None = None) -> Event:
        event = events.need_event(_now(t), facts)
        self._write(events.encode(event), _t(event))
        return event

    def verdict(
        self, level: str, reason: str, seconds_left: float | None, t: float | None = None, **more: object
    ) -> Event:
        """Every change of level is written, and what goes on unchanged once a second."""
        event = events.verdict_event(_now(t), level, reason, seconds_left, **more)
        if level != self._level or self._is_due(event, self._verdict_t, VERDICT_INTERVAL_S, self._verdict_bytes):
            if level != self._level:
                self._write_unwritten()
            self._level, self._verdict_t = level, _t(event)
            self._verdict_bytes = self._write(events.encode(event), _t(event))
            if level in GRAVE:
                self._file.sync()
        return event

    def action(
        self, action: str, pids: Sequence[int], by: str, result: str, t: float | None = None, **more: object
    ) -> Event:
        event = events.action_event(_now(t), action, pids, by, result, **more)
        self._write_unwritten()
        self._action_t = _t(event)
        self._write(events.encode(event), _t(event))
        self._file.sync()
        return event

    def output(self, text: str | bytes, t: float | None = None, **more: object) -> Event:
        """The tail of the job's own output: before an action, and at the end."""
        event = events.output_event(_now(t), text, **more)
        is_allowed = self._budget is None or self._budget.allows_output(_t(event))
        if is_allowed and self._file.size_bytes < self._cap_bytes + OUTPUT_RESERVE_BYTES:
            self._write(events.encode(event), _t(event))
        return event

    def exit(
        self, code: int | None, signal: int | None, by: str | None, t: float | None = None, **more: object
    ) -> Event:
        self._write_unwritten()
        if self._held_progress is not None:
            self._write(events.encode(self._held_progress), _t(self._held_progress))
            self._held_progress = None
        more = {"peak_job_bytes": self._peak_job_bytes} | more  # Also of samples that were left out.
        event = events.exit_event(_now(t), code, signal, by, **more)
        self._write(events.encode(event), _t(event))
        self._file.sync()
        return event

    def sync(self) -> None:
        """Request that what was written so far reaches the disk; does not wait for it."""
        self._file.sync()

    def close(self, wait_s: float = LAST_SYNC_WAIT_S) -> None:
        self._file.close(wait_s)

    def _listing(self, sample: Sample) -> Sample:
        """With as many processes as views are shown. The probe carries a large tree over several samples."""
        if self._whole_job is not sample.job:
            self._whole_job, self._listed = sample.job, sample.listing(events.MOST_PROCESSES)
        return replace(sample, job=self._listed.job, job_rest=self._listed.job_rest)

    def _allows(self, sample: Sample) -> bool:
        is_calm = self._level not in GRAVE and not 0 <= sample.t - self._action_t < AFTERMATH_S
        # Before it is encoded, which costs more than the rest of it: a sample is about as long as the last one.
        return self._budget is None or self._budget.allows_sample(sample.t, self._sample_bytes, is_calm)

    def _write_sample(self, sample: Sample) -> None:
        if sample.others is None and self._others is not None:
            sample = replace(sample, others=self._others)
        event = events.sample_event(sample, LISTED_PROCESSES)
        line = events.encode(event if self._samples_since <= 1 else event | {"every": self._samples_since})
        self._sample_bytes = self._write(line, sample.t)
        self._samples_since = 0
        self._unwritten = self._others = None

    def _write_unwritten(self) -> None:
        if self._unwritten is not None and self._every() == 1:
            self._write_sample(self._unwritten)

    def _write(self, line: bytes, t: float) -> int:
        """The length of the line, whether it was written or not."""
        if not self._file.is_on:
            self._lost_lines += bool(line)
            return len(line)
        before = self._start_line
        if self._lost_lines:
            before += events.encode(events.gap_event(time.time(), self._lost_lines, self._file.problem))
        if self._budget is not None:
            self._budget.spend(t, len(before) + len(line))
        if self._file.append(before + line):
            self._start_line = b""
            self._lost_lines = 0
        else:
            self._lost_lines += bool(line)
        return len(line)

    def _every(self) -> int | None:
        """One in how many samples is written; None at the cap."""
        used = self._file.size_bytes / self._cap_bytes
        return next((every for share, every in THINNING if used < share), None)

    def _is_due(self, event: Event, last_t: float, interval_s: float, last_bytes: int) -> bool:
        interval_s *= self._every() or THINNING[-1][1]
        if self._budget is not None:
            interval_s = max(interval_s, self._budget.repeat_interval_s(last_bytes))
        # A clock that was set back must not silence what it says until it has caught up.
        return not 0 <= _t(event) - last_t < interval_s


def _now(t: float | None) -> float:
    return time.time() if t is None else t


def _t(event: Event) -> float:
    t = event["t"]
    assert isinstance(t, int | float)
    return t
