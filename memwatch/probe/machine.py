"""The machine, as the guard sees it: everything opened once, then a Sample per call.

Its cost does not grow with the job. Memory, limits and pressure are read for every sample: that is cheap. The job's
processes are read as often as TREE_SHARE of a core allows, by the CPU time that the last reading took; in between a
sample carries the tuple of the last reading. In danger more may be spent: TREE_SHARE_URGENT.
"""

import os
import time
from collections.abc import Collection
from dataclasses import replace
from heapq import nlargest

from memwatch.model.sample import JobCounters, Limit, Memory, Process, Sample
from memwatch.on_linux import IS_LINUX
from memwatch.probe.background import Background
from memwatch.probe.biggest import Biggest
from memwatch.probe.cgroups import JobCgroup, Limits
from memwatch.probe.cost_budget import Pace
from memwatch.probe.files_in_ram import FilesInRam
from memwatch.probe.gpu import GpuReader
from memwatch.probe.job_tree import JobTree
from memwatch.probe.procfs import HostMemory, HostPaging, HostPressure

# A job that has shed more branches than this has most of them in the same cgroup.
_BRANCHES_READ = 8
_LARGEST_CHILDREN = 4
OTHERS_INTERVAL_S = 10.0
OTHERS_SHARE = 0.001
DISK_INTERVAL_S = 1.0
GPU_WAIT_S = 2.0
TREE_SHARE = 0.004
TREE_SHARE_URGENT = 0.05
# psutil reads the job by listing every process of the machine: 6 ms with 150, ten times what /proc takes. With less, a
# reading is seconds old, and a job that grows quickly still counts as small.
PORTABLE_TREE_SHARE = 0.02
PORTABLE_TREE_SHARE_URGENT = 0.2


class Machine:
    """Reads no clock: the caller passes the time. `output_folder` is where disk space is watched.

    It looks at the processes that are not the job's only once in `others_interval_s`. `in_background` is for programs
    that must never wait: what can block is read on threads, and arrives some samples later. `job_cgroup_folder` is a
    cgroup that holds the job and nothing else; `shmem_before_bytes` is the host's shared memory before the job started.
    """

    def __init__(
        self,
        proc_root: str = "/proc",
        sys_root: str = "/sys",
        output_folder: str | None = None,
        self_pid: int | None = None,
        gpus_in_background: bool = True,
        others_interval_s: float = OTHERS_INTERVAL_S,
        in_background: bool = False,
        job_cgroup_folder: str | None = None,
        shmem_before_bytes: int | None = None,
    ) -> None:
        self.output_folder = output_folder
        self._self_pid = os.getpid() if self_pid is None else self_pid
        self._open(proc_root, sys_root, in_background)
        self._tree_pace = (
            Pace(TREE_SHARE, TREE_SHARE_URGENT) if IS_LINUX else Pace(PORTABLE_TREE_SHARE, PORTABLE_TREE_SHARE_URGENT)
        )
        self._job: tuple[Process, ...] = ()
        self._roots: Collection[int] = ()
        self._job_cgroup: JobCgroup | None = None
        self.follow_cgroup(job_cgroup_folder)
        self._files_in_ram = FilesInRam(shmem_before_bytes)
        self._disk = DiskSpace(in_background)
        self._gpus = GpuReader(proc_root, sys_root, gpus_in_background)
        self._others_interval_s = others_interval_s
        self._others_pace = Pace(OTHERS_SHARE, OTHERS_SHARE)
        self._others_due_s = float("-inf")

    def _open(self, proc_root: str, sys_root: str, in_background: bool) -> None:
        """The parts that differ between Linux and other systems."""
        if not IS_LINUX:
            from memwatch.probe import portable

            self._memory: HostMemory | portable.PortableMemory = portable.PortableMemory()
            self._pressure: HostPressure | portable.PortablePressure = portable.PortablePressure()
            self._paging: HostPaging | portable.PortablePaging = portable.PortablePaging()
            self._limits: Limits | portable.PortableLimits = portable.PortableLimits()
            self._tree: JobTree | portable.PortableTree = portable.PortableTree(self._self_pid)
            self._biggest: Biggest | portable.PortableBiggest = portable.PortableBiggest()
            return
        self._memory = HostMemory(proc_root)
        self._pressure = HostPressure(proc_root)
        self._paging = HostPaging(proc_root)
        self._limits = Limits(proc_root, sys_root)
        self._tree = JobTree(proc_root, self._self_pid, in_background)
        self._biggest = Biggest(proc_root, in_background)

    def sample(
        self,
        clock_s: float,
        t: float,
        roots: Collection[int],
        spared: Collection[int] = (),
        is_urgent: bool = False,
    ) -> Sample:
        """One instant. job_tree.py explains `roots` and `spared`; () is the machine without a job.

        `is_urgent`: danger is near, and the job is worth more CPU time.
        """
        memory = self._memory.read()
        swap_in_use = memory is None or memory.swap_free_bytes < memory.swap_total_bytes
        job = self._job_at(clock_s, roots, spared, swap_in_use, is_urgent)
        job_pids = {process.pid for process in job}
        limits = self._limits_above(job)
        return Sample(
            t=t,
            clock_s=clock_s,
            memory=memory,
            limits=limits,
            pressure=self._pressure.read(),
            paging=self._paging.read(),
            job=job,
            disk_free_bytes=None if self.output_folder is None else self._disk.free_bytes(self.output_folder, clock_s),
            gpus=self._gpus.read(clock_s, job_pids),
            others=self._others(clock_s, job_pids, swap_in_use),
            job_files_bytes=self._job_files_bytes(memory, limits) if job else None,
            job_untouched_bytes=self._tree.totals.untouched_bytes if job else None,
            job_counters=self._job_counters() if job else None,
        )

    def room_use(self) -> tuple[int, ...]:
        """A number for every room of the last sample that changes when memory is taken there: a twentieth of the cost
        of a sample, so that a job at rest in a small room can be checked ten times a second."""
        return (self._memory.available_bytes() or 0, *self._limits.use_bytes())

    def job(self, clock_s: float, roots: Collection[int], spared: Collection[int] = ()) -> tuple[Process, ...]:
        """The job alone, looking everywhere at once whatever it costs: for the moment before it is signalled."""
        self._job, self._roots = self._tree.read(roots, clock_s, spared, thorough=True), roots
        return self._job

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
            missing.append(("GPU", self._gpus.reason))
        if self.output_folder is not None and disk_free_bytes(self.output_folder) is None:
            missing.append(("disk space", f"the file system of {self.output_folder} does not report it"))
        return missing

    def follow_cgroup(self, folder: str | None) -> None:
        """The cgroup that the job alone is in, once there is one."""
        self._job_cgroup = None if folder is None else JobCgroup(folder)

    def close(self) -> None:
        for part in (self._memory, self._pressure, self._paging, self._limits, self._tree, self._gpus):
            part.close()
        for thread in (self._biggest, self._disk):
            thread.close()
        if self._job_cgroup is not None:
            self._job_cgroup.close()

    def _job_at(
        self, clock_s: float, roots: Collection[int], spared: Collection[int], swap_in_use: bool, is_urgent: bool
    ) -> tuple[Process, ...]:
        if roots == self._roots and not self._tree_pace.is_due(clock_s, is_urgent):
            return self._job
        began_s = time.thread_time()
        self._job, self._roots = self._tree.read(roots, clock_s, spared, swap_in_use), roots
        self._tree_pace.spent(clock_s, time.thread_time() - began_s)
        return self._job

    def _job_files_bytes(self, memory: Memory | None, limits: tuple[Limit, ...]) -> int | None:
        totals = self._tree.totals
        exact = None if self._job_cgroup is None else self._job_cgroup.shmem_bytes()
        if exact is not None:
            return max(exact - totals.own_shmem_bytes, 0)
        return self._files_in_ram.estimate(memory, limits, totals)

    def _job_counters(self) -> JobCounters:
        own = None if self._job_cgroup is None else self._job_cgroup.counters()
        return JobCounters(major_faults=self._tree.totals.major_faults) if own is None else own

    def _others(self, clock_s: float, job_pids: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
        if clock_s < self._others_due_s or not self._others_pace.is_due(clock_s):
            return self._biggest.late()
        self._others_due_s = clock_s + self._others_interval_s
        began_s = time.thread_time()
        found = self._biggest.look(job_pids, swap_in_use)
        self._others_pace.spent(clock_s, time.thread_time() - began_s)
        return found

    def _limits_above(self, job: tuple[Process, ...]) -> tuple[Limit, ...]:
        """The job's limits, which need not be the guard's: it may be in a scope of its own.

        A child can be in a tighter cgroup than its parent. Its limit counts if the child is among the largest: there
        the kernel kills first, and to ask for the cgroup of each of hundreds of processes would take too long.
        """
        pids = {process.pid for process in job}
        branches = [process.pid for process in job if process.parent_pid not in pids]
        largest = nlargest(_LARGEST_CHILDREN, job, key=lambda process: process.rss_bytes) if len(job) > 1 else ()
        asked = dict.fromkeys([*branches[:_BRANCHES_READ], *(process.pid for process in largest)])
        return self._limits.read(asked or [self._self_pid])


class DiskSpace:
    """A server that does not answer must not hold up a sample: then space is as it was when last seen."""

    def __init__(self, in_background: bool) -> None:
        self._background = Background("disk", in_background)
        self._folder: str | None = None
        self._free_bytes: int | None = None
        self._due_s = float("-inf")

    def free_bytes(self, folder: str, clock_s: float) -> int | None:
        """None at first, in the background."""
        if folder != self._folder:
            self._folder, self._free_bytes, self._due_s = folder, None, clock_s
        if clock_s >= self._due_s and self._background.start(lambda: self._read(folder)):
            self._due_s = clock_s + DISK_INTERVAL_S
        return self._free_bytes

    def close(self) -> None:
        self._background.close()

    def _read(self, folder: str) -> None:
        free_bytes = disk_free_bytes(folder)
        if folder == self._folder:
            self._free_bytes = free_bytes


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


def sample_with_gpus(machine: Machine, t: float) -> Sample:
    """For commands that sample once: waits for the GPUs, whose drivers may take a while."""
    begun_s = time.monotonic()
    sample = machine.sample(begun_s, t, ())
    while IS_LINUX and sample.gpus is None and time.monotonic() < begun_s + GPU_WAIT_S:
        time.sleep(0.05)
        sample = replace(machine.sample(time.monotonic(), t, ()), others=sample.others)
    return sample
