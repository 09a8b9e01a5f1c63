"""A timeline: what a record of samples shows.

stretch   a time in which programs waited for memory: swap in and out at once, refaults, stalls
gap       the recorder itself did not get to run; time went on, for the monotonic clock too
sleep     the wall clock went on and the monotonic one did not: suspended, or the clock was set
cut       the record ends without an end: the machine, or the recorder, went down
"""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.diagnose.timeline.growth import Growth
from memwatch.model.sample import Limit


class Strain(StrEnum):
    SWAP = "swap"
    CHURN = "churn"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class GpuUse:
    """The use of one GPU over time, and its peak."""

    name: str
    mean_used_fraction: float | None
    most_memory_bytes: int | None
    memory_total_bytes: int | None
    most_memory_t: float | None
    asleep: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    strain: Strain
    start_t: float
    end_t: float
    strained_s: float
    stalled_fraction: float | None  # of the strained time
    swapped_in_bytes: int
    swapped_out_bytes: int
    refaults: int
    least_available_bytes: int | None
    least_available_t: float | None
    total_bytes: int | None
    swap_total_bytes: int | None
    swap_full_t: float | None
    zram_bytes: int | None
    limit: Limit | None  # where it was full: the tightest
    longest_gap_s: float
    growers: tuple[Growth, ...]  # who grew most first
    swapped: tuple[Growth, ...]  # of whom most was in swap first
    biggest: tuple[Growth, ...]
    gpus: tuple[GpuUse, ...] | None
    cut_off: bool = False  # the record ends in it


@dataclass(frozen=True, slots=True)
class Gap:
    start_t: float
    end_t: float
    memory_stalled_fraction: float | None
    disk_stalled_fraction: float | None
    busy_cores: float | None
    available_bytes: int | None  # the less of before and after


@dataclass(frozen=True, slots=True)
class Sleep:
    start_t: float
    end_t: float


@dataclass(frozen=True, slots=True)
class Cut:
    t: float
    available_bytes: int | None
    total_bytes: int | None
    rebooted: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    name: str
    start_t: float | None = None
    end_t: float | None = None
    samples: int = 0
    stretches: tuple[Stretch, ...] = ()
    gaps: tuple[Gap, ...] = ()
    sleeps: tuple[Sleep, ...] = ()
    cuts: tuple[Cut, ...] = ()
    gpus: tuple[GpuUse, ...] | None = None
    knows_pressure: bool = False
    knows_paging: bool = False
    least_disk_free_bytes: int | None = None
    least_disk_free_t: float | None = None
    growers: tuple[Growth, ...] = ()  # of all its time
