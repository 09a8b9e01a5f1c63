"""What each process of a run is doing, written by itself into the output folder and read by all others.

A process is alive as long as its file changes. Only changes count, seen by the reader's own clock: the clocks of two
machines differ.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from memwatch.cluster.run_folder import READERS, RunFolder
from memwatch.storage.address import join, name_of

BEAT_S = 5.0
BEATS_UNTIL_LOST = 6


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One process of the run: a rank, or a task, which has no rank. `beat` counts up. Processes with the same `machine`
    are shown as one node. `rate_bytes_s`, `headroom_bytes` and `level` are None while unknown."""

    node: str
    host: str
    rank: int | None
    world_size: int | None
    workers: int
    beat: int = 0
    running: tuple[int, ...] = ()
    done: int = 0
    retried: int = 0
    failed: tuple[int, ...] = ()
    done_bytes: int = 0
    rate_bytes_s: float | None = None
    headroom_bytes: int | None = None
    level: str | None = None
    is_paused: bool = False
    ended: bool = False
    machine: str = ""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> "NodeStatus":
        data = json.loads(text)
        return cls(**{**data, "running": tuple(data["running"]), "failed": tuple(data["failed"])})


def announce(folder: RunFolder, status: NodeStatus) -> None:
    folder.store.put(join(folder.nodes, f"{status.node}.json"), status.to_json())


@dataclass(slots=True)
class NodeWatch:
    """The other processes of the run, as far as they are alive."""

    folder: RunFolder
    lost_after_s: float = BEAT_S * BEATS_UNTIL_LOST
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict)
    _moved: set[str] = field(default_factory=set)

    def read(self) -> list[NodeStatus]:
        """All statuses in the folder, of living and of lost processes."""
        names = [name_of(info.address) for info in self.folder.store.list_folder(self.folder.nodes)]
        with ThreadPoolExecutor(min(READERS, max(len(names), 1))) as pool:
            statuses = [s for s in pool.map(self._read_one, sorted(names)) if s is not None]
        now = self.clock()
        for status in statuses:
            beat, _ = self._seen.get(status.node, (None, now))
            if beat is not None and beat != status.beat:
                self._moved.add(status.node)
            if beat != status.beat:
                self._seen[status.node] = (status.beat, now)
        return statuses

    def is_alive(self, status: NodeStatus) -> bool:
        """A process is taken for alive from when it is first seen, until its file did not change for a while."""
        _, since = self._seen[status.node]
        return not status.ended and self.clock() - since < self.lost_after_s

    def is_moving(self, status: NodeStatus) -> bool:
        """Alive for certain: it was seen to change."""
        return status.node in self._moved and self.is_alive(status)

    def _read_one(self, name: str) -> NodeStatus | None:
        if not name.endswith(".json"):
            return None
        try:
            return NodeStatus.from_json(self.folder.store.read(join(self.folder.nodes, name)))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None  # It ended meanwhile, or is of another version.
