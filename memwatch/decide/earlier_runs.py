"""What earlier runs of the same command tell of this one: their peaks, and how much work each had."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memwatch.decide.peak import MARGIN, GrowthOutlook
from memwatch.model.run_need import RunNeed

SAME_WORK = 0.02  # Two inputs that differ by less are the same, as far as memory is concerned.
SPREAD = 0.03  # of the peak, from one run to the next
LONGEST_STRETCH = 20.0  # A run on a twentieth of the input says little about the whole.


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """One that finished. `total` is its progress at 100 %: bytes of its input, or what it reported."""

    total: float
    peak_bytes: int


def need_of(
    outlook: GrowthOutlook | None,
    earlier: Sequence[EarlierRun],
    total: float,
    fraction: float,
    peak_bytes: int,
    there_bytes: int | None,
) -> RunNeed | None:
    """What this run shows by itself, and what earlier ones show; None if neither says anything.

    The same work took what it takes, its end included. Other work is compared by its amount. Where this run already
    goes beyond what earlier ones had, it is believed and they are not.
    """
    own = None if outlook is None else outlook.need(there_bytes)
    same = [run for run in earlier if abs(run.total - total) <= SAME_WORK * total]
    learnt = _as_before(same) if same else _scaled(earlier, total)
    if learnt is None or peak_bytes > learnt[2] or (own is not None and own.low_bytes > learnt[2]):
        return own
    low, middle, high, runs = learnt
    low, middle = max(low, peak_bytes), max(middle, peak_bytes)
    if own is not None and not same and own.high_bytes >= low:
        return replace(own, high_bytes=max(own.high_bytes, high), runs=runs)  # It agrees, and knows less.
    is_sure = there_bytes is not None and bool(same) and low > there_bytes * MARGIN
    place = (None, None) if own is None else (own.full_at, own.full_in_s)
    if there_bytes is None or middle <= there_bytes:
        place = (None, None)
    return RunNeed(fraction, middle, low, high, there_bytes, *place, is_sure, runs)


def _as_before(runs: Sequence[EarlierRun]) -> tuple[int, int, int, int]:
    peaks = sorted(run.peak_bytes for run in runs)
    low, high = peaks[0] * (1 - SPREAD), peaks[-1] * (1 + SPREAD)
    return round(low), peaks[len(peaks) // 2], round(high), len(peaks)


def _scaled(earlier: Sequence[EarlierRun], total: float) -> tuple[int, int, int, int] | None:
    """By the run with the most similar amount of work. What part of its memory does not grow is not known."""
    near = [run for run in earlier if run.total > 0 and 1 / LONGEST_STRETCH <= total / run.total <= LONGEST_STRETCH]
    if not near or total <= 0:
        return None
    run = min(near, key=lambda run: max(total / run.total, run.total / total))
    scaled = run.peak_bytes * total / run.total
    return round(min(scaled, run.peak_bytes)), round(scaled), round(max(scaled, run.peak_bytes)), len(near)
