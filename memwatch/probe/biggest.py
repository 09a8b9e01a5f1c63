"""The biggest processes of the machine that are not the job's: who else is there when memory runs out."""

import os
from collections.abc import Collection
from dataclasses import replace

from memwatch.model.sample import Process
from memwatch.model.units import KIB
from memwatch.probe.background import Background
from memwatch.probe.files import PAGE_BYTES, number_after, read_file
from memwatch.probe.procpid import ProcessFiles
from memwatch.probe.slow_files import Transfers, read_command, read_transfers, shortened, shown_text

MOST = 8
MOST_GROWING = 4
# Kernel threads hold nothing and never will; one in so many looks makes sure that their pids are still theirs.
EMPTY_LOOKS = 12

_Key = tuple[int, int, str]


class ProcessSizes:
    """Remembers how big each process was, so that one that grows is seen long before it is among the biggest."""

    def __init__(self, proc_root: str = "/proc", in_background: bool = False) -> None:
        self._proc_root = proc_root
        self._details = Details(proc_root, in_background)
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
        found = _read(self._proc_root, chosen, swap_in_use)
        self._details.request(found)
        return self._details.added(found)

    def close(self) -> None:
        self._details.close()


class Biggest:
    """The biggest processes that are not the job's, read on demand."""

    def __init__(self, proc_root: str, in_background: bool) -> None:
        self._proc_root = proc_root
        self._details = Details(proc_root, in_background)
        self._waiting: tuple[Process, ...] | None = None

    def look(self, apart_from: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
        """None if this machine does not show its processes, or details are still being read: see `late`."""
        self._waiting = None
        found = biggest_processes(self._proc_root, apart_from, swap_in_use)
        if found is None:
            return None
        self._details.request(found)
        if self._details.is_busy:
            self._waiting = found
            return None
        return self._details.added(found)

    def late(self) -> tuple[Process, ...] | None:
        """The last look, once, with the details that are known by now: for the sample after it."""
        found, self._waiting = self._waiting, None
        return None if found is None else self._details.added(found)

    def close(self) -> None:
        self._details.close()


class Details:
    """Command lines and transfers of other programs, read in the background, for views that show them."""

    def __init__(self, proc_root: str, in_background: bool) -> None:
        self._proc_root = proc_root
        self._background = Background("strangers", in_background)
        self._commands: dict[_Key, str] = {}
        self._transfers: dict[_Key, Transfers] = {}

    @property
    def is_busy(self) -> bool:
        return self._background.is_busy

    def request(self, processes: tuple[Process, ...]) -> None:
        self._background.start(lambda: self._read(processes))

    def added(self, processes: tuple[Process, ...]) -> tuple[Process, ...]:
        """The processes, with the command lines and transfers that are known."""
        return tuple(map(self._with_details, processes))

    def close(self) -> None:
        self._background.close()

    def _read(self, processes: tuple[Process, ...]) -> None:
        """On the thread. New dictionaries, because the other thread may be reading the old ones."""
        commands, transfers = {}, {}
        for process in processes:
            folder, key = f"{self._proc_root}/{process.pid}", _key(process)
            known = self._commands.get(key) or read_command(folder)
            commands[key] = known or shortened(f"[{process.command}]")
            if (found := read_transfers(folder)) is not None:
                transfers[key] = found
        self._commands, self._transfers = commands, transfers

    def _with_details(self, process: Process) -> Process:
        key = _key(process)
        transfers = self._transfers.get(key)
        return replace(
            process,
            command=self._commands.get(key, process.command),
            read_bytes=None if transfers is None else transfers.read_bytes,
            written_bytes=None if transfers is None else transfers.written_bytes,
        )


def _key(process: Process) -> _Key:
    """The name is part of it, because it changes when the process starts another program."""
    return process.pid, process.start_ticks, process.command


def biggest_processes(proc_root: str, apart_from: Collection[int], swap_in_use: bool) -> tuple[Process, ...] | None:
    """The biggest first, in RAM and swap together, by name; None if this machine does not show its processes.

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
    return int(words[1]) * PAGE_BYTES if len(words) > 1 else 0


def _read(proc_root: str, pids: list[int], swap_in_use: bool) -> tuple[Process, ...]:
    processes = [_process(proc_root, pid, swap_in_use) for pid in pids]
    return tuple(process for process in processes if process is not None)


def _process(proc_root: str, pid: int, swap_in_use: bool) -> Process | None:
    """None if it has ended. Without what can block: that is for Details."""
    files = ProcessFiles(proc_root, pid, keep=False)
    stat = files.stat()
    reading = None if stat is None else files.read(stat, swap_in_use)
    if stat is None or reading is None:
        return None
    return Process(
        pid=pid,
        start_ticks=stat.start_ticks,
        parent_pid=stat.parent_pid,
        state=reading.state,
        rss_bytes=reading.rss_bytes,
        swap_bytes=reading.swap_bytes,
        cpu_s=stat.cpu_s,
        read_bytes=None,
        written_bytes=None,
        command=shown_text(stat.comm),
        major_faults=stat.major_faults,
    )
