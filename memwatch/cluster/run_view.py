"""A run on many machines as its output folder shows it: for `memwatch attach OUT`, and for the run's own views."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memwatch.cluster.nodes import BEAT_S, BEATS_UNTIL_LOST, NodeStatus, NodeWatch
from memwatch.cluster.planning import segment_sizes
from memwatch.cluster.run_folder import RunFolder
from memwatch.errors import MemwatchError, printable
from memwatch.model.node_rows import MOST_NODES, NodeRow, merged, node_line, segments_text
from memwatch.model.units import format_duration, format_size


@dataclass(frozen=True, slots=True)
class SeenNode:
    status: NodeStatus
    is_alive: bool


def node_rows(nodes: Sequence[SeenNode]) -> list[NodeRow]:
    """One row for each machine, in the order of names. A rank that has left is shown no more, and a driver, which has
    no workers, never."""
    machines: defaultdict[str, list[NodeRow]] = defaultdict(list)
    for node in nodes:
        if node.status.workers and not (node.status.ended and node.status.rank is not None):
            machines[node.status.machine or node.status.node].append(_row(node))
    return [merged(machines[machine]) for machine in sorted(machines)]


def _row(node: SeenNode) -> NodeRow:
    status = node.status
    name = status.host if status.rank is None else f"{status.host} rank {status.rank} of {status.world_size}"
    if not node.is_alive:
        # The tasks of a lost process are repeated elsewhere; one that has ended waits for the next.
        return NodeRow(name, "idle" if status.ended else "lost", 0 if status.ended else status.workers, status.done)
    return NodeRow(
        name,
        "paused" if status.is_paused else "working",
        status.workers,
        status.done,
        status.running,
        status.rate_bytes_s,
        status.headroom_bytes,
        status.level,
    )


def run_lines(nodes: Sequence[SeenNode], done: Collection[int], sizes: Sequence[int]) -> list[str]:
    """One line for the run, and one for each node."""
    rows = node_rows(nodes)
    rate = sum(row.rate_bytes_s or 0 for row in rows)
    done_bytes, total = sum(sizes[number] for number in done if number < len(sizes)), sum(sizes)
    counts = {
        "segments": len(sizes),
        "segments_done": len(done),
        "segments_running": sum(len(row.running) for row in rows),
        "segments_retried": sum(node.status.retried for node in nodes),
        "segments_failed": len({number for node in nodes for number in node.status.failed}),
    }
    parts = [f"{100 * done_bytes / total:5.1f} %"] if total else []
    parts += [segments_text(counts), f"{format_size(done_bytes)} of {format_size(total)}"]
    if rate:
        parts += [f"{format_size(rate)}/s", f"ETA {format_duration((total - done_bytes) / rate)}"]
    shown = [f"  {printable(node_line(row))}" for row in rows[:MOST_NODES]]
    return ["  ".join(parts), *shown]


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
        return run_lines(seen_nodes(self._watch), self._folder.done(), self._sizes)


def seen_nodes(watch: NodeWatch) -> list[SeenNode]:
    return [SeenNode(status, watch.is_alive(status)) for status in watch.read()]


def show_until_finished(out: str, show: Callable[[str], None], every_s: float = BEAT_S) -> None:
    view = RunView(out)
    while not view.is_finished:
        for line in view.lines():
            show(line)
        time.sleep(every_s)
    show(f"{out} is complete")
