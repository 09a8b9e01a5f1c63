"""Picture: everything that the screen shows of a run at one moment. Unknown is None."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memwatch.journal.event_words import EventLine
from memwatch.model.node_rows import NodeRow
from memwatch.model.rates import UNKNOWN_CHANGE, Change
from memwatch.model.run_need import RunNeed
from memwatch.model.sample import Process, Sample
from memwatch.tui.model.eta import Eta
from memwatch.tui.model.series import SeriesPoint
from memwatch.tui.model.terminal_text import TextLine


class ViewKind(StrEnum):
    """`run` is with a guard, whether we started it or joined it; `attach` is a run on many machines, by its folder."""

    RUN = "run"
    REPLAY = "replay"
    WATCH = "watch"
    ATTACH = "attach"


class JobState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"
    WATCHING = "watching"


@dataclass(frozen=True, slots=True)
class Judged:
    """The last verdict event: calm, watch, warn or act, why, and the forecast behind it (decide/monitor.py).

    Everything here was decided by the guard. Journals of older versions lack the forecast: it is None.
    """

    t: float
    level: str
    reason: str
    seconds_left: float | None = None
    is_credible: bool = False  # False: `seconds_left` is a guess, and is not shown
    headroom_bytes: float | None = None
    reserve_bytes: float | None = None
    fill_bytes_s: float | None = None
    job_fill_bytes_s: float | None = None
    warn_headroom_bytes: float | None = None
    act_headroom_bytes: float | None = None
    warn_stall_fraction: float | None = None
    act_stall_fraction: float | None = None
    warn_swap_bytes_s: float | None = None
    waits_for: str | None = None  # for which other run the job waits, in words
    resume_needs_bytes: float | None = None  # while paused: how much more must be free before the guard resumes it
    paged_out_bytes: float | None = None  # while paused: what that has freed
    confined_bytes: float | None = None  # the limit of a confined job

    @property
    def is_grave(self) -> bool:
        return self.level in ("warn", "act")

    @property
    def job_fills(self) -> bool:
        """Whether the job is what fills memory, rather than other programs."""
        return (self.job_fill_bytes_s or 0) >= (self.fill_bytes_s or 0) / 2 > 0


@dataclass(frozen=True, slots=True)
class Progress:
    """What the job reports of itself or, where `source` is set, what is read from outside."""

    done: float
    total: float | None = None
    unit: str | None = None
    eta: Eta | None = None
    tokens: int | None = None
    projected_tokens: int | None = None
    output_bytes: int | None = None
    projected_output_bytes: int | None = None
    source: str | None = None
    name: str | None = None
    time_shares: str | None = None  # where the time of its workers went, in words
    segments: int | None = None  # of a run by segments
    segments_done: int | None = None
    segments_running: int | None = None
    segments_retried: int | None = None
    segments_failed: int | None = None

    @property
    def fraction(self) -> float | None:
        return min(max(self.done / self.total, 0.0), 1.0) if self.total else None


@dataclass(frozen=True, slots=True)
class MemoryRoom:
    """Where memory ends first: the machine, or a limit above the job that is smaller."""

    capacity_bytes: int
    used_bytes: int
    is_limit: bool = False

    @property
    def available_bytes(self) -> int:
        return max(self.capacity_bytes - self.used_bytes, 0)

    @property
    def used_fraction(self) -> float:
        return self.used_bytes / self.capacity_bytes if self.capacity_bytes else 0.0


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process, and what it did since the sample before."""

    process: Process
    cpu_fraction: float | None = None
    read_bytes_s: float | None = None
    written_bytes_s: float | None = None
    trend: tuple[int, ...] = ()  # its memory over the last minute (series.py)

    @property
    def disk_bytes_s(self) -> float | None:
        if self.read_bytes_s is None or self.written_bytes_s is None:
            return None
        return self.read_bytes_s + self.written_bytes_s


@dataclass(frozen=True, slots=True)
class Pause:
    """Who paused the job, since when, and what the guard does at the deadline."""

    by: str
    since_t: float
    deadline_t: float | None
    next_step: str | None


@dataclass(frozen=True, slots=True)
class Picture:
    kind: ViewKind = ViewKind.RUN
    run_id: str = ""
    title: str = ""
    state: JobState = JobState.STARTING
    pause: Pause | None = None
    exit_code: int | None = None
    stop_reason: str | None = None  # of the guard's last stop or kill
    exit: Mapping[str, object] | None = None  # the exit event
    diagnosed_as: str | None = None  # what `memwatch diagnose` takes for this run; None: it has no journal
    is_sharded: bool = False
    has_job: bool = True  # False: the machine itself, now or in its record
    can_shard: bool = False
    can_confine: bool = False
    is_guard_on: bool = True
    is_recorded: bool = False
    now_t: float = 0.0
    started_t: float | None = None
    judged: Judged | None = None
    sample: Sample | None = None
    room: MemoryRoom | None = None
    rates: Change = UNKNOWN_CHANGE  # over the last two seconds
    peak_job_bytes: int | None = None
    progress: Progress | None = None
    need: RunNeed | None = None  # what the whole run will need
    need_warning: str | None = None  # that it will not fit, in words; while the forecast says so
    nodes: tuple[NodeRow, ...] = ()  # of a run on many machines
    points: tuple[SeriesPoint, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    others: tuple[Process, ...] | None = None
    happenings: tuple[EventLine, ...] = ()
    output: tuple[TextLine, ...] = ()

    @property
    def elapsed_s(self) -> float | None:
        return None if self.started_t is None else max(self.now_t - self.started_t, 0.0)

    @property
    def is_confined(self) -> bool:
        return self.exit is None and self.judged is not None and self.judged.confined_bytes is not None

    @property
    def full_in_s(self) -> float | None:
        """When the guard expects memory to be full; None if it expects nothing, or the job that filled it is paused."""
        judged = self.judged
        if judged is None or not judged.is_credible:
            return None
        if self.state == JobState.PAUSED and judged.job_fills:
            return None  # From before the pause; stopped processes do not grow.
        return judged.seconds_left

    @property
    def job_ram_bytes(self) -> int | None:
        """What the job takes in RAM, as the guard counts it: shared pages once, page cache not at all."""
        return None if self.sample is None or not self.sample.job else self.sample.job_ram_bytes

    @property
    def job_bytes(self) -> int | None:
        return self.sample.job_bytes if self.sample is not None and self.sample.job else None
