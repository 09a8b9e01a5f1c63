"""The biggest processes of the machine that are not the job's: who else is there when memory runs out."""

import os
from collections.abc import Collection

from memwatch.core.sample import Process
from memwatch.core.units import KIB
from memwatch.probe.files import number_after, read_file
from memwatch.probe.procpid import ProcessFiles

MOST = 8
MOST_GROWING = 4
# Kernel threads hold nothing and never will; one in so many looks makes sure that their pids are still theirs.
EMPTY_LOOKS = 12
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessSizes:
    """Remembers how big each process was, so that one that grows is seen long before it is among the biggest."""

    def __init__(self, proc_root: str = "/proc") -> None:
        self._proc_root = proc_root
        self._before: dict[int, int] | None = None
        self._empty: set[int] = set()
        self._looks = 0

    def biggest_and_growing(self, swap_in_use: bool) -> tuple[Process, ...] | None:
        """The biggest, then those that grew most since the last look."""
        if self._looks % EMPTY_LOOKS == 0:
            self._empty.clear()
        self._looks += 1
        sizes = _sizes(self._proc_root, self._empty, swap_in_use)
        if sizes is None:
            return None
        self._empty.update(pid for pid, size in sizes.items() if size == 0)
        chosen = _largest(sizes, MOST)
        if self._before is not None:
            growth = {pid: size - self._before.get(pid, 0) for pid, size in sizes.items() if pid not in chosen}
            chosen += _largest(growth, MOST_GROWING)
        self._before = sizes
        return _read(self._proc_root, chosen, swap_in_use)


def biggest_processes(proc_root: str, apart_from: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
    """The biggest first, in RAM and swap together; None if this machine does not show its processes.

    Looks at every process there is: 10 us for each, and 30 us where swap is in use. Not for every sample.
    """
    sizes = _sizes(proc_root, apart_from, swap_in_use)
    return None if sizes is None else _read(proc_root, _largest(sizes, MOST), swap_in_use)


def _sizes(proc_root: str, apart_from: Collection[int], swap_in_use: bool) -> dict[int, int] | None:
    try:
        names = os.listdir(proc_root)
    except OSError:
        return None
    pids = [int(name) for name in names if name.isdigit()]
    return {pid: _size_bytes(f"{proc_root}/{pid}", swap_in_use) for pid in pids if pid not in apart_from}


def _largest(sizes: dict[int, int], most: int) -> list[int]:
    return sorted((pid for pid in sizes if sizes[pid] > 0), key=lambda pid: -sizes[pid])[:most]


def _size_bytes(folder: str, swap_in_use: bool) -> int:
    """0 for kernel threads, and for what has just ended."""
    if swap_in_use:
        text = read_file(f"{folder}/status") or b""
        return ((number_after(text, b"VmRSS:") or 0) + (number_after(text, b"VmSwap:") or 0)) * KIB
    words = (read_file(f"{folder}/statm") or b"").split(None, 2)
    return int(words[1]) * _PAGE_BYTES if len(words) > 1 else 0


def _read(proc_root: str, pids: list[int], swap_in_use: bool) -> tuple[Process, ...]:
    processes = [_process(proc_root, pid, swap_in_use) for pid in pids]
    return tuple(process for process in processes if process is not None)


def _process(proc_root: str, pid: int, swap_in_use: bool) -> Process | None:
    files = ProcessFiles(proc_root, pid, keep=False)
    stat = files.stat()
    return None if stat is None else files.process(stat, swap_in_use)
