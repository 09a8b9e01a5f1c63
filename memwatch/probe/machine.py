"""The machine, as the guard sees it: everything opened once, then a Sample whenever one is asked for."""

import os
from collections.abc import Collection
from heapq import nlargest

from memwatch.core.sample import Limit, Process, Sample
from memwatch.probe.biggest import biggest_processes
from memwatch.probe.cgroups import Limits
from memwatch.probe.gpu import GpuReader
from memwatch.probe.processes import JobTree
from memwatch.probe.procfs import HostMemory, HostPaging, HostPressure

# A job that has shed more branches than this has most of them in the same cgroup.
_MOST_BRANCHES = 8
_LARGEST_CHILDREN = 4
OTHERS_INTERVAL_S = 10.0


class Machine:
    """Reads no clock: the caller says what time it is. `output_folder` is where disk space is watched.

    It looks at the processes that are not the job's only once in `others_interval_s`.
    """

    def __init__(
        self,
        proc_root: str = "/proc",
        sys_root: str = "/sys",
        output_folder: str | None = None,
        self_pid: int | None = None,
        gpus_in_background: bool = True,
        others_interval_s: float = OTHERS_INTERVAL_S,
    ) -> None:
        self.output_folder = output_folder
        self._proc_root = proc_root
        self._self_pid = os.getpid() if self_pid is None else self_pid
        self._memory = HostMemory(proc_root)
        self._pressure = HostPressure(proc_root)
        self._paging = HostPaging(proc_root)
        self._limits = Limits(proc_root, sys_root)
        self._tree = JobTree(proc_root, self._self_pid)
        self._gpus = GpuReader(proc_root, sys_root, gpus_in_background)
        self._others_interval_s = others_interval_s
        self._others_due_s = float("-inf")

    def sample(self, clock_s: float, t: float, roots: Collection[int], spared: Collection[int] = ()) -> Sample:
        """One instant. What `roots` and `spared` mean is told in processes.py; () is the machine without a job."""
        memory = self._memory.read()
        swap_in_use = memory is None or memory.swap_free_bytes < memory.swap_total_bytes
        job = self._tree.read(roots, clock_s, spared, swap_in_use)
        job_pids = {process.pid for process in job}
        return Sample(
            t=t,
            clock_s=clock_s,
            memory=memory,
            limits=self._limits_above(job),
            pressure=self._pressure.read(),
            paging=self._paging.read(),
            job=job,
            disk_free_bytes=None if self.output_folder is None else disk_free_bytes(self.output_folder),
            gpus=self._gpus.read(clock_s, job_pids),
            others=self._others(clock_s, job_pids, swap_in_use),
        )

    def job(self, clock_s: float, roots: Collection[int], spared: Collection[int] = ()) -> tuple[Process, ...]:
        """The job alone, looking everywhere at once whatever it costs: for the moment before it is signalled."""
        return self._tree.read(roots, clock_s, spared, thorough=True)

    def missing(self) -> list[tuple[str, str]]:
        """(what, why) for everything that this machine does not show; of graphics, as of the last sample."""
        missing = [
            *self._memory.missing(),
            *self._pressure.missing(),
            *self._paging.missing(),
            *self._limits.missing(),
            *self._tree.missing(),
        ]
        if self._gpus.reason is not None:
            missing.append(("graphics card", self._gpus.reason))
        if self.output_folder is not None and disk_free_bytes(self.output_folder) is None:
            missing.append(("disk space", f"the file system of {self.output_folder} does not tell"))
        return missing

    def close(self) -> None:
        for part in (self._memory, self._pressure, self._paging, self._limits, self._tree, self._gpus):
            part.close()

    def _others(self, clock_s: float, job_pids: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
        if clock_s < self._others_due_s:
            return None
        self._others_due_s = clock_s + self._others_interval_s
        return biggest_processes(self._proc_root, job_pids, swap_in_use)

    def _limits_above(self, job: tuple[Process, ...]) -> tuple[Limit, ...]:
        """The job's limits, which need not be the guard's: it may be in a scope of its own.

        A child can be in a tighter cgroup than its parent. Its limit counts if the child is among the largest: there
        the kernel kills first, and to ask for the cgroup of each of hundreds of processes would take too long.
        """
        pids = {process.pid for process in job}
        branches = [process.pid for process in job if process.parent_pid not in pids]
        largest = nlargest(_LARGEST_CHILDREN, job, key=lambda process: process.rss_bytes) if len(job) > 1 else ()
        asked = dict.fromkeys([*branches[:_MOST_BRANCHES], *(process.pid for process in largest)])
        return self._limits.read(asked or [self._self_pid])


def disk_free_bytes(folder: str) -> int | None:
    """For an ordinary user, in the folder or in what it will be made in."""
    try:
        folder = os.path.abspath(folder)
        while not os.path.exists(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        status = os.statvfs(folder)
    except OSError:
        return None  # It may even be that the working folder was removed.
    return status.f_bavail * status.f_frsize
