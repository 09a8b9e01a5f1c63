"""Peak: what memory the whole run will need, from how far the job is and what it has taken on the way.

Memory is followed as its upper edge over progress: a garbage collector's sawtooth and batches that are flushed do not
move it, and what happened in the first eighth of the way (imports, a model that is loaded) is part of no law. Several
laws of growth are fitted to that edge (growth_laws.py). Each law counts as much as it agrees with what was seen, so the
range is narrow where one law explains everything, and wide where a step could be a beginning or an end. Its low end
also allows for growth that has just slowed down, and only that low end is a reason to warn. What comes after the last
byte of the input, progress does not tell; earlier runs of the same command do (earlier_runs.py).

Nobody acts on it: it is shown, and warned of when it is sure. docs/MEASUREMENTS.md has the figures.
"""

import math
from dataclasses import dataclass

from memwatch.decide.growth_laws import Edge, GrowthLaw, laws_of, quantile
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
REACH = 3.0  # The laws are believed as far ahead as this many times the way that was seen.
MARGIN = 1.03
# Parts of the way: growth that has been slower over the last such part may stay so. An earlier run left few points.
STRETCHES = (0.07, 0.1, 0.2, 0.4)
STRETCHES_OF_EARLIER = (0.2, 0.4)
PERSISTS = 1.07  # A warning must have been sure while progress grew by this factor,
UNSURE_COUNTS = 0.5  # less this share of the progress meanwhile during which it was not.
_LOW, _HIGH = 0.1, 0.9  # of the laws, by their weights
_DOUBT = 0.02  # of what is still to come, for every 2.7 times that the way so far has to be extended


@dataclass(frozen=True, slots=True)
class _Mark:
    fraction: float
    clock_s: float
    used_bytes: int  # the most since the mark before


class WholeRun:
    """The outlook for the whole run of one job, from samples and progress."""

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
        return GrowthOutlook(now, edge, laws_of(edge), self._peak_bytes, self._seconds_per_fraction())

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
    laws: list[GrowthLaw]
    peak_bytes: int
    seconds_per_fraction: float | None
    stretches: tuple[float, ...] = STRETCHES

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
        if self._top_bytes > there_bytes * MARGIN:
            return True  # The earlier run has taken more than is there now.
        if self.fraction < LEAST_SURE_FRACTION and self._top_bytes - self.edge[0][1] < LEAST_SURE_BYTES:
            return False
        return self._range(min(1 / self.fraction, REACH))[0] > there_bytes * MARGIN

    def _range(self, x: float) -> tuple[float, float, float]:
        """What the laws expect at x: low, middle and high; never less than what was seen. The low end is also what
        the slowest of the last stretches leads to."""
        top = self._top_bytes
        expected = sorted((max(law.at(x), top), law.weight) for law in self.laws)
        low, middle, high = (quantile(expected, share) for share in (_LOW, 0.5, _HIGH))
        return min(low, top + self._least_slope() * max(x - 1, 0.0)), middle, high

    def _least_slope(self) -> float:
        """Per unit of the progress so far."""
        slopes = []
        for stretch in self.stretches:
            x, used = next((x, used) for x, used in self.edge if x >= 1 - stretch or x == self.edge[-2][0])
            slopes.append((self._top_bytes - used) / (1 - x))
        return min(slopes)

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
    """Says whether a need is worth a warning: it has been sure for a while, measured in progress. A moment in which it
    is not sure, as where growth comes in steps, takes away a part of that and not all."""

    def __init__(self) -> None:
        self._latest: float | None = None
        self._sure = 0.0  # the logarithm of the factor by which progress has grown meanwhile

    def is_warning(self, need: RunNeed | None) -> bool:
        if need is None or need.fraction <= 0:
            self._latest = None
            return False
        if self._latest is None or need.fraction < self._latest:
            self._latest, self._sure = need.fraction, 0.0
        step = math.log(need.fraction / self._latest)
        self._latest = need.fraction
        self._sure = self._sure + step if need.is_sure else max(self._sure - step * UNSURE_COUNTS, 0.0)
        return need.is_sure and self._sure >= math.log(PERSISTS)


def outlook_of(fraction: float, edge: Edge, seconds_per_fraction: float | None) -> GrowthOutlook:
    """For an edge that an earlier run has left, until `fraction` of this one's way."""
    recent = [(x, used) for x, used in edge if x * WINDOW >= 1]
    return GrowthOutlook(fraction, recent, laws_of(recent), 0, seconds_per_fraction, STRETCHES_OF_EARLIER)


def _upper_edge(marks: list[_Mark], first: float) -> list[tuple[float, int]]:
    most = 0
    edge = []
    for mark in marks:
        if mark.fraction >= first:
            most = max(most, mark.used_bytes)
            edge.append((mark.fraction, most))
    return edge
