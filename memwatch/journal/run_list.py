"""RunInfo: one run in a line, from its journal, which is read once and never held; and finds it by the run's id."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from memwatch.decide.actions import was_carried_out
from memwatch.decide.thresholds import LEVEL_NAMES
from memwatch.errors import MemwatchError, UsageError
from memwatch.journal.events import Event
from memwatch.journal.folder import SUFFIX, run_id, runs_path
from memwatch.journal.liveness import GuardId, may_be_alive
from memwatch.journal.reader import BUFFER_BYTES, lines_of, parse_event
from memwatch.model.units import MIB

_BEYOND = 1 << 63
BY_MEMWATCH = ("guard", "user")

# Most lines are samples, and what is needed of one is at its start: this takes a tenth of the time of parsing it.
_SAMPLE = re.compile(rb'\{"t":([0-9]+(?:\.[0-9]+)?),"event":"sample","job_bytes":([0-9]{1,18}),')


class RunStatus(StrEnum):
    """stopped: by memwatch, or by the user through it. killed: by a signal from elsewhere. died: the guard is gone."""

    RUNNING = "running"
    PAUSED = "paused"
    CONFINED = "confined"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    KILLED = "killed"
    DIED = "died"


UNFINISHED = (RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CONFINED)


@dataclass(frozen=True, slots=True)
class RunInfo:
    run_id: str
    path: Path
    state: RunStatus
    command: tuple[str, ...]
    started_t: float | None
    ended_t: float | None  # of one that died, when it was last heard of
    exit_code: int | None
    signal: int | None
    by: str | None
    peak_job_bytes: int | None
    worst_level: str | None
    actions: tuple[tuple[str, int], ...]  # what, and how often
    size_bytes: int
    containment: Mapping[str, object]  # what was in force for the job, as the journal has it
    confined: str | None = None  # in words, as of the last verdict of its confinement

    @classmethod
    def read(cls, path: Path) -> "RunInfo":
        """Read all of a journal. Raises OSError."""
        seen = _Seen()
        with open(path, "rb", BUFFER_BYTES) as file:
            status = os.fstat(file.fileno())
            for line in lines_of(file):
                seen.look_at(line)
        state = _state(seen, time.time() - status.st_mtime)
        return cls(
            run_id=run_id(str(path)),
            path=path,
            state=state,
            command=seen.command,
            started_t=seen.started_t,
            ended_t=None if state in UNFINISHED else seen.last_t,
            exit_code=_whole(seen.exit.get("code")),
            signal=_whole(seen.exit.get("signal")),
            by=_word(seen.exit.get("by")),
            peak_job_bytes=seen.peak_job_bytes,
            worst_level=None if seen.worst < 0 else LEVEL_NAMES[seen.worst],
            actions=tuple(seen.actions.items()),
            size_bytes=status.st_size,
            containment=seen.containment,
            confined=seen.confined,
        )


def list_runs() -> tuple[list[RunInfo], list[OSError]]:
    """The runs in the state folder, the newest last, and what could not be read."""
    runs, problems = [], []
    for path in journals(Path(runs_path())):
        try:
            runs.append(RunInfo.read(path))
        except FileNotFoundError:
            continue  # Pruned while we looked.
        except OSError as error:
            problems.append(error)
    return runs, problems


def journals(folder: Path) -> list[Path]:
    """The paths of all journals in a folder, the oldest first."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == SUFFIX and _is_ordinary(path)]
    except FileNotFoundError:
        return []  # Nothing was ever run.
    return sorted(found, key=lambda path: path.stem)


def _is_ordinary(path: Path) -> bool:
    """Whether it is a plain file: a pipe would block, and a link may lead to one."""
    return path.is_file() and not path.is_symlink()


@dataclass(slots=True)
class _Seen:
    """What was read from a journal so far."""

    guard: GuardId | None = None
    command: tuple[str, ...] = ()
    containment: Mapping[str, object] = field(default_factory=dict)
    started_t: float | None = None
    last_t: float | None = None
    exit: Event = field(default_factory=dict)
    peak_job_bytes: int | None = None
    worst: int = -1
    actions: dict[str, int] = field(default_factory=dict)
    is_paused: bool = False
    is_confined: bool = False
    confined: str | None = None

    def look_at(self, line: bytes) -> None:
        if (sample := _SAMPLE.match(line)) is not None:
            self.last_t = float(sample[1])
            self._peak(int(sample[2]))
        elif (event := parse_event(line)) is not None:
            self.last_t = float(str(event["t"]))
            self._take(event)

    def _take(self, event: Event) -> None:
        kind = event["event"]
        if kind == "start":
            words = event.get("command")
            self.command = tuple(map(str, words)) if isinstance(words, list) else ()
            containment = event.get("containment")
            self.containment = containment if isinstance(containment, dict) else {}
            self.guard = GuardId.from_json(event.get("guard"))
            self.started_t = self.last_t
        elif kind == "sample":
            self._peak(_whole(event.get("job_bytes")))
        elif kind == "verdict" and event.get("level") in LEVEL_NAMES:
            self.worst = max(self.worst, LEVEL_NAMES.index(str(event["level"])))
            self.is_confined = "confined_bytes" in event
            self.confined = str(event.get("reason")) if self.is_confined else self.confined
        elif kind == "action" and not event.get("brief"):
            name = str(event.get("action"))
            self.actions[name] = self.actions.get(name, 0) + 1
            if changes_pause(event):
                self.is_paused = name == "pause"
        elif kind == "exit":
            self.exit = event
            self._peak(_whole(event.get("peak_job_bytes")))

    def _peak(self, job_bytes: int | None) -> None:
        if job_bytes is not None:
            self.peak_job_bytes = max(self.peak_job_bytes or 0, job_bytes)


def changes_pause(event: Event) -> bool:
    """Whether an action begins or ends a pause; not a brief one, nor a try in the middle of a long one."""
    is_step = event.get("action") in ("pause", "resume", "stop", "kill")
    return is_step and was_carried_out(event) and not event.get("brief")


def _state(seen: _Seen, age_s: float) -> RunStatus:
    if not seen.exit:
        if not may_be_alive(seen.guard, age_s):
            return RunStatus.DIED
        if seen.is_paused:
            return RunStatus.PAUSED
        return RunStatus.CONFINED if seen.is_confined else RunStatus.RUNNING
    if seen.exit.get("by") in BY_MEMWATCH:
        return RunStatus.STOPPED
    if seen.exit.get("signal") is not None:
        return RunStatus.KILLED
    return RunStatus.DONE if seen.exit.get("code") == 0 else RunStatus.FAILED


def _whole(value: object) -> int | None:
    """A whole number that the kernel could have counted, or None: a journal can be forged."""
    return value if isinstance(value, int) and abs(value) < _BEYOND else None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


LAST = "last"
HEAD_BYTES = MIB


def journal_of(run: str) -> Path:
    """`run` is an id as `memwatch runs` shows it or the unique beginning of one, "last", or a journal's path."""
    if run.endswith(SUFFIX) or "/" in run:
        return _file(Path(run), is_named_so=run.endswith(SUFFIX))
    found = journals(Path(runs_path()))
    if run == LAST:
        if not found:
            raise MemwatchError(f"no runs yet: {runs_path()} has no journals")
        return found[-1]
    matching = [path for path in found if path.stem.startswith(run)]
    exact = [path for path in matching if path.stem == run]
    if len(matching) > 1 and not exact:
        raise UsageError(f"{run} matches {len(matching)} runs; give more characters of the id, as in memwatch runs")
    if not matching:
        raise MemwatchError(f"there is no run {run}; list the runs with: memwatch runs")
    return (exact or matching)[0]


def _file(path: Path, is_named_so: bool) -> Path:
    if not path.is_file():
        raise MemwatchError(f"{path} is not a journal: there is no such file")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
    # What is named like a journal may be one that was torn, or just begun.
    if not is_named_so and not any(parse_event(line) for line in head.splitlines()):
        raise MemwatchError(f"{path} is not a journal of memwatch")
    return path
