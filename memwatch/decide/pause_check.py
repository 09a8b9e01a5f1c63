"""Whether a pause holds. What a process does in the kernel goes on: MAP_POPULATE fills gigabytes before it stops."""

from collections.abc import Collection
from dataclasses import dataclass

from memwatch.model.sample import Process, Sample
from memwatch.model.units import MIB, format_size

# Less than this may be rounding, or pages that were about to be counted.
SMALLEST_GROWTH_BYTES = 16 * MIB


@dataclass(frozen=True, slots=True)
class Runaway:
    """A process that grows although it is paused, at the expense of the reserve: only SIGKILL stops it now."""

    process: Process
    grown_bytes: int
    used_of_reserve_bytes: int

    @property
    def reason(self) -> str:
        return (
            f"process {self.process.pid} ({self.process.command}) grew {format_size(self.grown_bytes)}"
            f" after it was paused and does not stop; {format_size(self.used_of_reserve_bytes)} of the reserve are used"
        )


def runaway(
    first: Sample, now: Sample, not_stopped: Collection[int], headroom_bytes: int | None, reserve_bytes: int
) -> Runaway | None:
    """The guard calls it at every sample of a pause; `first` is its first. None: the pause holds, or there is time.

    `not_stopped` are the pids that have not stopped yet: a process that has stopped cannot be the one.
    """
    if headroom_bytes is None or headroom_bytes >= -reserve_bytes / 2:
        return None
    before = {(p.pid, p.start_ticks): p.taken_bytes for p in first.job}
    grown = [(p.taken_bytes - before.get((p.pid, p.start_ticks), 0), p) for p in now.job if p.pid in not_stopped]
    grown_bytes, process = max(grown, key=lambda pair: pair[0], default=(0, None))
    if process is None or grown_bytes < SMALLEST_GROWTH_BYTES:
        return None
    return Runaway(process, grown_bytes, -headroom_bytes)
