"""Growth laws: curves that memory may follow over progress, each with how well it explains what was seen.

peak.py fits them to the upper edge of a job's memory. The laws are powers of progress, from ones that level off to
quadratic, and straight lines with one bend. Where several explain the edge about equally well, their disagreement is
the range of the forecast.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import mul

Edge = list[tuple[float, float]]  # (progress in units of the progress so far, the most that was taken by then)

# Each law with the weight that it has before anything was seen. Growth in a straight line is by far the most common.
_POWERS = ((-2.0, 0.5), (-1.0, 0.5), (-0.5, 0.5), (0.0, 0.5), (0.25, 0.7), (0.5, 1.0), (0.75, 1.0), (1.0, 4.0),
           (1.25, 0.5), (1.5, 0.5), (2.0, 0.5))  # fmt: skip
_BENDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_BEND_WEIGHT = 0.2
_LAST_BEND_UP = 0.6  # A step upwards that has just been taken is no new pace.
_INDEPENDENT = 10  # The points of an edge depend on each other: they count as this many.
_ROUGHNESS = 0.004  # Measured memory is never smoother than this share of what was taken.


@dataclass(frozen=True, slots=True)
class GrowthLaw:
    """`used = start + slope * shape(x)`, and `more` for each unit beyond `bend`; x in units of the progress so far."""

    weight: float
    start: float
    slope: float
    power: float = 1.0
    bend: float = 0.0
    more: float = 0.0

    def at(self, x: float) -> float:
        return self.start + self.slope * _shape(x, self.power) + self.more * max(x - self.bend, 0.0)


def laws_of(edge: Edge) -> list[GrowthLaw]:
    """All of them, with weights that add up to 1."""
    points = _Points(edge)
    found = [_power_law(points, power, prior) for power, prior in _POWERS]
    found += [law for bend in _BENDS if (law := _bent_law(points, bend)) is not None]
    total = sum(law.weight for law in found)
    return [replace(law, weight=law.weight / total) for law in found]


def quantile(weighted: Sequence[tuple[float, float]], share: float) -> float:
    """A quantile of sorted (value, weight), with weights that add up to 1; linear between two neighbours."""
    passed, before, before_value = 0.0, 0.0, weighted[0][0]
    for value, weight in weighted:
        middle = passed + weight / 2
        if middle >= share:
            if middle <= before:
                return value
            return before_value + (value - before_value) * (share - before) / (middle - before)
        passed, before, before_value = passed + weight, middle, value
    return weighted[-1][0]


def _shape(x: float, power: float) -> float:
    return math.log(x) if power == 0 else math.pow(x, power)


class _Points:
    """An edge, prepared for weighted least squares. The later a point, the more it counts: the rest of the run is like
    the last stretch, not like the first."""

    def __init__(self, edge: Edge) -> None:
        total = sum(x for x, _ in edge)
        self.xs = [x for x, _ in edge]
        self._weights = [x / total for x in self.xs]
        self.mean_y = _product(self._weights, [used for _, used in edge])
        above = [used - self.mean_y for _, used in edge]
        self._weighted_ys = list(map(mul, self._weights, above))
        self._variance = _product(self._weighted_ys, above)
        self._rough = (_ROUGHNESS * edge[-1][1]) ** 2

    def moments(self, column: Sequence[float]) -> tuple[float, float, float]:
        """Its mean, its variance, and its covariance with memory."""
        mean = _product(self._weights, column)
        squares = _product(map(mul, self._weights, column), column)
        return mean, squares - mean * mean, _product(self._weighted_ys, column)

    def covariance(self, column: Sequence[float], mean: float, mean_x: float) -> float:
        return _product(map(mul, self._weights, column), self.xs) - mean * mean_x

    def agreement(self, explained: float, parameters: int) -> float:
        """How well a law agrees, in units of the roughness: one that needs more parameters has to agree better."""
        error = max(self._variance - explained, 0.0)
        return math.pow((error + self._rough) / self._rough, -(_INDEPENDENT - parameters) / 2)


def _product(first: Iterable[float], second: Iterable[float]) -> float:
    total: float = sum(map(mul, first, second))
    return total


def _power_law(points: _Points, power: float, prior: float) -> GrowthLaw:
    mean_x, xx, xy = points.moments([_shape(x, power) for x in points.xs])
    slope = xy / xx
    return GrowthLaw(prior * points.agreement(slope * xy, 0), points.mean_y - slope * mean_x, slope, power)


def _bent_law(points: _Points, bend: float) -> GrowthLaw | None:
    """Two straight lines that meet at `bend`."""
    beyond = [max(x - bend, 0.0) for x in points.xs]
    mean_x, xx, xy = points.moments(points.xs)
    mean_b, bb, by = points.moments(beyond)
    xb = points.covariance(beyond, mean_b, mean_x)
    determinant = xx * bb - xb * xb
    if determinant <= 1e-9 * xx * bb:
        return None  # No point before it, or none after it.
    slope, more = (xy * bb - by * xb) / determinant, (by * xx - xy * xb) / determinant
    if more > 0 and bend > _LAST_BEND_UP:
        return None
    weight = _BEND_WEIGHT * points.agreement(slope * xy + more * by, 2)
    return GrowthLaw(weight, points.mean_y - slope * mean_x - more * mean_b, slope, 1.0, bend, more)
