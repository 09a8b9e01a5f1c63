"""The memory limits above a process: every ancestor cgroup, v1 and v2.

A container's limit is here and not in /proc/meminfo. Limits can be set, changed and lifted at any time, so they are
read again for every sample; only the location of the cgroups is cached.
"""

import os
import time
from collections.abc import Iterable

from memwatch.model.sample import JobCounters, Limit, Sample
from memwatch.model.units import MIB
from memwatch.on_linux import IS_LINUX
from memwatch.probe.cgroup_paths import (
    Mount,
    ancestors,
    find_mounts,
    is_outside,
    memory_mount,
    parse_membership,
    seen_from_outside,
    widest,
)
from memwatch.probe.files import KeptFile, number_after, read_file
from memwatch.probe.procfs import HostMemory, parse_stalls, refaults_in

# v1 writes "no limit" as the largest page count, in bytes; nobody has an exbibyte of memory.
NO_LIMIT_BYTES = 1 << 60
# Less kernel memory than this is not worth reading meminfo for.
WORTH_A_LOOK_BYTES = 16 * MIB


class Cgroup1:
    """One cgroup of the v1 memory controller."""

    def __init__(self, folder: str, path: str, host: HostMemory) -> None:
        self._path = path
        self._host = host
        self._limit = KeptFile(f"{folder}/memory.limit_in_bytes")
        self._usage = KeptFile(f"{folder}/memory.usage_in_bytes")
        self._with_swap_limit = KeptFile(f"{folder}/memory.memsw.limit_in_bytes")
        self._with_swap_usage = KeptFile(f"{folder}/memory.memsw.usage_in_bytes")
        self._stat = KeptFile(f"{folder}/memory.stat")
        self._kernel = KeptFile(f"{folder}/memory.kmem.usage_in_bytes")

    def limits(self) -> list[Limit]:
        limit = _limit_in(self._limit.read())
        # Before the usage without: what a job takes between the two must not look like swap. Their difference is what
        # is in swap only: v1 charges a page that is in RAM as well once.
        with_swap = self._with_swap_usage.number() if limit is not None else None
        usage = self._usage.number() if limit is not None else None
        if limit is None or usage is None:
            return []
        stat = self._stat.read() or b""
        cache = _dropable(stat, b"total_") + self._reclaimable_slab_bytes()
        shmem = number_after(stat, b"total_shmem ")
        swap = None if with_swap is None else max(with_swap - usage, 0)
        limits = [Limit(self._path, limit, max(usage - cache, 0), swap, shmem_bytes=shmem)]
        with_swap_limit = _limit_in(self._with_swap_limit.read())
        if with_swap is not None and with_swap_limit is not None:
            # RAM and swap together have a limit of their own, which can be the nearer one.
            used = max(with_swap - cache, 0)
            limits.append(Limit(f"{self._path} (with swap)", with_swap_limit, used, 0, shmem_bytes=shmem))
        return limits

    def use_bytes(self) -> int | None:
        """All memory charged to it, if it has a limit: one read, for a caller that only needs to know about changes."""
        return None if _limit_in(self._limit.read()) is None else self._usage.number()

    def _reclaimable_slab_bytes(self) -> int:
        """Caches of file names and inodes, which the kernel drops before it kills.

        An estimate: v1 has all kernel memory of a cgroup in one number. From it goes what surely is no slab, as if all
        that the host has of it were here; the rest is reclaimable to the same part as on the host.
        """
        used = self._kernel.number()
        host = None if used is None or used < WORTH_A_LOOK_BYTES else self._host.kernel()
        if used is None or host is None:
            return 0
        slab = max(used - host.other_bytes, 0)
        host_slab = max(host.reclaimable_slab_bytes + host.unreclaimable_slab_bytes, 1)
        return min(slab * host.reclaimable_slab_bytes // host_slab, host.reclaimable_slab_bytes)

    def close(self) -> None:
        files = (self._limit, self._usage, self._with_swap_limit, self._with_swap_usage, self._stat, self._kernel)
        for file in files:
            file.close()


class Cgroup2:
    """One cgroup of v2."""

    def __init__(self, folder: str, path: str, host: HostMemory) -> None:
        self._path = path
        self._max = KeptFile(f"{folder}/memory.max")
        self._high = KeptFile(f"{folder}/memory.high")
        self._current = KeptFile(f"{folder}/memory.current")
        self._swap = KeptFile(f"{folder}/memory.swap.current")
        self._stat = KeptFile(f"{folder}/memory.stat")

    def limits(self) -> list[Limit]:
        # Above memory.high nothing is killed, but everything in the cgroup is slowed down to a crawl: as good as full.
        set_limits = [limit for file in (self._max, self._high) if (limit := _limit_in(file.read())) is not None]
        current = self._current.number() if set_limits else None
        if current is None:
            return []
        stat = self._stat.read() or b""
        cache = _dropable(stat, b"") + (number_after(stat, b"slab_reclaimable ") or 0)
        shmem = number_after(stat, b"shmem ")
        used, swap = max(current - cache, 0), self._swap.number()
        cached = number_after(stat, b"swapcached ") if swap else None
        return [Limit(self._path, min(set_limits), used, swap, shmem_bytes=shmem, swap_cached_bytes=cached)]

    def use_bytes(self) -> int | None:
        limited = any(_limit_in(file.read()) is not None for file in (self._max, self._high))
        return self._current.number() if limited else None

    def close(self) -> None:
        for file in (self._max, self._high, self._current, self._swap, self._stat):
            file.close()


class Limits:
    """Finds the cgroups above processes, and reads their limits."""

    def __init__(self, proc_root: str, sys_root: str) -> None:
        self._proc_root = proc_root
        self._sys_root = sys_root
        self._host = HostMemory(proc_root)
        self._chains: dict[bytes, list[Cgroup1 | Cgroup2]] = {}

    def read(self, pids: Iterable[int]) -> tuple[Limit, ...]:
        """The limits above any of the processes, each once, the nearest first."""
        memberships = {text: pid for pid in pids if (text := read_file(f"{self._proc_root}/{pid}/cgroup"))}
        for text in self._chains.keys() - memberships.keys():
            _close(self._chains.pop(text))
        for text in memberships.keys() - self._chains.keys():
            self._chains[text] = self._chain(text, memberships[text])
        limits = {limit.path: limit for chain in self._chains.values() for group in chain for limit in group.limits()}
        return tuple(limits.values())

    def use_bytes(self) -> list[int]:
        """The memory charged to each cgroup with a limit that the last `read` found."""
        return [use for chain in self._chains.values() for group in chain if (use := group.use_bytes()) is not None]

    def missing(self) -> list[tuple[str, str]]:
        has_v1 = any(mount.version == 1 for mount in self._mounts())
        if has_v1 or memory_mount(self._proc_root, self._sys_root) is not None:
            return []
        return [("cgroup limits", "no memory controller is mounted, so a container's limit cannot be read")]

    def close(self) -> None:
        for chain in self._chains.values():
            _close(chain)
        self._chains.clear()
        self._host.close()

    def _mounts(self) -> list[Mount]:
        return find_mounts(self._proc_root, self._sys_root)

    def _chain(self, membership: bytes, pid: int) -> list[Cgroup1 | Cgroup2]:
        chain: list[Cgroup1 | Cgroup2] = []
        mounts = self._mounts()
        for version, path in parse_membership(membership).items():
            kind = Cgroup1 if version == 1 else Cgroup2
            for mount in widest([mount for mount in mounts if mount.version == version], path):
                shown = seen_from_outside(mount, path, pid) if is_outside(mount) else ancestors(mount, path)
                chain += [kind(folder, name, self._host) for folder, name in shown]
        return chain


def _limit_in(text: bytes | None) -> int | None:
    digits = (text or b"").strip()
    limit = int(digits) if digits.isdigit() else NO_LIMIT_BYTES
    return limit if limit < NO_LIMIT_BYTES else None


def _dropable(stat: bytes, prefix: bytes) -> int:
    """Page cache that can be dropped. Shared memory is not among it: the kernel lists that as anonymous."""
    return sum(number_after(stat, prefix + key) or 0 for key in (b"inactive_file ", b"active_file "))


def _close(chain: list[Cgroup1 | Cgroup2]) -> None:
    for group in chain:
        group.close()


class JobCgroup:
    """The job's own cgroup: one that holds the job and nothing else, as the scope that the guard makes for it.

    Its counters are the job's alone. Version 2: systemd makes scopes with limits only there.
    """

    def __init__(self, folder: str) -> None:
        self._pressure = KeptFile(f"{folder}/memory.pressure")
        self._stat = KeptFile(f"{folder}/memory.stat")
        self._events = KeptFile(f"{folder}/memory.events")

    def counters(self) -> JobCounters | None:
        """None if the cgroup has gone, with everything that was in it."""
        stat = self._stat.read()
        if stat is None:
            return None
        some_us, full_us = parse_stalls(self._pressure.read() or b"")
        return JobCounters(
            major_faults=number_after(stat, b"pgmajfault "),
            refaults=refaults_in(stat),
            stall_some_us=some_us,
            stall_full_us=full_us,
            oom_kills=number_after(self._events.read() or b"", b"oom_kill "),
        )

    def shmem_bytes(self) -> int | None:
        return number_after(self._stat.read() or b"", b"shmem ")

    def close(self) -> None:
        for file in (self._pressure, self._stat, self._events):
            file.close()


def memory_sample(proc_root: str = "/proc", sys_root: str = "/sys", pid: int | None = None) -> Sample:
    """The machine's memory, and the limits above a process (this one where `pid` is None)."""
    if not IS_LINUX:
        from memwatch.probe.portable import PortableMemory

        return Sample(time.time(), time.monotonic(), PortableMemory().read())
    memory, limits = HostMemory(proc_root), Limits(proc_root, sys_root)
    above = os.getpid() if pid is None else pid
    sample = Sample(time.time(), time.monotonic(), memory.read(), limits.read([above]))
    memory.close()
    limits.close()
    return sample
