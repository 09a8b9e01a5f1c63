"""How fast a room fills, read from windows of several lengths, and how far that can be believed. forecast.py calls it.

Windows are 0.2 s to 26 s long: the short ones see a hog of 2 GiB/s in time, the long ones a slow leak. Each window is
cut into pieces and its rate is the median of theirs, so one jump (a program that takes 2 GiB once) leaves it at zero.
The long windows, which alone can be sure, are cut into more pieces, and growth must be more even there: a sawtooth that
happens to rise is no leak. A window is believed as far ahead as it looks back, and its confidence says so:

    certain  room shrinks in every piece and in the last second, and headroom ends within less than half its length,
             which is at least CERTAIN_SPAN_S
    high     the same, within little more than its length, which is at least SURE_SPAN_S: many programs take gigabytes
             within a few seconds and then no more
    medium   the same, within twice its length
    low      anything else that shrinks: farther ahead, or in bursts
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from memwatch.decide.history import History, Point
from memwatch.model.units import MIB

# Seconds and pieces. Each half as long again as the one before, from three samples at 10 Hz to what History keeps; and
# before them one of two pieces, for 1 GiB that a hog of 2 GiB/s takes in half a second.
WINDOWS = ((0.2, 2), *((0.3 * 1.5**i, 3) for i in range(8)), *((0.3 * 1.5**i, 6) for i in range(8, 12)))
NOW_S = 1.0  # growth that stopped a second ago has stopped, unless it is too slow to tell
FRESH_S = 0.4  # and nothing is sure of growth that stopped just now
LOOK_AHEAD = 2.0  # times a window's length; at 3, 2 GiB taken once at 4 GiB/s of 8 GiB was called a hog
SURE_AHEAD = 1.2  # at 1, the last GiB is not seen to end 5 s ahead at 100 MiB/s
SURE_SPAN_S = 6.5
CERTAIN_SPAN_S = 20.0  # on a busy virtual machine a single allocation of 2 GiB takes 12 s
CERTAIN_AHEAD = 0.4  # at 0.55, a compile that grew for 23 s was called a hog 12 s ahead
# A piece that shrinks at less than a third of the median is a pause in the growth.
STEADY_SHARE = 1 / 3
EVEN_SHARE = 1 / 2  # the same for a window that is sure
# A desktop at rest moves tens of MiB to and fro. A small limit has a small desktop in it.
NOISE_BYTES = 64 * MIB
NOISE_SHARE = 1 / 64


class ForecastConfidence(IntEnum):
    """How far a forecast can be believed; the module's docstring defines each."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CERTAIN = 4


@dataclass(frozen=True, slots=True)
class RoomFill:
    """What one window says of one room."""

    seconds_left: float
    confidence: ForecastConfidence
    rate_bytes_s: float
    span_s: float
    start: int  # of the window, as an index of the history
    room: str

    @property
    def is_credible(self) -> bool:
        return self.confidence >= ForecastConfidence.MEDIUM


def fills(history: History, latest: Point, reserves: dict[str, int]) -> Iterator[RoomFill]:
    """What every window says of every room that shrinks. `reserves` has what must stay free in each room."""
    for window_s, pieces in WINDOWS:
        piece_s = window_s / pieces * 0.9  # a timer that fires a little early must not cost a sample
        start = history.index_before(piece_s * pieces)
        if start is None:
            break
        # At rest nothing has shrunk, and this is all the work there is.
        shrinking = [name for name in latest.rooms if _has_shrunk(history[start], latest, name)]
        cuts = _cuts(history, piece_s, pieces) if shrinking else []
        for name in shrinking if cuts else []:
            fill = _fill(history, cuts, piece_s, name, reserves[name])
            if fill is not None:
                yield fill


def nearest(found: Iterable[RoomFill]) -> RoomFill | None:
    """The one to believe: of credible ones the one that ends first, else the one over the longest time."""
    best: RoomFill | None = None
    for fill in found:
        if best is None or _is_better(fill, best):
            best = fill
    return best


def soonest(found: Iterable[RoomFill], at_least: ForecastConfidence, span_s: float = 0.0) -> float | None:
    """When headroom ends, as windows at least `span_s` long with this confidence say; None if there are none."""
    sure = (fill for fill in found if fill.confidence >= at_least and fill.span_s >= span_s)
    return min((fill.seconds_left for fill in sure), default=None)


def _has_shrunk(earlier: Point, latest: Point, name: str) -> bool:
    """Whether a room has shrunk by more than a machine at rest moves to and fro."""
    if name not in earlier.rooms:
        return False  # a limit that has just come
    room = latest.rooms[name]
    return room.shrunk_bytes(earlier.rooms[name]) >= min(NOISE_BYTES, room.capacity_bytes * NOISE_SHARE)


def _is_better(fill: RoomFill, best: RoomFill) -> bool:
    if fill.is_credible != best.is_credible:
        return fill.is_credible
    if fill.is_credible:
        return (fill.seconds_left, -fill.confidence) < (best.seconds_left, -best.confidence)
    # Of guesses, the one over the longer time.
    return fill.span_s > best.span_s or (fill.span_s == best.span_s and fill.seconds_left < best.seconds_left)


def _cuts(history: History, piece_s: float, pieces: int) -> list[int]:
    """The indices where a window is cut, from its start to the latest; none if there are too few samples in it."""
    found = [history.index_before(piece_s * i) for i in range(pieces, -1, -1)]
    cuts = [index for index in found if index is not None]
    return cuts if len(set(cuts)) == len(found) else []


def _fill(history: History, cuts: list[int], piece_s: float, name: str, reserve_bytes: int) -> RoomFill | None:
    start, last = cuts[0], cuts[-1]
    known = sorted(rate for ends in pairwise(cuts) if (rate := _rate(history, name, *ends)) is not None)
    if len(known) < len(cuts) - 1:
        return None
    rate = known[(len(known) - 1) // 2]  # the median; of two, the lower
    if rate <= 0 or not _goes_on(history, name, rate, piece_s):
        return None
    left_s = max(history[last].rooms[name].available_bytes - reserve_bytes, 0) / rate
    span_s = history[last].clock_s - history[start].clock_s
    steadiness = min(known[0] / rate, _lately(history, name, rate, FRESH_S, piece_s) / rate)
    return RoomFill(left_s, _confidence(steadiness, left_s, span_s), rate, span_s, start, name)


def _goes_on(history: History, name: str, rate: float, piece_s: float) -> bool:
    """Whether it also shrank just now. How long that is depends: slow growth shows only after a while."""
    return _lately(history, name, rate, NOW_S, piece_s) >= rate * STEADY_SHARE


def _lately(history: History, name: str, rate: float, seconds: float, piece_s: float) -> float:
    """The rate over the last `seconds`, or longer for growth that is slow: that shows only after a while."""
    start = history.index_before(min(max(seconds, NOISE_BYTES * seconds / rate), piece_s))
    rate_lately = None if start is None else _rate(history, name, start, len(history) - 1)
    return 0.0 if rate_lately is None else rate_lately


def _confidence(steadiness: float, left_s: float, span_s: float) -> ForecastConfidence:
    """`steadiness` is the rate of the slowest piece, as a share of the median."""
    if steadiness < STEADY_SHARE or left_s > LOOK_AHEAD * span_s:
        return ForecastConfidence.LOW
    if left_s > SURE_AHEAD * span_s or span_s < SURE_SPAN_S or steadiness < EVEN_SHARE:
        return ForecastConfidence.MEDIUM
    is_certain = left_s <= CERTAIN_AHEAD * span_s and span_s >= CERTAIN_SPAN_S
    return ForecastConfidence.CERTAIN if is_certain else ForecastConfidence.HIGH


def _rate(history: History, name: str, start: int, end: int) -> float | None:
    earlier, later = history[start], history[end]
    if name not in earlier.rooms or name not in later.rooms:
        return None  # a limit that came or went
    return later.rooms[name].shrunk_bytes(earlier.rooms[name]) / (later.clock_s - earlier.clock_s)
