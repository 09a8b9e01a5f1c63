"""History: the last half minute of samples, reduced to what a forecast needs, in bounded space.

A `Room` is one place where memory can end: the host, or a limit above the job. How much of it is left falls when
memory is used, and rises when the kernel swaps something out; the second is no relief but a debt. So `shrunk_bytes`
counts what was swapped out, net, as used; but not pages in swap that are still in RAM or back in it, because these are
used as it is. Page cache appears in neither.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace

from memwatch.model.sample import JobCounters, Process, Sample

HOST = ""  # the name of the host's room; a limit's is its path
KEPT_S = 30.0
# Age, and how far apart points of that age are kept: the last second in full, because a job near the end of its room is
# sampled every 20 ms; half a minute of that would be 1500 points.
KEPT_STEPS_S = ((1.0, 0.0), (5.0, 0.1), (KEPT_S, 1.0))
POINTS = 160  # 1 s at 50 Hz, 4 s at 10 Hz and 25 s at 1 Hz are 115; the rest is slack, so that thinning is rare


@dataclass(frozen=True, slots=True)
class Room:
    """The memory of the machine, or of a cgroup with a limit, at one instant."""

    capacity_bytes: int
    available_bytes: int
    swapped_bytes: int | None  # in swap and not in RAM

    def shrunk_bytes(self, earlier: "Room") -> int:
        """How much less is left than earlier, had nothing been swapped meanwhile."""
        shrunk = earlier.available_bytes - self.available_bytes
        if self.swapped_bytes is not None and earlier.swapped_bytes is not None:
            shrunk += self.swapped_bytes - earlier.swapped_bytes
        return shrunk


@dataclass(frozen=True, slots=True)
class Point:
    """What the history keeps of a sample."""

    clock_s: float
    rooms: dict[str, Room]
    job_bytes: int | None
    job_untouched_bytes: int | None
    job_read_s: float  # when the job was read; between two readings samples carry the last one
    stall_some_us: int | None
    stall_full_us: int | None
    swapped_in_bytes: int | None
    swapped_out_bytes: int | None
    major_faults: int | None
    refaults: int | None
    job: JobCounters


class History:
    """The last 30 s of samples, thinned with age, in bounded space."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self._times: list[float] = []
        self._job: tuple[Process, ...] | None = None
        self._job_read_s = 0.0

    def add(self, sample: Sample) -> None:
        """A sample that is not newer than the last one teaches nothing and is left out."""
        if self._times and sample.clock_s <= self._times[-1]:
            return
        if sample.job is not self._job:
            self._job, self._job_read_s = sample.job, sample.clock_s
        self._points.append(_point(sample, self._job_read_s))
        self._times.append(sample.clock_s)
        if len(self._points) > POINTS:
            self._thin()

    def nothing_moved_until(self, clock_s: float) -> None:
        """Note that everything was as in the latest sample until then; so what is seen next has happened since."""
        if self._points and clock_s > self._times[-1]:
            self._points.append(replace(self._points[-1], clock_s=clock_s, job_read_s=clock_s))
            self._times.append(clock_s)

    def forget(self) -> None:
        """Drop all points, after a time without samples: an average over it says nothing about now."""
        self._points.clear()
        self._times.clear()

    @property
    def latest(self) -> Point | None:
        return self._points[-1] if self._points else None

    def index_before(self, seconds: float) -> int | None:
        """The index of the newest point at least `seconds` older than the latest; None if history is shorter."""
        index = bisect_right(self._times, self._times[-1] - seconds) - 1
        return index if index >= 0 else None

    def at(self, clock_s: float) -> Point | None:
        """The newest point that is not later."""
        index = bisect_right(self._times, clock_s) - 1
        return self._points[index] if index >= 0 else None

    def before(self, seconds: float, at_least_s: float) -> Point | None:
        """The newest point at least `seconds` old, or in a shorter history the oldest, if `at_least_s` old."""
        index = self.index_before(seconds)
        if index is not None:
            return self._points[index]
        return self._points[0] if self._times[-1] - self._times[0] >= at_least_s else None

    def __getitem__(self, index: int) -> Point:
        return self._points[index]

    def __len__(self) -> int:
        return len(self._points)

    def _thin(self) -> None:
        now_s, kept_s = self._times[-1], float("-inf")
        kept: list[Point] = []
        for point in self._points:
            age_s = now_s - point.clock_s
            step_s = next((step_s for most_s, step_s in KEPT_STEPS_S if age_s <= most_s), None)
            if step_s is not None and point.clock_s - kept_s >= step_s:
                kept.append(point)
                kept_s = point.clock_s
        # A guard that was asked for more than 50 Hz keeps the newest.
        self._points = kept[-POINTS:]
        self._times = [point.clock_s for point in self._points]


def _point(sample: Sample, job_read_s: float) -> Point:
    paging, pressure = sample.paging, sample.pressure
    swapped_in = None if paging is None else paging.swapped_in_bytes
    swapped_out = None if paging is None else paging.swapped_out_bytes
    return Point(
        clock_s=sample.clock_s,
        rooms=rooms_of(sample),
        job_bytes=sample.job_bytes if sample.job else None,
        job_untouched_bytes=sample.job_untouched_bytes,
        job_read_s=job_read_s,
        stall_some_us=None if pressure is None else pressure.memory_some_us,
        stall_full_us=None if pressure is None else pressure.memory_full_us,
        swapped_in_bytes=swapped_in,
        swapped_out_bytes=swapped_out,
        major_faults=None if paging is None else paging.major_faults,
        refaults=None if paging is None else paging.refaults,
        job=sample.job_counters or JobCounters(),
    )


def rooms_of(sample: Sample) -> dict[str, Room]:
    """The host's swap is not looked at where a sample leaves out its paging: of a confined job's (confine.py)."""
    rooms = {
        limit.path: Room(limit.limit_bytes, limit.available_bytes, limit.swapped_out_bytes) for limit in sample.limits
    }
    if (memory := sample.memory) is not None:
        swapped_bytes = None if sample.paging is None else memory.swapped_out_bytes
        rooms[HOST] = Room(memory.total_bytes, memory.available_bytes, swapped_bytes)
    return rooms
