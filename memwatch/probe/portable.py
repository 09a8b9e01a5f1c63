"""The machine through psutil, where there is no /proc: macOS and others. machine.py uses these parts there.

psutil does not show PSI, cgroups, refaults, kernel OOM kills, files in RAM, the position in an input file or pending
signals: all of that is unknown here, and `missing` names it.

What belongs to the job: descendants of the roots (psutil's children), what once counted for as long as it lives, and
what is in a process group or session that the job's own processes lead, because orphans go to init here. A process is
its pid and its start time.
"""

import os
import sys
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import psutil

from memwatch.model.sample import Limit, Memory, Paging, Pressure, Process
from memwatch.probe.biggest import MOST
from memwatch.probe.members import JobTotals
from memwatch.probe.psutil_process import group_and_session, known, opened, read_process, with_descendants

Missing = list[tuple[str, str]]


# Reading the unique memory of a process walks its page tables.
UNIQUE_INTERVAL_S = 2.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class NothingOpen:
    """What the parts of a machine without /proc have in common: they keep no file open."""

    def close(self) -> None: ...


class PortableMemory(NothingOpen):
    """RAM and swap, as psutil reads them."""

    def read(self) -> Memory | None:
        ram, swap = known(psutil.virtual_memory), known(psutil.swap_memory)
        if ram is None:
            return None
        return Memory(
            total_bytes=int(ram.total),
            available_bytes=min(int(ram.available), int(ram.total)),
            swap_total_bytes=0 if swap is None else int(swap.total),
            swap_free_bytes=0 if swap is None else int(swap.free),
        )

    def available_bytes(self) -> int | None:
        ram = known(psutil.virtual_memory)
        return None if ram is None else int(ram.available)

    def missing(self) -> Missing:
        return [] if self.read() is not None else [("host memory", "psutil cannot read it")]


class PortablePressure(NothingOpen):
    """Stands for /proc/pressure where there is none."""

    def read(self) -> Pressure | None:
        return None

    def missing(self) -> Missing:
        return [("memory pressure (PSI)", "only Linux has it")]


class PortablePaging(NothingOpen):
    """What psutil calls swapped in and out. On macOS that includes files that are read, so there the change of used
    swap is counted: less than the real traffic, never more."""

    def __init__(self) -> None:
        self._used_bytes: int | None = None
        self._in_bytes = self._out_bytes = 0

    def read(self) -> Paging | None:
        swap = known(psutil.swap_memory)
        if swap is None:
            return None
        if sys.platform != "darwin":
            return Paging(int(swap.sin) // _PAGE_BYTES, int(swap.sout) // _PAGE_BYTES, None, page_bytes=_PAGE_BYTES)
        used_bytes = int(swap.used)
        growth = used_bytes - (used_bytes if self._used_bytes is None else self._used_bytes)
        self._used_bytes = used_bytes
        self._out_bytes += max(growth, 0)
        self._in_bytes += max(-growth, 0)
        return Paging(self._in_bytes // _PAGE_BYTES, self._out_bytes // _PAGE_BYTES, None, page_bytes=_PAGE_BYTES)

    def missing(self) -> Missing:
        if self.read() is None:
            return [("swap and fault counters", "psutil cannot read them")]
        return [("refaults", "psutil counts neither them nor major faults, so thrashing is detected later")]


class PortableLimits(NothingOpen):
    """Stands for cgroup limits where there are none."""

    def read(self, pids: object) -> tuple[Limit, ...]:
        return ()

    def use_bytes(self) -> list[int]:
        return []

    def missing(self) -> Missing:
        return [("cgroup limits", "only Linux has cgroups")]


class PortableTree:
    """The job's processes. One reading lists every process of the machine, a few milliseconds."""

    def __init__(self, self_pid: int) -> None:
        self._self_pid = self_pid
        self._members: dict[int, psutil.Process] = {}
        self._led: set[int] = set()  # process groups and sessions led by the job's own
        self._unique: dict[int, tuple[float, int, int]] = {}  # pid: when, unique bytes, RSS
        self.totals = JobTotals(major_faults=None, off_disk_bytes=None, mapped_shmem_bytes=0, own_shmem_bytes=0)

    def read(
        self,
        roots: Collection[int],
        clock_s: float,
        spared: Collection[int] = (),
        swap_in_use: bool = True,
        thorough: bool = False,
    ) -> tuple[Process, ...]:
        """Parents before children. `thorough` reads no unique memory: for the moment before acting."""
        found = self._walk(roots, spared)
        self._members = {process.pid: process for process in found}
        self._note_led(found)
        read = [reading for process in found if (reading := read_process(process)) is not None]
        return self._with_own_memory(read, clock_s, reads=not thorough)

    def missing(self) -> Missing:
        return []

    def close(self) -> None:
        self._members.clear()

    def _walk(self, roots: Collection[int], spared: Collection[int]) -> list[psutil.Process]:
        found: dict[int, psutil.Process] = {}
        starts = [process for pid in roots if (process := opened(pid)) is not None]
        for start in [*starts, *(process for process in self._members.values() if process.is_running())]:
            if start.pid in spared or (start.pid in found and start.pid not in roots):
                continue
            for process in (start, *(known(partial(start.children, recursive=True)) or ())):
                found.setdefault(process.pid, process)
        for process in self._strays(found):
            found.setdefault(process.pid, process)
        for pid in (self._self_pid, *with_descendants(spared)):
            found.pop(pid, None)
        return list(found.values())

    def _strays(self, found: dict[int, psutil.Process]) -> list[psutil.Process]:
        """Orphans that were never seen under their parent. A group or session is the job's while one of it is known."""
        led = {number for pid in found for number in group_and_session(pid)} & self._led
        if not led:
            return []
        pids = [pid for pid in psutil.pids() if pid not in found and led & set(group_and_session(pid))]
        return [process for pid in pids if (process := opened(pid)) is not None]

    def _note_led(self, found: list[psutil.Process]) -> None:
        own = {process.pid for process in found}
        numbers = {number for pid in own for number in group_and_session(pid)}
        self._led = {number for number in numbers if number in own or number in self._led}

    def _with_own_memory(self, processes: list[Process], clock_s: float, reads: bool) -> tuple[Process, ...]:
        """Forked processes share pages, which every one's RSS counts. The largest counts whole, the others by what is
        theirs alone."""
        self._unique = {p.pid: self._unique[p.pid] for p in processes if p.pid in self._unique}
        largest = max(processes, key=lambda process: process.rss_bytes, default=None)
        own = []
        for process in processes:
            if process is largest:
                own.append(process)
                continue
            if reads and clock_s - self._unique.get(process.pid, (float("-inf"),))[0] >= UNIQUE_INTERVAL_S:
                info = known(self._members[process.pid].memory_full_info)
                if info is not None:
                    self._unique[process.pid] = (clock_s, int(info.uss), process.rss_bytes)
            last = self._unique.get(process.pid)
            own_bytes = None if last is None else max(last[1] + process.rss_bytes - last[2], 0)
            own.append(replace(process, own_bytes=own_bytes))
        return tuple(own)


class PortableBiggest(NothingOpen):
    """The biggest processes that are not the job's."""

    def look(self, apart_from: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
        return biggest_processes(apart_from)

    def late(self) -> tuple[Process, ...] | None:
        return None

    def biggest_and_growing(self, swap_in_use: bool) -> tuple[Process, ...] | None:
        return biggest_processes(())


def biggest_processes(apart_from: Collection[int]) -> tuple[Process, ...]:
    """The processes with the most resident memory, the largest first."""
    sizes: list[tuple[int, psutil.Process]] = []
    for process in psutil.process_iter():
        info = None if process.pid in apart_from else known(process.memory_info)
        if info is not None and info.rss:
            sizes.append((int(info.rss), process))
    sizes.sort(key=lambda size: -size[0])
    read = (read_process(process) for _, process in sizes[:MOST])
    return tuple(process for process in read if process is not None)


def uptime_s(now_t: float) -> float:
    """Since the machine was started."""
    return now_t - float(psutil.boot_time())
