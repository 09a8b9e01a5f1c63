"""The pressure of everything but one cgroup (v2): what other programs suffer while a confined job swaps itself.

On the way from the job's cgroup up to the top every neighbour counts, with all that is in it. At each moment the one
that suffers most counts: an idle service beside a stalled desktop must not make the desktop's stalls look small.
"""

import os

from memwatch.model.sample import Pressure
from memwatch.probe.files import KeptFile
from memwatch.probe.procfs import parse_stalls

MOST_NEIGHBOURS = 64
LOOK_EVERY_S = 5.0
READ_EVERY_S = 0.5
# Other confined jobs wait for their own pages.
IGNORED_PREFIX = "memwatch-"

Stalls = tuple[int, int, int, int]  # memory some and full, io some and full, in microseconds


class Neighbour:
    """Another cgroup beside the job's, with its files kept open."""

    def __init__(self, folder: str) -> None:
        self._memory = KeptFile(f"{folder}/memory.pressure")
        self._io = KeptFile(f"{folder}/io.pressure")
        self._before: Stalls | None = None

    def suffered(self) -> Stalls:
        """How long this cgroup was stalled since the last call."""
        memory, io = parse_stalls(self._memory.read() or b""), parse_stalls(self._io.read() or b"")
        now = (memory[0] or 0, memory[1] or 0, io[0] or 0, io[1] or 0)
        before, self._before = self._before or now, now
        some, full, io_some, io_full = (max(later - earlier, 0) for later, earlier in zip(now, before, strict=True))
        return some, full, io_some, io_full

    def close(self) -> None:
        self._memory.close()
        self._io.close()


class RestPressure:
    """`folder` is the job's cgroup, `top` where cgroup v2 is mounted."""

    def __init__(self, folder: str, top: str) -> None:
        self._folder = folder
        self._top = top
        self._neighbours: dict[str, Neighbour] = {}
        self._looked_s = self._read_s = float("-inf")
        self._total: Stalls = (0, 0, 0, 0)

    def read(self, clock_s: float) -> Pressure:
        """Counted from the first reading on, so that differences are what matters, as with PSI."""
        if clock_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = clock_s
            self._look()
        if clock_s - self._read_s >= READ_EVERY_S:
            self._read_s = clock_s
            suffered = [neighbour.suffered() for neighbour in self._neighbours.values()] or [(0, 0, 0, 0)]
            worst = [max(column) for column in zip(*suffered, strict=True)]
            some, full, io_some, io_full = (a + b for a, b in zip(self._total, worst, strict=True))
            self._total = (some, full, io_some, io_full)
        return Pressure(*self._total)

    def close(self) -> None:
        for neighbour in self._neighbours.values():
            neighbour.close()
        self._neighbours.clear()

    def _look(self) -> None:
        found = _neighbours(self._folder, self._top)[:MOST_NEIGHBOURS]
        for gone in self._neighbours.keys() - set(found):
            self._neighbours.pop(gone).close()
        for folder in found:
            if folder not in self._neighbours:
                self._neighbours[folder] = Neighbour(folder)


def _neighbours(folder: str, top: str) -> list[str]:
    """The nearest first."""
    found: list[str] = []
    while folder != top and folder.startswith(f"{top}/"):
        parent = os.path.dirname(folder)
        try:
            with os.scandir(parent) as entries:
                beside = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            beside = []
        found += sorted(p for p in beside if p != folder and not os.path.basename(p).startswith(IGNORED_PREFIX))
        folder = parent
    return found
