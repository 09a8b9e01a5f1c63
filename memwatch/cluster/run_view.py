"""A run on many machines as its output folder shows it: for `memwatch attach OUT`, and for the run's own views."""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memwatch.cluster.nodes import BEAT_S, BEATS_UNTIL_LOST, NodeStatus, NodeWatch
from memwatch.cluster.planning import segment_sizes
from memwatch.cluster.run_folder import RunFolder
from memwatch.errors import MemwatchError, printable
from memwatch.journal.events import exit_event, nodes_event, progress_event, verdict_event
from memwatch.model.node_rows import LEVELS, MOST_NODES, NodeRow, merged, node_line, segments_text
from memwatch.model.units import format_duration, format_size


@dataclass(frozen=True, slots=True)
class SeenNode:
    status: NodeStatus
    is_alive: bool


def node_rows(nodes: Sequence[SeenNode]) -> list[NodeRow]:
    """One row for each machine, in the order of names; machines of one name have a row each. A rank that has left is
    shown no more, and a driver, which has no workers, never."""
    machines: defaultdict[str, list[NodeRow]] = defaultdict(list)
    for node in nodes:
        if node.status.workers and not (node.status.ended and node.status.rank is not None):
            machines[node.status.machine or node.status.node].append(_row(node))
    rows = {machine: merged(machines[machine]) for machine in sorted(machines)}
    names = Counter(row.name for row in rows.values())
    return [row if names[row.name] == 1 else replace(row, name=machine) for machine, row in rows.items()]


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


def segment_counts(nodes: Sequence[SeenNode], done: Collection[int], segments: int) -> dict[str, int]:
    """The counts of segments, under the keys of a progress event."""
    return {
        "segments": segments,
        "segments_done": len(done),
        "segments_running": running_segments(node_rows(nodes), done),
        "segments_retried": sum(node.status.retried for node in nodes),
        "segments_failed": len({number for node in nodes for number in node.status.failed}),
    }


def running_segments(rows: Sequence[NodeRow], done: Collection[int]) -> int:
    """A status is some seconds old: what it shows as running may be done."""
    return sum(number not in done for row in rows for number in row.running)


def run_lines(nodes: Sequence[SeenNode], done: Collection[int], sizes: Sequence[int]) -> list[str]:
    """One line for the run, and one for each node."""
    rows = node_rows(nodes)
    rate = sum(row.rate_bytes_s or 0 for row in rows)
    done_bytes, total = sum(sizes[number] for number in done if number < len(sizes)), sum(sizes)
    parts = [f"{100 * done_bytes / total:5.1f} %"] if total else []
    parts += [segments_text(segment_counts(nodes, done, len(sizes)))]
    parts += [f"{format_size(done_bytes)} of {format_size(total)}"]
    if rate:
        parts += [f"{format_size(rate)}/s", f"ETA {format_duration((total - done_bytes) / rate)}"]
    shown = [f"  {printable(node_line(row))}" for row in rows[:MOST_NODES]]
    return ["  ".join(parts), *shown]


def worst(rows: Sequence[NodeRow]) -> tuple[str, str]:
    """The level of the run and its reason: the node in the worst trouble."""
    known = [row for row in rows if row.level is not None and row.state != "lost"]
    if not known:
        return "calm", "no node has reported its memory yet"
    headrooms = [row.headroom_bytes for row in known if row.headroom_bytes is not None]
    row = max(known, key=lambda row: (LEVELS.index(row.level or "calm"), -_headroom(row)))
    left = "unknown" if row.headroom_bytes is None else format_size(max(row.headroom_bytes, 0))
    headroom = f"{left} headroom on {row.name}"
    if row.state == "paused":
        return row.level or "calm", f"{headroom}: its segments are paused until memory is free"
    is_least = len(headrooms) > 1 and row.headroom_bytes == min(headrooms)
    return row.level or "calm", headroom + (", the least of all nodes" if is_least else "")


def _headroom(row: NodeRow) -> float:
    """A node whose headroom is not known comes last."""
    return math.inf if row.headroom_bytes is None else row.headroom_bytes


class RunView:
    """What `attach` shows of a run, again and again: as lines, or as events for the screen."""

    def __init__(self, out: str, beat_s: float = BEAT_S) -> None:
        self._folder = RunFolder(out)
        self._watch = NodeWatch(self._folder, BEATS_UNTIL_LOST * beat_s)
        plan = self._folder.load_plan()
        if plan is None and not self._folder.is_finished:
            raise MemwatchError(f"{out} has no run by segments; start one: memwatch run tokenize --shard-by segment")
        self._sizes = [] if plan is None else segment_sizes(plan)
        self._inputs = [] if plan is None else [str(source["path"]) for source in plan.inputs]
        self._states: dict[str, str] = {}
        self._failed: set[int] = set()
        self._has_begun = False

    @property
    def is_finished(self) -> bool:
        return self._folder.is_finished

    def lines(self) -> list[str]:
        return run_lines(seen_nodes(self._watch), self._folder.done(), self._sizes)

    def events(self, now_t: float) -> list[dict[str, Any]]:
        """The run as it is now, in the events of a journal; `exit` when it is complete."""
        if self.is_finished:
            return [exit_event(now_t, 0, None, None)]
        nodes, done = seen_nodes(self._watch), self._folder.done()
        rows = node_rows(nodes)
        level, reason = worst(rows)
        done_bytes = sum(self._sizes[number] for number in done if number < len(self._sizes))
        counts = segment_counts(nodes, done, len(self._sizes))
        progress = {"done": done_bytes, "total": sum(self._sizes), "unit": "bytes", **counts}
        return [
            *self._beginning(),
            *self._news(now_t, nodes, rows),
            nodes_event(now_t, {"nodes": [row.as_json() for row in rows]}),
            progress_event(now_t, progress),
            verdict_event(now_t, level, reason, None),
        ]

    def _beginning(self) -> list[dict[str, Any]]:
        if self._has_begun:
            return []
        try:
            began_t = self._folder.store.info(self._folder.plan_address).modified_ns / 1e9
        except FileNotFoundError:
            return []  # The run was completed meanwhile; the next look finds the manifest.
        self._has_begun = True
        more = f" and {len(self._inputs) - 1} more" if len(self._inputs) > 1 else ""
        title = f"tokenize {self._inputs[0]}{more} \u2192 {self._folder.out}"
        return [{"t": began_t, "event": "start", "command": [title]}]

    def _news(self, now_t: float, nodes: Sequence[SeenNode], rows: Sequence[NodeRow]) -> list[dict[str, Any]]:
        """Nodes that came, were lost or wait, and segments that failed, since the last time."""
        texts = []
        if not self._states:
            self._states = {row.name: row.state for row in rows}
        for row in rows:
            before, self._states[row.name] = self._states.get(row.name), row.state
            if before != row.state and (before, row.state) not in _NO_NEWS:
                texts.append(f"node {row.name} {_STATE_NEWS.get(row.state, row.state)}")
        failed = {number for node in nodes for number in node.status.failed}
        texts += [f"segment {number} failed three times and is left out" for number in sorted(failed - self._failed)]
        self._failed |= failed
        return [{"t": now_t, "event": "note", "text": text} for text in texts]


_STATE_NEWS = {
    "working": "works",
    "paused": "is short of memory: its segments are paused",
    "lost": "is lost: others make its segments",
    "idle": "waits for segments",
}
# Between two segments a node is idle for a moment.
_NO_NEWS = {("idle", "working"), ("working", "idle"), (None, "idle")}


def seen_nodes(watch: NodeWatch) -> list[SeenNode]:
    return [SeenNode(status, watch.is_alive(status)) for status in watch.read()]


def show_until_finished(out: str, show: Callable[[str], None], every_s: float = BEAT_S) -> None:
    view = RunView(out)
    while not view.is_finished:
        for line in view.lines():
            show(line)
        time.sleep(every_s)
    show(f"{out} is complete")
