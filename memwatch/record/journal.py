"""Journal: the append-only events of one run, in JSON lines; one file a run.

Covers what is written and what is left out. How the lines look is in events.py, how they get to the disk in
appender.py, where in folder.py, how they are read again in replay.py.

A run that lasts for weeks has no bigger journal than one that lasts for hours: from half of the cap on, samples are
written every tenth, later every hundredth time, and at the cap no more. A change of level, an action and the exit are
always written. Nothing here raises because of the disk: see `problem`.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from memwatch.core.sample import Sample
from memwatch.core.units import MIB
from memwatch.record import events
from memwatch.record.alive import GuardId
from memwatch.record.appender import Appender
from memwatch.record.events import Event
from memwatch.record.folder import create_journal, make_runs_folder, open_journal, run_id
from memwatch.record.prune import prune

CAP_BYTES = 64 * MIB
# (share of the cap, one in how many): up to that share.
THINNING = ((0.5, 1), (0.75, 10), (1.0, 100))
OUTPUT_RESERVE_BYTES = MIB  # beyond the cap, for the job's last words
PROGRESS_INTERVAL_S = 0.5
VERDICT_INTERVAL_S = 1.0
LAST_SYNC_WAIT_S = 2.0

GRAVE = ("warn", "act")


class Journal:
    """`open` it, `start` it as soon as the containment is known, and `close` it after `exit`.

    Every method gives back its event, for the views, whether or not it was written.
    """

    def __init__(self, file: Appender, command: Sequence[str], cap_bytes: int) -> None:
        self._file = file
        self._command = tuple(command)
        self._cap_bytes = cap_bytes
        self._start_line = b""  # until it is written
        self._lost_lines = 0
        self._samples_since = 0
        self._progress_t = self._verdict_t = float("-inf")
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

        return cls(Appender(opener, clock), command, cap_bytes)

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
        self._write(b"")
        self._file.sync()
        return event

    def sample(self, sample: Sample) -> Event:
        event = events.sample_event(sample)
        if sample.job:
            self.know_peak(sample.job_bytes)
        self._samples_since += 1
        every = self._every()
        if every is not None and self._samples_since >= every:
            self._write(events.encode(event if every == 1 else event | {"every": every}))
            self._samples_since = 0
        return event

    def know_peak(self, job_bytes: int) -> None:
        """The most the job has taken, as far as anybody has seen."""
        self._peak_job_bytes = max(self._peak_job_bytes or 0, job_bytes)

    def progress(self, message: Mapping[str, object], t: float | None = None) -> Event:
        """What the job says of itself; twice a second is enough, and the last word is kept for the exit."""
        event = events.progress_event(_now(t), message)
        if self._is_due(event, self._progress_t, PROGRESS_INTERVAL_S):
            self._progress_t = _t(event)
            self._write(events.encode(event))
            self._held_progress = None
        else:
            self._held_progress = event
        return event

    def verdict(
        self, level: str, reason: str, seconds_left: float | None, t: float | None = None, **more: object
    ) -> Event:
        """Every change of level is written, and what goes on unchanged once a second."""
        event = events.verdict_event(_now(t), level, reason, seconds_left, **more)
        if level != self._level or self._is_due(event, self._verdict_t, VERDICT_INTERVAL_S):
            self._level, self._verdict_t = level, _t(event)
            self._write(events.encode(event))
            if level in GRAVE:
                self._file.sync()
        return event

    def action(
        self, action: str, pids: Sequence[int], by: str, result: str, t: float | None = None, **more: object
    ) -> Event:
        event = events.action_event(_now(t), action, pids, by, result, **more)
        self._write(events.encode(event))
        self._file.sync()
        return event

    def output(self, text: str | bytes, t: float | None = None, **more: object) -> Event:
        """The tail of the job's own output: before an action, and at the end."""
        event = events.output_event(_now(t), text, **more)
        if self._file.size_bytes < self._cap_bytes + OUTPUT_RESERVE_BYTES:
            self._write(events.encode(event))
        return event

    def exit(
        self, code: int | None, signal: int | None, by: str | None, t: float | None = None, **more: object
    ) -> Event:
        if self._held_progress is not None:
            self._write(events.encode(self._held_progress))
            self._held_progress = None
        more = {"peak_job_bytes": self._peak_job_bytes} | more  # Also of samples that were left out.
        event = events.exit_event(_now(t), code, signal, by, **more)
        self._write(events.encode(event))
        self._file.sync()
        return event

    def sync(self) -> None:
        """See to it that what was written so far outlives a power cut; does not wait for it."""
        self._file.sync()

    def close(self, wait_s: float = LAST_SYNC_WAIT_S) -> None:
        self._file.close(wait_s)

    def _write(self, line: bytes) -> None:
        if not self._file.is_on:
            self._lost_lines += bool(line)
            return
        before = self._start_line
        if self._lost_lines:
            before += events.encode(events.gap_event(time.time(), self._lost_lines, self._file.problem))
        if self._file.append(before + line):
            self._start_line = b""
            self._lost_lines = 0
        else:
            self._lost_lines += bool(line)

    def _every(self) -> int | None:
        """One in how many samples is written; None at the cap."""
        used = self._file.size_bytes / self._cap_bytes
        return next((every for share, every in THINNING if used < share), None)

    def _is_due(self, event: Event, last_t: float, interval_s: float) -> bool:
        every = self._every() or THINNING[-1][1]
        # A clock that was set back must not silence what it says until it has caught up.
        return not 0 <= _t(event) - last_t < interval_s * every


def _now(t: float | None) -> float:
    return time.time() if t is None else t


def _t(event: Event) -> float:
    t = event["t"]
    assert isinstance(t, int | float)
    return t
