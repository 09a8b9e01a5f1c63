"""The biggest processes of the machine that are not the job's: who else is there when memory runs out."""

import os
from collections.abc import Collection

from memwatch.core.sample import Process
from memwatch.core.units import KIB
from memwatch.probe.files import number_after, read_file
from memwatch.probe.procpid import ProcessFiles

MOST = 8
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def biggest_processes(proc_root: str, apart_from: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
    """The biggest first, in RAM and swap together; None if this machine does not show its processes.

    Looks at every process there is: 10 us for each, and 30 us where swap is in use. Not for every sample.
    """
    try:
        names = os.listdir(proc_root)
    except OSError:
        return None
    pids = [int(name) for name in names if name.isdigit()]
    sizes = {pid: _size_bytes(f"{proc_root}/{pid}", swap_in_use) for pid in pids if pid not in apart_from}
    chosen = sorted((pid for pid in sizes if sizes[pid]), key=lambda pid: -sizes[pid])[:MOST]
    processes = [_read(proc_root, pid, swap_in_use) for pid in chosen]
    return tuple(process for process in processes if process is not None)


def _size_bytes(folder: str, swap_in_use: bool) -> int:
    """0 for kernel threads, and for what has just ended."""
    if swap_in_use:
        text = read_file(f"{folder}/status") or b""
        return ((number_after(text, b"VmRSS:") or 0) + (number_after(text, b"VmSwap:") or 0)) * KIB
    words = (read_file(f"{folder}/statm") or b"").split(None, 2)
    return int(words[1]) * _PAGE_BYTES if len(words) > 1 else 0


def _read(proc_root: str, pid: int, swap_in_use: bool) -> Process | None:
    files = ProcessFiles(proc_root, pid, keep=False)
    stat = files.stat()
    return None if stat is None else files.process(stat, swap_in_use)
