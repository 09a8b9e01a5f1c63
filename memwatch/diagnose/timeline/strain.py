"""The strain between two samples: traffic between memory and disk, and programs that wait for it."""

from dataclasses import dataclass

from memwatch.diagnose.timeline.model import Strain
from memwatch.model.sample import Sample
from memwatch.model.units import MIB

SWAP_BYTES_S = 1 * MIB  # in and out at once; a disk that thrashes at random may manage no more
REFAULTS_S = 1000.0
MAJOR_FAULTS_S = 200.0  # where the kernel does not count refaults
STALL_FRACTION = 0.10
HEAVY_STALL_FRACTION = 0.25  # with no traffic to explain it


@dataclass(slots=True)
class Interval:
    """What happened between two samples; None is unknown."""

    start_t: float
    end_t: float
    span_s: float
    memory_stalled: float | None
    disk_stalled: float | None
    swapped_in_bytes: int
    swapped_out_bytes: int
    refaults: int
    refaults_known: bool
    major_faults: int

    @property
    def strain(self) -> Strain | None:
        stalled = self.memory_stalled
        if stalled is not None and stalled < STALL_FRACTION:
            return None
        if min(self.swapped_in_bytes, self.swapped_out_bytes) >= SWAP_BYTES_S * self.span_s:
            return Strain.SWAP
        if stalled is None:
            return None  # Refaults alone are the daily bread of a machine that reads big files.
        faults, most = (self.refaults, REFAULTS_S) if self.refaults_known else (self.major_faults, MAJOR_FAULTS_S)
        if faults >= most * self.span_s:
            return Strain.CHURN
        return Strain.STALLED if stalled >= HEAVY_STALL_FRACTION else None


def between(earlier: Sample, later: Sample, page_bytes: int) -> Interval:
    span_s = later.clock_s - earlier.clock_s
    before, after = earlier.pressure, later.pressure
    memory = disk = None
    if before is not None and after is not None:
        memory = _fraction(before.memory_some_us, after.memory_some_us, span_s)
        disk = _fraction(before.io_full_us, after.io_full_us, span_s)
    swapped_in = swapped_out = refaults = major_faults = 0
    refaults_known = False
    if earlier.paging is not None and later.paging is not None:
        swapped_in = max(later.paging.swapped_in_pages - earlier.paging.swapped_in_pages, 0) * page_bytes
        swapped_out = max(later.paging.swapped_out_pages - earlier.paging.swapped_out_pages, 0) * page_bytes
        major_faults = max((later.paging.major_faults or 0) - (earlier.paging.major_faults or 0), 0)
        if earlier.paging.refaults is not None and later.paging.refaults is not None:
            refaults, refaults_known = max(later.paging.refaults - earlier.paging.refaults, 0), True
    return Interval(
        earlier.t, later.t, span_s, memory, disk, swapped_in, swapped_out, refaults, refaults_known, major_faults
    )


def _fraction(before_us: int | None, after_us: int | None, span_s: float) -> float | None:
    if before_us is None or after_us is None or span_s <= 0:
        return None
    return min(max(after_us - before_us, 0) / 1e6 / span_s, 1.0)
