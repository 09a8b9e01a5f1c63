"""The strain between two samples: traffic between memory and disk, programs that wait for it, and the cards."""

from collections.abc import Iterable
from dataclasses import dataclass

from memwatch.diagnose.timeline.model import GpuUse, Strain
from memwatch.model.rates import change_between
from memwatch.model.sample import Gpu, Sample
from memwatch.model.units import MIB


class GpuSums:
    """Adds up the use of the GPUs."""

    def __init__(self) -> None:
        self._uses: dict[int, list[float]] = {}
        self._last: dict[int, Gpu] = {}
        self._memory: dict[int, tuple[int, float]] = {}
        self._awake: set[int] = set()
        self.known = False

    def see(self, gpus: Iterable[Gpu] | None, t: float) -> None:
        if gpus is None:
            return
        self.known = True
        for gpu in gpus:
            self._last[gpu.index] = gpu
            if not gpu.asleep:
                self._awake.add(gpu.index)
            if gpu.used_fraction is not None:
                use = self._uses.setdefault(gpu.index, [0.0, 0.0])  # sum, count
                use[0] += gpu.used_fraction
                use[1] += 1
            if gpu.memory_used_bytes is not None:
                self._memory[gpu.index] = max(self._memory.get(gpu.index, (-1, t)), (gpu.memory_used_bytes, t))

    def uses(self) -> tuple[GpuUse, ...] | None:
        return tuple(self._use(index) for index in sorted(self._last)) if self.known else None

    def _use(self, index: int) -> GpuUse:
        last, use, memory = self._last[index], self._uses.get(index), self._memory.get(index)
        return GpuUse(
            name=last.name,
            mean_used_fraction=None if use is None else use[0] / use[1],
            most_memory_bytes=None if memory is None else memory[0],
            memory_total_bytes=last.memory_total_bytes,
            most_memory_t=None if memory is None else memory[1],
            asleep=index not in self._awake,
        )


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
