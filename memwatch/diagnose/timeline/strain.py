"""The strain between two samples: traffic between memory and disk, and programs that wait for it."""

from dataclasses import dataclass

from memwatch.diagnose.timeline.model import Strain
from memwatch.model.rates import change_between
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
            return None  # Refaults alone are usual on a machine that reads big files.
        faults, most = (self.refaults, REFAULTS_S) if self.refaults_known else (self.major_faults, MAJOR_FAULTS_S)
        if faults >= most * self.span_s:
            return Strain.CHURN
        return Strain.STALLED if stalled >= HEAVY_STALL_FRACTION else None


def between(earlier: Sample, later: Sample) -> Interval:
    change, span_s = change_between(earlier, later), later.clock_s - earlier.clock_s

    def total(rate: float | None) -> int:
        return round((rate or 0.0) * span_s)

    return Interval(
        earlier.t,
        later.t,
        span_s,
        memory_stalled=change.stall_some_fraction,
        disk_stalled=change.io_stall_full_fraction,
        swapped_in_bytes=total(change.swap_in_bytes_s),
        swapped_out_bytes=total(change.swap_out_bytes_s),
        refaults=total(change.refaults_s),
        refaults_known=change.refaults_s is not None,
        major_faults=total(change.major_faults_s),
    )
