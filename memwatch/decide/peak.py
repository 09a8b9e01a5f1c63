"""Peak: what memory the whole run will need, from how far the job is and what it has taken on the way.

Memory is followed as its upper edge over progress: a garbage collector's sawtooth and batches that are flushed do not
move it, and what happened in the first eighth of the way (imports, a model that is loaded) is part of no law. Several
laws of growth are fitted to that edge: powers of progress, from ones that level off to quadratic, and straight lines
with one bend. Each law counts as much as it agrees with what was seen, so the range is narrow where one law explains
everything, and wide where a step could be a beginning or an end. What comes after the last byte of the input, progress
does not tell; earlier runs of the same command do (earlier_runs.py).

Nobody acts on it: it is shown, and warned of when it is sure. docs/MEASUREMENTS.md has the figures.
"""

import math
from dataclasses import dataclass

from memwatch.model.run_need import RunNeed
from memwatch.model.units import GIB

LEAST_FRACTION = 0.03  # of progress: earlier nothing is said
LAST_FRACTION = 0.99
CURVE_POINTS = 32  # of a run that is over, in its journal
LEAST_MARKS = 6
MARKS = 192
WINDOW = 8  # The laws are fitted from 1/8 of the way on.
# A cache that fills, or the first of some batches, cannot be told from growth that never ends. Most are full by a fifth
# of the way, and few are gigabytes.
LEAST_SURE_FRACTION = 0.2
LEAST_SURE_BYTES = 2 * GIB
REACH = 4.0  # The laws are believed as far ahead as this many times the way that was seen.
MARGIN = 1.06
RECENT = 0.1  # of the way: what has levelled off this long ago no longer grows
STILL_GROWS = 0.7  # of the slope of the laws
PERSISTS = 1.05  # A warning must stay sure while progress grows by this factor.

Edge = list[tuple[float, float]]  # (progress in units of the progress so far, the most that was taken by then)

# Each law with the weight that it has before anything was seen. Growth in a straight line is by far the most common.
_POWERS = ((-2.0, 0.5), (-1.0, 0.5), (-0.5, 0.5), (0.0, 0.5), (0.25, 0.7), (0.5, 1.0), (0.75, 1.0), (1.0, 4.0),
           (1.25, 0.5), (1.5, 0.5), (2.0, 0.5))  # fmt: skip
_BENDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_BEND_WEIGHT = 0.2
_LAST_BEND_UP = 0.6  # A step upwards that has just been taken is no new pace.
_INDEPENDENT = 10  # The points of an edge depend on each other: they count as this many.
_DOUBT = 0.02  # of what is still to come, for every 2.7 times that the way so far has to be extended
_ROUGHNESS = 0.004  # Measured memory is never smoother than this share of what was taken.


@dataclass(frozen=True, slots=True)
class _Mark:
    fraction: float
    clock_s: float
    used_bytes: int  # the most since the mark before


@dataclass(frozen=True, slots=True)
class _Law:
    """`used = start + slope * shape(x)`, and `more` for each unit beyond `bend`; x in units of the progress so far."""

    weight: float
    start: float
    slope: float
    power: float = 1.0
    bend: float = 0.0
    more: float = 0.0

    def at(self, x: float) -> float:
        return self.start + self.slope * _shape(x, self.power) + self.more * max(x - self.bend, 0.0)


class WholeRun:
    """Of one job: samples and progress in, the outlook for the whole run out."""

    def __init__(self) -> None:
        self._marks: list[_Mark] = []
        self._most_bytes = 0  # since the last mark
        self._peak_bytes = 0

    def sample(self, job_bytes: int) -> None:
        self._most_bytes = max(self._most_bytes, job_bytes)
        self._peak_bytes = max(self._peak_bytes, job_bytes)

    def progress(self, clock_s: float, fraction: float) -> None:
        """Progress that goes back is another file, or another pass: what was learnt does not hold for it."""
        last = self._marks[-1].fraction if self._marks else -1.0
        if fraction < last:
            self._marks.clear()
            last = -1.0
        if fraction - last < fraction / MARKS or not self._most_bytes:
            return
        self._marks.append(_Mark(fraction, clock_s, self._most_bytes))
        self._most_bytes = 0
        if len(self._marks) > 2 * MARKS:
            self._thin()

    def outlook(self) -> "GrowthOutlook | None":
        """None while too little is known, and at the end."""
        marks = self._marks
        if not marks or not LEAST_FRACTION <= marks[-1].fraction < LAST_FRACTION:
            return None
        now = marks[-1].fraction
        edge = [(fraction / now, float(used)) for fraction, used in _upper_edge(marks, now / WINDOW)]
        if len(edge) < LEAST_MARKS or edge[0][0] > 0.5:
            return None
        return GrowthOutlook(now, edge, _laws(edge), self._peak_bytes, self._seconds_per_fraction())

    def curve(self) -> list[tuple[float, int]]:
        """The most that was taken by some fractions of progress: a later run of the same command learns from it."""
        edge = [(fraction, used) for fraction, used in _upper_edge(self._marks, 0.0) if fraction > 0]
        return list({int(fraction / edge[-1][0] * CURVE_POINTS): (fraction, used) for fraction, used in edge}.values())

    def _seconds_per_fraction(self) -> float:
        """Over the second half of the way."""
        last = self._marks[-1]
        first = next(mark for mark in self._marks if mark.fraction >= last.fraction / 2 or mark is self._marks[-2])
        return (last.clock_s - first.clock_s) / (last.fraction - first.fraction)

    def _thin(self) -> None:
        step = self._marks[-1].fraction / MARKS
        kept: list[_Mark] = []
        for mark in self._marks:
            if kept and mark.fraction - kept[-1].fraction < step:
                before = kept.pop()
                mark = _Mark(mark.fraction, mark.clock_s, max(mark.used_bytes, before.used_bytes))
            kept.append(mark)
        self._marks = kept


@dataclass(frozen=True, slots=True)
class GrowthOutlook:
    """The laws that fit what was seen until `fraction`."""

    fraction: float
    edge: Edge
    laws: list[_Law]
    peak_bytes: int
    seconds_per_fraction: float | None

    def need(self, there_bytes: int | None = None, reached: float | None = None) -> RunNeed:
        """`reached` is the progress of this run, if the laws are an earlier one's."""
        now = self.fraction
        low, middle, high = self._range(1 / now)
        # Even one law that explains everything may not be the law of the rest.
        more = _DOUBT * math.log(1 / now)
        low, high = low - more * (low - self._top_bytes), high + more * (high - self._top_bytes)
        low, middle, high = (max(value, self.peak_bytes) for value in (low, middle, high))
        full_at = full_in_s = None
        if there_bytes is not None and middle > there_bytes:
            full_at = self._crossing(there_bytes)
            if self.seconds_per_fraction is not None:
                full_in_s = max(full_at - (reached or now), 0.0) * self.seconds_per_fraction
        is_sure = full_at is not None and self._is_sure(there_bytes or 0)
        return RunNeed(now, round(middle), round(low), round(high), there_bytes, full_at, full_in_s, is_sure)

    @property
    def _top_bytes(self) -> float:
        return self.edge[-1][1]

    def _is_sure(self, there_bytes: int) -> bool:
        """By the laws; and by the last stretch alone, where it has grown less than the laws say."""
        grown_bytes = self._top_bytes - self.edge[0][1]
        if self._top_bytes > there_bytes * MARGIN:
            return True  # The earlier run has taken more than is there now.
        if self.fraction < LEAST_SURE_FRACTION and grown_bytes < LEAST_SURE_BYTES:
            return False
        x = min(1 / self.fraction, REACH)
        least = self._range(x)[0]
        if _recent_slope(self.edge) < STILL_GROWS * self._expected_slope():
            least = min(least, self._top_bytes + _recent_slope(self.edge) * (x - 1))
        return least > there_bytes * MARGIN

    def _expected_slope(self) -> float:
        """Of the middle of the laws, over the last stretch."""
        slopes = sorted(((law.at(1.0) - law.at(1 - RECENT)) / RECENT, law.weight) for law in self.laws)
        return _quantile(slopes, 0.5)

    def _range(self, x: float) -> tuple[float, float, float]:
        """What the laws expect at x: low, middle and high; never less than what was seen."""
        expected = sorted((max(law.at(x), self._top_bytes), law.weight) for law in self.laws)
        return _quantile(expected, 0.1), _quantile(expected, 0.5), _quantile(expected, 0.9)

    def _crossing(self, there_bytes: int) -> float:
        """The fraction of progress at which the middle of the range reaches what is there."""
        if self._top_bytes > there_bytes:
            return self.fraction * next(x for x, used in self.edge if used > there_bytes)
        low, high = self.fraction, 1.0
        for _ in range(12):
            middle = (low + high) / 2
            if self._range(middle / self.fraction)[1] > there_bytes:
                high = middle
            else:
                low = middle
        return high


class Persistence:
    """Says whether a need is worth a warning: it has been sure for a while, measured in progress."""

    def __init__(self) -> None:
        self._since: float | None = None

    def is_warning(self, need: RunNeed | None) -> bool:
        if need is None or not need.is_sure:
            self._since = None
            return False
        if self._since is None or need.fraction < self._since:
            self._since = need.fraction
        return need.fraction >= self._since * PERSISTS


def outlook_of(fraction: float, edge: Edge, seconds_per_fraction: float | None) -> GrowthOutlook:
    """For an edge that an earlier run has left, until `fraction` of this one's way."""
    recent = [(x, used) for x, used in edge if x * WINDOW >= 1]
    return GrowthOutlook(fraction, recent, _laws(recent), 0, seconds_per_fraction)


def _upper_edge(marks: list[_Mark], first: float) -> list[tuple[float, int]]:
    most = 0
    edge = []
    for mark in marks:
        if mark.fraction >= first:
            most = max(most, mark.used_bytes)
            edge.append((mark.fraction, most))
    return edge


def _recent_slope(edge: Edge) -> float:
    """Per unit of the progress so far."""
    x, used = next((x, used) for x, used in edge if x >= 1 - RECENT or x == edge[-2][0])
    return (edge[-1][1] - used) / (1 - x)


def _shape(x: float, power: float) -> float:
    return math.log(x) if power == 0 else math.pow(x, power)


def _laws(edge: Edge) -> list[_Law]:
    rough = (_ROUGHNESS * edge[-1][1]) ** 2
    found = [_power_law(edge, power, prior, rough) for power, prior in _POWERS]
    found += [law for bend in _BENDS if (law := _bent_law(edge, bend, rough)) is not None]
    total = sum(law.weight for law in found)
    return [_Law(law.weight / total, law.start, law.slope, law.power, law.bend, law.more) for law in found]


def _weight(error: float, rough: float, parameters: int) -> float:
    """How well a law agrees, in units of the roughness: one that needs more parameters has to agree better."""
    return math.pow((error + rough) / rough, -(_INDEPENDENT - parameters) / 2)


def _power_law(edge: Edge, power: float, prior: float, rough: float) -> _Law:
    """Least squares. Memory that shrinks is no law for an upper edge: then it stays as it is."""
    count = len(edge)
    shapes = [_shape(x, power) for x, _ in edge]
    mean_x, mean_y = sum(shapes) / count, sum(y for _, y in edge) / count
    variance = sum((x - mean_x) ** 2 for x in shapes)
    slope = sum((x - mean_x) * (y - mean_y) for x, (_, y) in zip(shapes, edge, strict=True)) / variance
    start = mean_y - slope * mean_x
    error = sum((y - start - slope * x) ** 2 for x, (_, y) in zip(shapes, edge, strict=True)) / count
    return _Law(prior * _weight(error, rough, 0), start, slope, power)


def _bent_law(edge: Edge, bend: float, rough: float) -> _Law | None:
    """Least squares for two straight lines that meet at `bend`."""
    count = len(edge)
    mean_x, mean_y = sum(x for x, _ in edge) / count, sum(y for _, y in edge) / count
    beyond = [max(x - bend, 0.0) for x, _ in edge]
    mean_b = sum(beyond) / count
    xx = sum((x - mean_x) ** 2 for x, _ in edge)
    bb = sum((b - mean_b) ** 2 for b in beyond)
    xb = sum((x - mean_x) * (b - mean_b) for (x, _), b in zip(edge, beyond, strict=True))
    xy = sum((x - mean_x) * (y - mean_y) for x, y in edge)
    by = sum((b - mean_b) * (y - mean_y) for (_, y), b in zip(edge, beyond, strict=True))
    determinant = xx * bb - xb * xb
    if determinant <= 1e-9 * xx * bb:
        return None  # No point before it, or none after it.
    slope, more = (xy * bb - by * xb) / determinant, (by * xx - xy * xb) / determinant
    if more > 0 and bend > _LAST_BEND_UP:
        return None
    start = mean_y - slope * mean_x - more * mean_b
    error = sum((y - start - slope * x - more * b) ** 2 for (x, y), b in zip(edge, beyond, strict=True)) / count
    return _Law(_BEND_WEIGHT * _weight(error, rough, 2), start, slope, 1.0, bend, more)


def _quantile(weighted: list[tuple[float, float]], share: float) -> float:
    """Between the middles of two neighbours in a straight line."""
    passed, before, before_value = 0.0, 0.0, weighted[0][0]
    for value, weight in weighted:
        middle = passed + weight / 2
        if middle >= share:
            if middle <= before:
                return value
            return before_value + (value - before_value) * (share - before) / (middle - before)
        passed, before, before_value = passed + weight, middle, value
    return weighted[-1][0]
