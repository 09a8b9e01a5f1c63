"""Sample: the raw readings of one instant. Unknown is None, never 0. Rates come from two samples, elsewhere."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Memory:
    """The host's, from /proc/meminfo; reclaimable ZFS cache counts as available."""

    total_bytes: int
    available_bytes: int
    swap_total_bytes: int
    swap_free_bytes: int
    zram_bytes: int | None = None  # the part of the swap that is compressed RAM
    shmem_bytes: int | None = None  # tmpfs, memfd and shared anonymous memory, mapped or not
    swap_cached_bytes: int | None = None  # of the swap in use: in RAM as well, and not available

    @property
    def swapped_out_bytes(self) -> int:
        """What is in swap only. A page that was written or read back can have a place in both for minutes."""
        return max(self.swap_total_bytes - self.swap_free_bytes - (self.swap_cached_bytes or 0), 0)


@dataclass(frozen=True, slots=True)
class Limit:
    """A memory cgroup above the job that has a limit. `used_bytes` is without page cache and slab that can be dropped.

    `kept_bytes`: so much of the reserve is kept by the limit itself, because the guard set it so (scope/limit.py).
    It counts as available, from which the whole reserve is then taken.
    `swap_used_bytes` is 0 for a limit on RAM and swap together: there a page that goes out frees nothing.
    """

    path: str
    limit_bytes: int
    used_bytes: int
    swap_used_bytes: int | None = None
    kept_bytes: int | None = None
    shmem_bytes: int | None = None  # of what is used: tmpfs, memfd and shared anonymous memory
    swap_cached_bytes: int | None = None  # as Memory has it: in `used_bytes` and in `swap_used_bytes`

    @property
    def available_bytes(self) -> int:
        return max(self.limit_bytes - self.used_bytes, 0) + (self.kept_bytes or 0)

    @property
    def swapped_out_bytes(self) -> int | None:
        """Bytes that are in swap and not also in RAM."""
        return None if self.swap_used_bytes is None else max(self.swap_used_bytes - (self.swap_cached_bytes or 0), 0)


@dataclass(frozen=True, slots=True)
class Pressure:
    """Time stalled since boot, in microseconds (PSI `total=`)."""

    memory_some_us: int
    memory_full_us: int
    io_some_us: int | None = None
    io_full_us: int | None = None


@dataclass(frozen=True, slots=True)
class Paging:
    """Counters since boot. `page_bytes` is the machine's, which ARM and POWER have larger; old journals lack it."""

    swapped_in_pages: int
    swapped_out_pages: int
    major_faults: int | None
    refaults: int | None = None  # pages read back soon after they were dropped
    oom_kills: int | None = None  # by the kernel, on the whole machine
    page_bytes: int = 4096

    @property
    def swapped_in_bytes(self) -> int:
        return self.swapped_in_pages * self.page_bytes

    @property
    def swapped_out_bytes(self) -> int:
        return self.swapped_out_pages * self.page_bytes


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    start_ticks: int  # with the pid, names one process for ever
    parent_pid: int
    state: str
    rss_bytes: int
    swap_bytes: int
    cpu_s: float
    read_bytes: int | None
    written_bytes: int | None
    command: str
    # Anonymous and shared memory that this process alone accounts for: of a page that several have mapped, its share.
    # No page cache. None: not known yet.
    own_bytes: int | None = None
    major_faults: int | None = None  # since it started
    name: str | None = None  # that a forked process gave itself, where it differs from its parent's

    @property
    def taken_bytes(self) -> int:
        """RSS and swap, as top and ps show them: what views sort by. A shared page counts in every process."""
        return self.rss_bytes + self.swap_bytes

    @property
    def ram_bytes(self) -> int:
        return self.rss_bytes if self.own_bytes is None else self.own_bytes

    @property
    def footprint_bytes(self) -> int:
        """What would come free if it ended, in RAM and in swap."""
        return self.ram_bytes + self.swap_bytes


@dataclass(frozen=True, slots=True)
class Rest:
    """Processes of the job that are too many to be listed one by one, added up."""

    processes: int
    rss_bytes: int
    swap_bytes: int
    own_bytes: int  # as Process has it, and RSS for those of which it is not known


@dataclass(frozen=True, slots=True)
class JobCounters:
    """What the job itself has suffered since it started: counters of its own cgroup, or else of its processes."""

    major_faults: int | None = None
    refaults: int | None = None
    stall_some_us: int | None = None
    stall_full_us: int | None = None
    oom_kills: int | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    index: int
    name: str
    used_fraction: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    job_memory_bytes: int | None = None
    asleep: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """`t` is Unix time, for people; `clock_s` is monotonic, for arithmetic."""

    t: float
    clock_s: float
    memory: Memory | None
    limits: tuple[Limit, ...] = ()
    pressure: Pressure | None = None
    paging: Paging | None = None
    job: tuple[Process, ...] = ()
    disk_free_bytes: int | None = None
    gpus: tuple[Gpu, ...] | None = None
    others: tuple[Process, ...] | None = None  # the biggest that are not the job's; None: not read for this sample
    job_files_bytes: int | None = None  # tmpfs and memfd files written by the job that no process of it has mapped
    job_counters: JobCounters | None = None
    job_rest: Rest | None = None  # where `job` has only the biggest, as in journals
    job_untouched_bytes: int | None = None  # memory that the job has allocated and not used yet

    @property
    def job_bytes(self) -> int:
        """What the job takes, in RAM and in swap."""
        return self.job_ram_bytes + self.job_swap_bytes

    @property
    def job_ram_bytes(self) -> int:
        """What the job takes in RAM: a page that several of its processes share counts once."""
        rest = 0 if self.job_rest is None else self.job_rest.own_bytes
        return sum(process.ram_bytes for process in self.job) + rest + (self.job_files_bytes or 0)

    @property
    def job_swap_bytes(self) -> int:
        rest = 0 if self.job_rest is None else self.job_rest.swap_bytes
        return sum(process.swap_bytes for process in self.job) + rest

    @property
    def job_rss_bytes(self) -> int:
        """As other tools add it up: shared pages count for every process."""
        rest = 0 if self.job_rest is None else self.job_rest.rss_bytes
        return sum(process.rss_bytes for process in self.job) + rest

    @property
    def job_processes(self) -> int:
        return len(self.job) + (0 if self.job_rest is None else self.job_rest.processes)

    def listing(self, most: int) -> "Sample":
        """The same with no more than so many processes of the job, the biggest, and the rest added up."""
        if len(self.job) <= most:
            return self
        by_size = sorted(self.job, key=lambda process: -process.footprint_bytes)
        shown = {(process.pid, process.start_ticks) for process in by_size[:most]}
        left = by_size[most:]
        before = self.job_rest or Rest(0, 0, 0, 0)
        rest = Rest(
            before.processes + len(left),
            before.rss_bytes + sum(process.rss_bytes for process in left),
            before.swap_bytes + sum(process.swap_bytes for process in left),
            before.own_bytes + sum(process.ram_bytes for process in left),
        )
        job = tuple(process for process in self.job if (process.pid, process.start_ticks) in shown)
        return replace(self, job=job, job_rest=rest)

    @property
    def capacity(self) -> tuple[int, str] | None:
        """The smallest of RAM and every limit above the job, and the limit's path; None if nothing is known."""
        sizes = [(limit.limit_bytes, limit.path) for limit in self.limits]
        if self.memory is not None:
            sizes.append((self.memory.total_bytes, ""))
        return min(sizes, default=None)

    @property
    def available_bytes(self) -> int | None:
        """The tightest of the host and every limit above the job; None if nothing is known."""
        known = [limit.available_bytes for limit in self.limits]
        if self.memory is not None:
            known.append(self.memory.available_bytes)
        return min(known, default=None)
