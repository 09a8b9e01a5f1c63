"""Whether an OOM kill by the kernel has just happened, from the kernel's count of OOM kills.

The count does not say whom: the whole machine has one. A job that ends by SIGKILL in the same moment is the likely one,
the more so as the guard has put it first in line.
"""

from memwatch.model.sample import Sample

# A process of many GiB takes a while to exit, and samples are at most a second apart.
LATELY_S = 10.0


class KernelKills:
    def __init__(self, count_before: int | None = None) -> None:
        self._count = count_before  # before the job started: it may be killed before the first sample
        self._rose_s = float("-inf")

    def look(self, sample: Sample) -> None:
        count = None if sample.paging is None else sample.paging.oom_kills
        if count is not None and self._count is not None and count > self._count:
            self._rose_s = sample.clock_s
        self._count = count

    def happened_by(self, clock_s: float) -> bool:
        return clock_s - self._rose_s <= LATELY_S
