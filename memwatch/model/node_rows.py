"""The nodes of a run on many machines, as every view shows them. May come from a journal, and hold anything."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memwatch.model.units import format_size

# A view shows no more; a cluster may have thousands.
MOST_NODES = 64
MOST_NAME_CHARACTERS = 80
_MOST = 1 << 62
LEVELS = ("calm", "watch", "warn", "act")


@dataclass(frozen=True, slots=True)
class NodeRow:
    """`state` is working, paused, idle or lost: its status file did not change for a while."""

    name: str
    state: str
    workers: int
    done: int
    running: tuple[int, ...] = ()
    rate_bytes_s: float | None = None
    headroom_bytes: int | None = None
    level: str | None = None
    trend: tuple[int, ...] = ()  # its rate over the last minute; a view computes it, and no event has it

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None and key != "trend"}

    @classmethod
    def from_json(cls, data: object) -> "NodeRow | None":
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            return None
        running = data.get("running")
        numbers = [_whole(number) for number in running[:16]] if isinstance(running, Sequence) else []
        level = data.get("level")
        return cls(
            data["name"][:MOST_NAME_CHARACTERS],
            str(data.get("state"))[:16],
            _whole(data.get("workers")) or 0,
            _whole(data.get("done")) or 0,
            tuple(number for number in numbers if number is not None),
            _whole(data.get("rate_bytes_s")),
            _whole(data.get("headroom_bytes")),
            level if level in LEVELS else None,
        )


def merged(rows: Sequence[NodeRow]) -> NodeRow:
    """Processes of one node as one row: the worst level, the least headroom."""
    states = [row.state for row in rows]
    levels = [row.level for row in rows if row.level in LEVELS]
    rates = [row.rate_bytes_s for row in rows if row.rate_bytes_s is not None]
    headrooms = [row.headroom_bytes for row in rows if row.headroom_bytes is not None]
    return replace(
        rows[0],
        state=next(state for state in ("paused", "working", "lost", "idle") if state in states),
        workers=sum(row.workers for row in rows),
        done=sum(row.done for row in rows),
        running=tuple(sorted(number for row in rows for number in row.running)),
        rate_bytes_s=sum(rates) if rates else None,
        headroom_bytes=min(headrooms, default=None),
        level=max(levels, key=LEVELS.index, default=None),
    )


def rows_of(event: Mapping[str, object]) -> list[NodeRow]:
    """The rows of a `nodes` event."""
    nodes = event.get("nodes")
    if not isinstance(nodes, Sequence):
        return []
    return [row for row in map(NodeRow.from_json, nodes[:MOST_NODES]) if row is not None]


def node_line(row: NodeRow) -> str:
    """name  workers  segments  rate  headroom  level: the same order everywhere."""
    parts = [row.name, "1 worker" if row.workers == 1 else f"{row.workers} workers", f"{row.done} done"]
    if row.state == "lost":
        return "  ".join([*parts, "lost"])
    if row.running:
        shown = ", ".join(map(str, row.running[:4])) + (", ..." if len(row.running) > 4 else "")
        parts.append(f"running {shown}")
    if row.rate_bytes_s is not None:
        parts.append(f"{format_size(row.rate_bytes_s)}/s")
    if row.headroom_bytes is not None:
        parts.append(f"headroom {format_size(row.headroom_bytes)}")
    if row.level is not None:
        parts.append(row.level)
    if row.state != "working":
        parts.append(row.state)
    return "  ".join(parts)


def segments_text(counts: Mapping[str, object]) -> str:
    """`segments 12 of 40 done, 4 running, 1 retried, 2 failed`, from a progress event."""
    text = f"segments {_whole(counts.get('segments_done')) or 0} of {_whole(counts.get('segments')) or 0} done"
    for word in ("running", "retried", "failed"):
        if number := _whole(counts.get(f"segments_{word}")):
            text += f", {number} {word}"
    return text


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and abs(value) < _MOST else None
