"""What earlier runs of the same command show about this one.

A run on the same work took what it takes, its end included. A run on less work, or one that did not finish, has shown
how memory grows over the first part of the way: over the same amount of work, this run does the same. So this run knows
at 3 % of its way what the earlier one knew at its end: also whether growth levels off, and how much more the job takes
after the last byte of its input was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memwatch.decide.growth_laws import Edge
from memwatch.decide.peak import LEAST_MARKS, MARGIN, GrowthOutlook, outlook_of
from memwatch.model.run_need import RunNeed
from memwatch.model.units import MIB

SAME_WORK = 0.02  # Two inputs that differ by less are the same, as far as memory is concerned.
SPREAD = 0.03  # of the peak, from one run to the next
# This run behaves like an earlier one while their memory differs by no more, after the same amount of work.
AGREES = 0.2
AGREES_BYTES = 8 * MIB
ENOUGH_SEEN = 0.8  # of its work: then what comes after the input can be told from the rest


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """`total` is its progress at 100 %: bytes of its input, or what it reported. `peak_bytes` is None if it did not
    finish. `curve` is the most that it had taken by then, at some amounts of work done."""

    total: float
    peak_bytes: int | None
    curve: tuple[tuple[float, int], ...] = ()

    @property
    def seen(self) -> float:
        """The work until which its memory is known."""
        return self.curve[-1][0] if self.curve else 0.0

    @property
    def after_input(self) -> float:
        """How many times more it took at its peak than when its input was read; 1 where that is not known.

        The last bytes are often read between two looks: until then it grows as in the last quarter of the curve.
        """
        if self.peak_bytes is None or self.seen < self.total * ENOUGH_SEEN:
            return 1.0
        slope = (self.at(self.seen) - self.at(self.seen * 0.75)) / (self.seen * 0.25)
        return max(self.peak_bytes / (self.at(self.seen) + slope * max(self.total - self.seen, 0.0)), 1.0)

    def at(self, done: float) -> float:
        """The most that it had taken by then; between two points in a straight line."""
        before_done, before_bytes = 0.0, float(self.curve[0][1])
        for at_done, used_bytes in self.curve:
            if at_done >= done:
                return before_bytes + (used_bytes - before_bytes) * (done - before_done) / (at_done - before_done)
            before_done, before_bytes = at_done, used_bytes
        return before_bytes


def need_of(
    outlook: GrowthOutlook | None,
    earlier: Sequence[EarlierRun],
    total: float,
    fraction: float,
    peak_bytes: int,
    there_bytes: int | None,
) -> RunNeed | None:
    """What this run shows by itself, and what earlier ones show; None if neither says anything.

    Where this run already goes beyond what earlier ones had, it is believed and they are not.
    """
    own = None if outlook is None else outlook.need(there_bytes)
    same = [run for run in earlier if run.peak_bytes is not None and abs(run.total - total) <= SAME_WORK * total]
    if same and (need := _as_before(same, own, fraction, peak_bytes, there_bytes)) is not None:
        return need
    run = max(earlier, key=lambda run: run.seen, default=None)
    if run is None or not run.curve or not _agrees(run, total * fraction, peak_bytes):
        return own
    if run.seen > total * fraction and (seen := _as_seen(run, outlook, total, fraction, there_bytes)) is not None:
        # Where both expect that it does not fit, it is enough that one is sure.
        own = replace(seen, is_sure=seen.is_sure or (own is not None and own.is_sure and seen.full_at is not None))
    return None if own is None else _with_the_end(replace(own, runs=1), run, there_bytes)


def _as_before(
    runs: Sequence[EarlierRun], own: RunNeed | None, fraction: float, peak_bytes: int, there_bytes: int | None
) -> RunNeed | None:
    """The same work, so what it took then. None where this run takes more."""
    peaks = sorted(run.peak_bytes or 0 for run in runs)
    low, high = round(peaks[0] * (1 - SPREAD)), round(peaks[-1] * (1 + SPREAD))
    if peak_bytes > high or (own is not None and own.low_bytes > high):
        return None
    low, middle = max(low, peak_bytes), max(peaks[len(peaks) // 2], peak_bytes)
    is_sure = there_bytes is not None and low > there_bytes * MARGIN
    is_full = there_bytes is not None and middle > there_bytes
    place: tuple[float | None, float | None] = (None, None)
    if there_bytes is not None and is_full:
        place = (_full_at(runs, fraction, there_bytes), None)
        if own is not None and own.full_at is not None:
            place = (own.full_at, own.full_in_s)
    return RunNeed(fraction, middle, low, high, there_bytes, *place, is_sure, len(peaks))


def _full_at(runs: Sequence[EarlierRun], fraction: float, there_bytes: int) -> float | None:
    """The part of the way at which the newest of the runs that left a curve had taken more than is there now. This run
    may have come further with less."""
    run = next((run for run in runs if run.curve), None)
    if run is None:
        return None
    full_at = next((done / run.total for done, used in run.curve if used > there_bytes), 1.0)
    return min(max(full_at, fraction), 1.0)


def _agrees(run: EarlierRun, done: float, peak_bytes: int) -> bool:
    if done > run.seen or done < run.curve[0][0]:
        return done > run.seen  # Beyond that this run is believed, and before it nothing was seen.
    expected = run.at(done)
    return abs(peak_bytes - expected) <= max(AGREES * expected, AGREES_BYTES)


def _as_seen(
    run: EarlierRun, outlook: GrowthOutlook | None, total: float, fraction: float, there_bytes: int | None
) -> RunNeed | None:
    """The laws that the earlier run followed, as far as it went, predict the rest of this one."""
    until = min(run.seen, total)
    edge: Edge = [(done / until, float(used)) for done, used in run.curve if done <= until]
    if len(edge) < LEAST_MARKS:
        return None
    seconds_per_fraction = None if outlook is None else outlook.seconds_per_fraction
    need = outlook_of(until / total, edge, seconds_per_fraction).need(there_bytes, fraction)
    return replace(need, fraction=fraction)


def _with_the_end(need: RunNeed, run: EarlierRun, there_bytes: int | None) -> RunNeed:
    """What the job takes after the last byte of its input was in the earlier run's peak."""
    more = run.after_input
    if more <= 1 + SPREAD:
        return need
    low, middle, high = (round(value * more) for value in (need.low_bytes, need.need_bytes, need.high_bytes))
    if there_bytes is None or middle <= there_bytes:
        return replace(need, low_bytes=low, need_bytes=middle, high_bytes=high)
    is_sure = need.is_sure or low > there_bytes * MARGIN
    full_at = 1.0 if need.full_at is None else need.full_at
    return replace(need, low_bytes=low, need_bytes=middle, high_bytes=high, full_at=full_at, is_sure=is_sure)
