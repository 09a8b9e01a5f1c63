"""The recorded memory of healthy jobs over time (record.py makes them), for simulations that need no real memory."""

import json
import lzma
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from memwatch.model.units import GIB, MIB

RECORDED = Path(__file__).with_name("curves.txt.xz")
UNIT_BYTES = MIB // 10  # of the numbers in the file


class Point(NamedTuple):
    """What the job takes (anonymous memory and shmem) and its page cache, after it has run for so long."""

    running_s: float
    used_bytes: int
    cache_bytes: int


@dataclass(frozen=True, slots=True)
class Curve:
    """One job run bare in a cage. Between its points it is a straight line, true to 1 % of its peak."""

    name: str
    cage_bytes: int
    points: tuple[Point, ...]

    @property
    def seconds(self) -> float:
        return self.points[-1].running_s

    @property
    def peak_bytes(self) -> int:
        return max(point.used_bytes for point in self.points)

    def bytes_at(self, running_s: float) -> float:
        """What the job takes after it has run for so long; outside the recorded time, as at the nearest point."""
        return self._between(running_s, 1)

    def cache_bytes_at(self, running_s: float) -> float:
        return self._between(running_s, 2)

    def _between(self, running_s: float, field: int) -> float:
        after = bisect_right(self.points, running_s, key=lambda point: point.running_s)
        if after == 0:
            return self.points[0][field]
        if after == len(self.points):
            return self.points[-1][field]
        left, right = self.points[after - 1], self.points[after]
        share = (running_s - left.running_s) / (right.running_s - left.running_s)
        return left[field] + share * (right[field] - left[field])


def load_curves(path: Path = RECORDED) -> list[Curve]:
    if not path.exists():
        return []
    with lzma.open(path, "rt") as file:
        return [curve_in(json.loads(facts), next(file).split()) for facts in file]


def save_curves(curves: Iterable[Curve], path: Path = RECORDED) -> None:
    """Two lines a curve: facts in JSON, then a triple a point (ms, and tenths of MiB), each less the one before it."""
    lines = []
    for curve in sorted(curves, key=lambda curve: (curve.name, curve.cage_bytes)):
        facts = {
            "name": curve.name,
            "cage_gib": curve.cage_bytes // GIB,
            "peak_mib": round(curve.peak_bytes / MIB),
            "seconds": round(curve.seconds, 1),
        }
        whole = [whole_numbers(point) for point in curve.points]
        steps = (
            ",".join(str(now - before) for now, before in zip(point, earlier, strict=True))
            for earlier, point in zip([(0, 0, 0), *whole], whole, strict=False)
        )
        lines += [json.dumps(facts), " ".join(steps)]
    path.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))


def whole_numbers(point: Point) -> tuple[int, int, int]:
    return (
        round(point.running_s * 1000),
        round(point.used_bytes / UNIT_BYTES),
        round(point.cache_bytes / UNIT_BYTES),
    )


def curve_in(facts: dict[str, object], steps: Sequence[str]) -> Curve:
    at_ms = used = cache = 0
    points = []
    for step in steps:
        more_ms, more_used, more_cache = map(int, step.split(","))
        at_ms, used, cache = at_ms + more_ms, used + more_used, cache + more_cache
        points.append(Point(at_ms / 1000, used * UNIT_BYTES, cache * UNIT_BYTES))
    return Curve(str(facts["name"]), int(str(facts["cage_gib"])) * GIB, tuple(points))


def thin(points: Sequence[Point], used_error_bytes: float, cache_error_bytes: float) -> list[Point]:
    """As few of the points as keep every other one within the errors of the straight line between its neighbours.

    From an anchor, every later point leaves a cone of lines that pass it closely enough; the first point outside the
    cone starts a new line at the one before it.
    """
    errors = (0.0, used_error_bytes, cache_error_bytes)
    kept = [points[0]]
    low, high = [float("-inf")] * 3, [float("inf")] * 3
    for before, point in pairwise(points):
        if not passes(kept[-1], point, low, high):
            kept.append(before)
            low, high = [float("-inf")] * 3, [float("inf")] * 3
        for field in (1, 2):
            passed_s = point.running_s - kept[-1].running_s
            rise = point[field] - kept[-1][field]
            low[field] = max(low[field], (rise - errors[field]) / passed_s)
            high[field] = min(high[field], (rise + errors[field]) / passed_s)
    if len(points) > 1:
        kept.append(points[-1])
    return kept


def passes(anchor: Point, point: Point, low: Sequence[float], high: Sequence[float]) -> bool:
    slopes = [(point[field] - anchor[field]) / (point.running_s - anchor.running_s) for field in (1, 2)]
    return all(low[field] <= slope <= high[field] for field, slope in zip((1, 2), slopes, strict=True))
