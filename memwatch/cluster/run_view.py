"""A run on many machines as plain lines, from nothing but its output folder: `memwatch attach OUT`."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memwatch.cluster.nodes import BEAT_S, BEATS_UNTIL_LOST, NodeStatus, NodeWatch
from memwatch.cluster.planning import segment_sizes
from memwatch.cluster.run_folder import RunFolder
from memwatch.errors import MemwatchError, printable
from memwatch.model.units import format_duration, format_size


@dataclass(frozen=True, slots=True)
class SeenNode:
    status: NodeStatus
    is_alive: bool


def run_lines(nodes: Sequence[SeenNode], done: Collection[int], sizes: Sequence[int]) -> list[str]:
    """One line for the run, and one for each process that works or was lost."""
    alive = [node.status for node in nodes if node.is_alive]
    running = sum(len(status.running) for status in alive)
    rate = sum(status.rate_bytes_s or 0 for status in alive)
    done_bytes, total = sum(sizes[number] for number in done if number < len(sizes)), sum(sizes)
    share = f"{100 * done_bytes / total:5.1f} %" if total else ""
    parts = [share, f"segments {len(done)} of {len(sizes)} done, {running} running"]
    parts += [f"{count} {word}" for word, count in _troubles(nodes) if count]
    parts += [f"{format_size(done_bytes)} of {format_size(total)}"]
    if rate:
        parts += [f"{format_size(rate)}/s", f"ETA {format_duration((total - done_bytes) / rate)}"]
    return ["  ".join(parts), *(_node_line(node) for node in nodes if not node.status.ended)]


def _troubles(nodes: Sequence[SeenNode]) -> list[tuple[str, int]]:
    retried = sum(node.status.retried for node in nodes)
    failed = {number for node in nodes for number in node.status.failed}
    return [("retried", retried), ("failed", len(failed))]


def _node_line(node: SeenNode) -> str:
    status = node.status
    workers = "1 worker" if status.workers == 1 else f"{status.workers} workers"
    parts = [f"  {printable(status.host)}", f"rank {status.rank} of {status.world_size}", workers]
    parts.append(f"{status.done} done")
    if not node.is_alive:
        return "  ".join([*parts, "lost"])
    if status.running:
        parts.append("running " + ", ".join(map(str, status.running)))
    if status.rate_bytes_s:
        parts.append(f"{format_size(status.rate_bytes_s)}/s")
    if status.headroom_bytes is not None:
        parts.append(f"{format_size(status.headroom_bytes)} available")
    return "  ".join(parts)


class RunView:
    """What `attach` shows of a run, again and again."""

    def __init__(self, out: str, beat_s: float = BEAT_S) -> None:
        self._folder = RunFolder(out)
        self._watch = NodeWatch(self._folder, BEATS_UNTIL_LOST * beat_s)
        plan = self._folder.load_plan()
        if plan is None and not self._folder.is_finished:
            raise MemwatchError(f"{out} has no run by segments; start one: memwatch run tokenize --shard-by segment")
        self._sizes = [] if plan is None else segment_sizes(plan)

    @property
    def is_finished(self) -> bool:
        return self._folder.is_finished

    def lines(self) -> list[str]:
        nodes = [SeenNode(status, self._watch.is_alive(status)) for status in self._watch.read()]
        return run_lines(nodes, self._folder.done(), self._sizes)


def show_until_finished(out: str, show: Callable[[str], None], every_s: float = BEAT_S) -> None:
    view = RunView(out)
    while not view.is_finished:
        for line in view.lines():
            show(line)
        time.sleep(every_s)
    show(f"{out} is complete")
