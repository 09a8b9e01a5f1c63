"""Progress of a job that does not report it: the position in the largest file it reads.

The links in /proc/PID/fd and the positions in fdinfo are read without a lock of the process. But the size of a file
comes from its file system, and one of the network, or one that a stopped process serves (FUSE), may never answer. So a
guard looks in the background.
"""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass

from memwatch.errors import printable
from memwatch.model.sample import Process
from memwatch.model.units import MIB
from memwatch.on_linux import IS_LINUX
from memwatch.probe.background import Background
from memwatch.probe.files import number_after, read_file

# A look costs about 10 us for each open file.
LOOK_INTERVAL_S = 2.0
SMALLEST_BYTES = MIB
MOST_PROCESSES = 16
MOST_FILES = 256


@dataclass(frozen=True, slots=True)
class Position:
    """How far a job has read a file."""

    name: str
    done_bytes: int
    total_bytes: int


class InputPosition:
    """The position of one job, read repeatedly. With `in_background`, a result is available one `look` later."""

    def __init__(self, proc_root: str = "/proc", in_background: bool = False) -> None:
        self._proc_root = proc_root
        self._background = Background("position", in_background)
        self._found: Position | None = None
        self._due_s = float("-inf")
        self._places: dict[str, int] = {}  # where each file was read last time

    def look(self, job: Collection[Process], clock_s: float) -> Position | None:
        """None if it is not yet time for a look, or no file is being read.

        A file whose position never moves is no input: it is mapped into memory, or lies open for later.
        """
        if IS_LINUX and clock_s >= self._due_s:  # psutil shows no positions elsewhere.
            pids = [process.pid for process in list(job)[:MOST_PROCESSES]]
            if self._background.start(lambda: self._search(pids)):
                self._due_s = clock_s + LOOK_INTERVAL_S
        found, self._found = self._found, None
        return found

    def close(self) -> None:
        self._background.close()

    def _search(self, pids: list[int]) -> None:
        found = [each for pid in pids for each in self._open_files(pid)]
        moving = [
            position for key, position in found if self._places.get(key, position.done_bytes) != position.done_bytes
        ]
        self._places = {key: position.done_bytes for key, position in found}
        self._found = max(moving, key=lambda position: position.total_bytes, default=None)

    def _open_files(self, pid: int) -> list[tuple[str, Position]]:
        folder = f"{self._proc_root}/{pid}/fd"
        try:
            names = os.listdir(folder)[:MOST_FILES]
        except OSError:
            return []  # Another user's, or gone.
        found = [(f"{pid}/{name}", _position(f"{self._proc_root}/{pid}", name)) for name in names]
        return [(key, position) for key, position in found if position is not None]


def _position(process: str, fd: str) -> Position | None:
    try:
        status = os.stat(f"{process}/fd/{fd}")
        if not stat.S_ISREG(status.st_mode) or status.st_size < SMALLEST_BYTES:
            return None
        name = os.path.basename(os.readlink(f"{process}/fd/{fd}"))
    except OSError:
        return None
    text = read_file(f"{process}/fdinfo/{fd}") or b""
    done = number_after(text, b"pos:")
    if done is None or not _is_read(text):
        return None
    return Position(printable(name), min(done, status.st_size), status.st_size)


def _is_read(fdinfo: bytes) -> bool:
    """Opened for reading alone: where a file is written, the position says nothing of how far the work is."""
    flags = next((line.split()[1] for line in fdinfo.splitlines() if line.startswith(b"flags:")), b"")
    try:
        return int(flags, 8) & os.O_ACCMODE == os.O_RDONLY
    except ValueError:
        return False
