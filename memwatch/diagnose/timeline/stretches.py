"""A stretch in the making."""

from dataclasses import dataclass, field

from memwatch.diagnose.timeline.growth import Growths
from memwatch.diagnose.timeline.model import Strain, Stretch
from memwatch.diagnose.timeline.strain import GpuSums, Interval
from memwatch.model.sample import Limit, Sample

TIGHT_SHARE = 0.10  # of a limit: as good as nothing
FULL_SWAP_SHARE = 0.02


@dataclass(slots=True)
class OpenStretch:
    start_t: float
    end_t: float
    by_strain: dict[Strain, float] = field(default_factory=dict)
    stalled_s: float = 0.0
    known_s: float = 0.0
    swapped_in_bytes: int = 0
    swapped_out_bytes: int = 0
    refaults: int = 0
    available: tuple[int, float] | None = None
    last_memory: Sample | None = None
    swap_full_t: float | None = None
    limit: Limit | None = None
    longest_gap_s: float = 0.0
    gpus: GpuSums = field(default_factory=GpuSums)

    def take(self, interval: Interval, strain: Strain) -> None:
        self.end_t = interval.end_t
        self.by_strain[strain] = self.by_strain.get(strain, 0.0) + interval.span_s
        self.swapped_in_bytes += interval.swapped_in_bytes
        self.swapped_out_bytes += interval.swapped_out_bytes
        self.refaults += interval.refaults
        if interval.memory_stalled is not None:
            self.stalled_s += interval.memory_stalled * interval.span_s
            self.known_s += interval.span_s

    def see(self, sample: Sample) -> None:
        memory = sample.memory
        if memory is not None:
            self.last_memory = sample
            now = (memory.available_bytes, sample.t)
            self.available = min(self.available or now, now)
            used_up = memory.swap_free_bytes <= FULL_SWAP_SHARE * memory.swap_total_bytes
            if memory.swap_total_bytes and used_up and self.swap_full_t is None:
                self.swap_full_t = sample.t
        for limit in sample.limits:
            if limit.available_bytes <= TIGHT_SHARE * limit.limit_bytes and (
                self.limit is None or limit.limit_bytes < self.limit.limit_bytes
            ):
                self.limit = limit
        self.gpus.see(sample.gpus, sample.t)

    def closed(self, growths: Growths, cut_off: bool) -> Stretch:
        memory = None if self.last_memory is None else self.last_memory.memory
        return Stretch(
            strain=self.strain,
            start_t=self.start_t,
            end_t=self.end_t,
            strained_s=self.strained_s,
            stalled_fraction=self.stalled_s / self.known_s if self.known_s else None,
            swapped_in_bytes=self.swapped_in_bytes,
            swapped_out_bytes=self.swapped_out_bytes,
            refaults=self.refaults,
            least_available_bytes=None if self.available is None else self.available[0],
            least_available_t=None if self.available is None else self.available[1],
            total_bytes=None if memory is None else memory.total_bytes,
            swap_total_bytes=None if memory is None else memory.swap_total_bytes,
            swap_full_t=self.swap_full_t,
            zram_bytes=None if memory is None else memory.zram_bytes,
            limit=self.limit,
            longest_gap_s=self.longest_gap_s,
            growers=growths.growers(self.start_t),
            swapped=growths.swapped(self.start_t),
            biggest=growths.biggest(self.start_t),
            gpus=self.gpus.uses(),
            cut_off=cut_off,
        )

    @property
    def strained_s(self) -> float:
        return sum(self.by_strain.values())

    @property
    def strain(self) -> Strain:
        """Swap, where it had a part worth naming; else what lasted longest."""
        if self.by_strain.get(Strain.SWAP, 0.0) >= self.strained_s / 4:
            return Strain.SWAP
        return max(self.by_strain, key=lambda strain: self.by_strain[strain])
