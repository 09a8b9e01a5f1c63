"""One process, from the files in /proc/PID that answer at once. Those that can block are in slow_files.py."""

import os
from typing import NamedTuple

from memwatch.model.units import KIB, MIB
from memwatch.probe.files import PAGE_BYTES, KeptFile, number_after, read_file
from memwatch.probe.stat import Stat, parse_stat

# `statm` has files and shared memory in one number. Only when that has changed by so much, `status` is read to tell
# them apart: it is the dearest of these files.
_STATUS_STEP_BYTES = 8 * MIB
_ENDED = "ZX"


class Reading(NamedTuple):
    """What a sample reads of a process."""

    stat: Stat
    state: str
    folder: str  # of the process, or of a thread that lives
    rss_bytes: int
    anon_bytes: int
    shmem_bytes: int
    swap_bytes: int
    untouched_bytes: int = 0  # of the memory it has allocated; a file of its own that it has not changed counts too


class ProcessFiles:
    """The files of one process. Kept open they also name it for ever: they never show a later one with its pid."""

    __slots__ = (
        "_children",
        "_folder",
        "_keep",
        "_shared_bytes",
        "_shmem_bytes",
        "_stat",
        "_statm",
        "_status",
        "_thread_folder",
        "pid",
    )

    def __init__(self, proc_root: str, pid: int, keep: bool) -> None:
        self.pid = pid
        self._keep = keep
        self._folder = f"{proc_root}/{pid}"
        self._thread_folder: str | None = None  # of a living thread, where the first one has ended
        self._stat = KeptFile(f"{self._folder}/stat", keep)
        self._statm = KeptFile(f"{self._folder}/statm", keep)
        self._status = KeptFile(f"{self._folder}/status", keep=False)
        self._children = KeptFile(f"{self._folder}/task/{pid}/children", keep)
        self._shared_bytes = 0  # when `status` was last read
        self._shmem_bytes = 0

    def stat(self) -> Stat | None:
        text = self._stat.read()
        return parse_stat(text) if text else None

    def read(self, stat: Stat, swap_in_use: bool) -> Reading | None:
        """None if it has ended since `stat` was read."""
        if stat.state in _ENDED and stat.threads > 1:
            return self._read_thread(stat, swap_in_use)
        return self._reading(stat, stat.state, self._folder, swap_in_use)

    def children(self) -> list[int]:
        """The children that the main thread has started."""
        return [int(pid) for pid in (self._children.read() or b"").split()]

    def children_of_all_threads(self) -> list[int]:
        texts = [read_file(f"{self._folder}/task/{thread}/children") for thread in self._threads()]
        return [int(pid) for text in texts if text for pid in text.split()]

    def close(self) -> None:
        for file in (self._stat, self._statm, self._status, self._children):
            file.close()

    def _threads(self) -> list[str]:
        try:
            return os.listdir(f"{self._folder}/task")
        except OSError:
            return []

    def _read_thread(self, stat: Stat, swap_in_use: bool) -> Reading | None:
        """Of a process whose main thread has ended: it is a zombie without memory, while other threads go on."""
        state = self._thread_state()
        if state is None:
            folders = [f"{self._folder}/task/{thread}" for thread in self._threads() if thread != str(self.pid)]
            for self._thread_folder in folders:
                if (state := self._thread_state()) is not None:
                    break
        folder = self._folder if self._thread_folder is None or state is None else self._thread_folder
        if self._statm.path != f"{folder}/statm":
            self._statm.close()
            self._status.close()
            self._statm = KeptFile(f"{folder}/statm", self._keep)
            self._status = KeptFile(f"{folder}/status", keep=False)
        return self._reading(stat, state or stat.state, folder, swap_in_use)

    def _thread_state(self) -> str | None:
        """None if the thread has ended."""
        text = None if self._thread_folder is None else read_file(f"{self._thread_folder}/stat")
        state = parse_stat(text).state if text else _ENDED
        return None if state in _ENDED else state

    def _reading(self, stat: Stat, state: str, folder: str, swap_in_use: bool) -> Reading | None:
        # Not from `stat`: there the kernel leaves out what its cores have yet to add up, many MiB where cores are many.
        text = self._statm.read()
        if not text:
            return None
        _, resident, shared, _, _, data, _ = text.split()
        rss_bytes, shared_bytes = int(resident) * PAGE_BYTES, int(shared) * PAGE_BYTES
        swap_bytes = 0  # `status` need not be read to know that nothing is in swap where all swap is free.
        if swap_in_use or abs(shared_bytes - self._shared_bytes) >= _STATUS_STEP_BYTES:
            # A process that has just ended has no such lines, and no memory.
            status = self._status.read() or b""
            swap_bytes = (number_after(status, b"VmSwap:") or 0) * KIB
            self._shmem_bytes = (number_after(status, b"RssShmem:") or 0) * KIB
            self._shared_bytes = shared_bytes
        anon_bytes = max(rss_bytes - shared_bytes, 0)
        untouched_bytes = max(int(data) * PAGE_BYTES - anon_bytes - swap_bytes, 0)
        shmem_bytes = min(self._shmem_bytes, shared_bytes)
        return Reading(stat, state, folder, rss_bytes, anon_bytes, shmem_bytes, swap_bytes, untouched_bytes)
