"""Evidence: all that was read, as values. The findings are functions of it and of nothing else."""

from dataclasses import dataclass

from memwatch.diagnose.findings import Source
from memwatch.diagnose.logs.log_events import LogEvents
from memwatch.diagnose.timeline.model import Timeline
from memwatch.model.sample import Sample


@dataclass(frozen=True, slots=True)
class Disk:
    path: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Settings:
    """How this machine handles memory; None where that is not known."""

    swappiness: int | None = None
    overcommit: int | None = None
    dirty_ratio: int | None = None  # in percent of what is available
    dirty_bytes: int | None = None  # takes the ratio's place where it is not 0
    huge_pages: str | None = None  # always, madvise, never
    min_ttl_ms: int | None = None  # of MGLRU: memory used more recently is not taken away

    def dirty_limit_bytes(self, available_bytes: int | None) -> int | None:
        """How much may wait to be written before writers have to wait."""
        if self.dirty_bytes:
            return self.dirty_bytes
        if self.dirty_ratio is None or available_bytes is None:
            return None
        return available_bytes * self.dirty_ratio // 100


@dataclass(frozen=True, slots=True)
class State:
    """The state of the machine at the time of the diagnosis."""

    sample: Sample
    uptime_s: float | None = None
    cores: int | None = None
    cpu_some_avg300: float | None = None  # percent of the last five minutes in which some program waited for a core
    dirty_bytes: int | None = None
    disks: tuple[Disk, ...] = ()
    settings: Settings = Settings()


@dataclass(frozen=True, slots=True)
class Run:
    """What a journal says about one run, beside its samples."""

    run_id: str
    name: str  # its program, or its command line with --show-commands
    started_t: float | None = None
    ended_t: float | None = None
    signal: int | None = None
    by: str | None = None
    pids: frozenset[int] = frozenset()
    peak_job_bytes: int | None = None
    stopped_t: float | None = None  # when memwatch sent SIGTERM
    first_reason: str | None = None  # why memwatch acted at all, before the stop
    stop_reason: str | None = None
    actions: tuple[tuple[str, float], ...] = ()  # what was done, and when
    forecast: tuple[float, str] | None = None  # when the guard warned that the run would not fit, and how
    gpu_full_words: str | None = None  # the job's own, of a card without memory
    disk_full_words: str | None = None

    @property
    def stopped_by_memwatch(self) -> bool:
        return self.by == "guard"


@dataclass(frozen=True, slots=True)
class Evidence:
    now_t: float
    state: State | None = None
    log: LogEvents | None = None  # None: none could be read
    timelines: tuple[Timeline, ...] = ()
    runs: tuple[Run, ...] = ()
    sources: tuple[Source, ...] = ()
    start_t: float | None = None  # what is older was not asked about
    end_t: float | None = None
    is_of_run: bool = False  # asked about is one run, and not the machine
    is_pasted: bool = False  # the log is from anywhere: nothing of this machine may enter the verdict

    def name_of(self, pid: int | None, comm: str) -> str:
        """As the records call it, who know more of its command line than the kernel's log does."""
        for line in self.timelines:
            seen = [line.growers, *((*each.growers, *each.swapped, *each.biggest) for each in line.stretches)]
            for growth in (growth for growths in seen for growth in growths):
                # The kernel keeps 15 bytes of a name.
                if growth.pid == pid and growth.name.split(" ")[0].startswith(comm[:15]):
                    return growth.name
        return comm

    def run_of(self, pid: int | None) -> Run | None:
        return next((run for run in self.runs if pid in run.pids), None)
