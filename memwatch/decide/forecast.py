"""Forecast: when headroom ends, how sure that is, and how hard the machine works for its memory now.

The fill rate is read from several windows, 0.2 s to 26 s long: the short ones see a hog of 2 GiB/s in time, the long
ones a slow leak. Each window is cut into pieces and its rate is the median of theirs, so one jump (a program that takes
2 GiB once) leaves it at zero. The long windows, which alone can be sure, are cut into more pieces, and growth must be
more even there: a sawtooth that happens to rise is no leak. A window is believed as far ahead as it looks back, and its
confidence says so:

    certain  room shrinks in every piece and in the last second, and headroom ends within less than half its length,
             which is at least CERTAIN_SPAN_S
    high     the same, within little more than its length, which is at least SURE_SPAN_S: many programs take gigabytes
             within a few seconds and then no more
    medium   the same, within twice its length
    low      anything else that shrinks: farther ahead, or in bursts

Of the windows with at least medium confidence the one that ends first is taken; and apart from it, of those with more.
The room that ends first counts, be it the host or a limit; page cache never does, because what is available already
excludes it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from memwatch.decide.history import HOST, History, Point
from memwatch.model.rates import counter_rate, stalled_fraction
from memwatch.model.units import GIB, MIB

# Seconds and pieces. Each half as long again as the one before, from three samples at 10 Hz to what History keeps; and
# before them one of two pieces, for 1 GiB that a hog of 2 GiB/s takes in half a second.
WINDOWS = ((0.2, 2), *((0.3 * 1.5**i, 3) for i in range(8)), *((0.3 * 1.5**i, 6) for i in range(8, 12)))
NOW_S = 1.0  # growth that stopped a second ago has stopped, unless it is too slow to tell
FRESH_S = 0.4  # and nothing is sure of growth that stopped just now
LOOK_AHEAD = 2.0  # times a window's length; at 3, 2 GiB taken once at 4 GiB/s of 8 GiB was called a hog
SURE_AHEAD = 1.2  # at 1, the last GiB is not seen to end 5 s ahead at 100 MiB/s
SURE_SPAN_S = 6.5
PROVEN_SPAN_S = 10.0  # at 6.5, 2 of 246 healthy jobs at their recorded speed were warned about, at 10 none
CERTAIN_SPAN_S = 20.0  # on a busy virtual machine a single allocation of 2 GiB takes 12 s
CERTAIN_AHEAD = 0.4  # at 0.55, a compile that grew for 23 s was called a hog 12 s ahead
# A piece that shrinks at less than a third of the median is a pause in the growth.
STEADY_SHARE = 1 / 3
EVEN_SHARE = 1 / 2  # the same for a window that is sure
# A desktop at rest moves tens of MiB to and fro. A small limit has a small desktop in it.
NOISE_BYTES = 64 * MIB
NOISE_SHARE = 1 / 64
RATES_S = 2.0  # over which swap, stalls and faults are counted: PSI moves in steps of some 100 ms
SHORTEST_RATES_S = 0.5
SHORTEST_READING_S = 0.01  # between two readings of the job
NEVER_TOUCHED_SHARE = 1 / 8  # of the reserve: 20 to 50 MiB of stacks and buffers that a program with numpy never uses
FILLED_SHARE = 0.9  # of a job's growth: so much of it is memory that it has allocated before

FASTEST_INTERVAL_S = 0.05
CAUTIOUS_INTERVAL_S = 0.1  # while nothing is known to grow
SLOWEST_INTERVAL_S = 1.0
UNKNOWN_INTERVAL_S = 0.5
STRESSED_INTERVAL_S = 0.25
# One thread takes new pages at 2.3 GiB/s, a few together at twice that (docs/MEASUREMENTS.md); five samples on the way
# down are what a forecast and an action need.
FASTEST_FILL_BYTES_S = 4 * GIB
SAMPLES_ON_THE_WAY = 5
SAMPLES_PER_FORECAST = 8


ReserveOf = Callable[[int], int]  # from the capacity of a room to what must stay free in it


class ForecastConfidence(IntEnum):
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CERTAIN = 4


@dataclass(frozen=True, slots=True)
class Rates:
    """What the kernel did for memory over the last `span_s`."""

    span_s: float | None = None
    swap_in_bytes_s: float | None = None
    swap_out_bytes_s: float | None = None
    stall_some_fraction: float | None = None  # of the time some program waited for memory; full: all of them
    stall_full_fraction: float | None = None
    major_faults_s: float | None = None
    refaults_s: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """Unknown is None. `headroom_bytes`, `capacity_bytes` and `reserve_bytes` are of the tightest room, which `room`
    names; `limit_path` names the room that ends first, if it is a limit and not the host itself. `sure_seconds_left` is
    what windows with high confidence say, `proven_seconds_left` those of them that are at least PROVEN_SPAN_S long, and
    `certain_seconds_left` those that are certain. `job_rates` is what the
    job itself suffers."""

    clock_s: float
    headroom_bytes: int | None = None
    capacity_bytes: int | None = None
    reserve_bytes: int = 0
    room: str = HOST
    limit_path: str | None = None
    limit_bytes: int | None = None  # of the room that `limit_path` names
    fill_bytes_s: float | None = None
    job_fill_bytes_s: float | None = None
    seconds_left: float | None = None
    sure_seconds_left: float | None = None
    proven_seconds_left: float | None = None
    certain_seconds_left: float | None = None
    confidence: ForecastConfidence = ForecastConfidence.LOW
    job_bytes: int | None = None
    job_fits: bool = False  # It fills memory that it has allocated before, and that ends before headroom does.
    rates: Rates = Rates()
    job_rates: Rates = Rates()

    @property
    def is_credible(self) -> bool:
        return self.seconds_left is not None and self.confidence >= ForecastConfidence.MEDIUM

    @property
    def job_explains(self) -> bool:
        """Is the job what fills memory?"""
        return self.job_fill_bytes_s is not None and self.job_fill_bytes_s >= (self.fill_bytes_s or 0) / 2 > 0

    def is_within(self, seconds: float) -> bool:
        """Does headroom end so soon, as far as can be believed?"""
        return self.is_credible and self.seconds_left is not None and self.seconds_left <= seconds


@dataclass(frozen=True, slots=True)
class _Fill:
    """What one window says of one room."""

    seconds_left: float
    confidence: ForecastConfidence
    rate_bytes_s: float
    span_s: float
    start: int
    room: str


def forecast(history: History, reserve_of: ReserveOf, debts: Mapping[str, int] | None = None) -> Forecast:
    """`debts` has what is free in a room only for a while. They are not taken from headroom, but decide which room is
    the tightest."""
    latest = history.latest
    if latest is None:
        return Forecast(clock_s=0.0)
    rates, job_rates = _rates(history, latest)
    if not latest.rooms:
        return Forecast(latest.clock_s, job_bytes=latest.job_bytes, rates=rates, job_rates=job_rates)
    reserves = {name: reserve_of(room.capacity_bytes) for name, room in latest.rooms.items()}
    owed = debts or {}
    tightest = min(reserves, key=lambda name: latest.rooms[name].available_bytes - reserves[name] - owed.get(name, 0))
    fills = list(_fills(history, latest, reserves))
    fill = _nearest(fills)
    headroom_bytes = latest.rooms[tightest].available_bytes - reserves[tightest]
    # What has ended already ends before whatever fills now: a cgroup at its limit, beside a host that others fill.
    ends_first = tightest if fill is None or headroom_bytes <= 0 else fill.room
    return Forecast(
        latest.clock_s,
        headroom_bytes=headroom_bytes,
        capacity_bytes=latest.rooms[tightest].capacity_bytes,
        reserve_bytes=reserves[tightest],
        room=tightest,
        limit_path=None if ends_first == HOST else ends_first,
        limit_bytes=None if ends_first == HOST else latest.rooms[ends_first].capacity_bytes,
        fill_bytes_s=0.0 if fill is None else fill.rate_bytes_s,
        job_fill_bytes_s=_job_fill(history, latest, fill),
        seconds_left=None if fill is None else fill.seconds_left,
        sure_seconds_left=_soonest(fills, ForecastConfidence.HIGH),
        proven_seconds_left=_soonest((each for each in fills if each.span_s >= PROVEN_SPAN_S), ForecastConfidence.HIGH),
        certain_seconds_left=_soonest(fills, ForecastConfidence.CERTAIN),
        confidence=ForecastConfidence.LOW if fill is None else fill.confidence,
        job_bytes=latest.job_bytes,
        job_fits=fill is not None
        and _job_fits(
            history, latest, latest.rooms[fill.room].available_bytes - reserves[fill.room], reserves[fill.room]
        ),
        rates=rates,
        job_rates=job_rates,
    )


def next_interval_s(forecast: Forecast) -> float:
    """Until the next sample: short enough that even the fastest hog is seen several times before headroom ends."""
    interval_s = SLOWEST_INTERVAL_S
    if forecast.headroom_bytes is None:
        interval_s = UNKNOWN_INTERVAL_S
    else:
        interval_s = min(interval_s, forecast.headroom_bytes / FASTEST_FILL_BYTES_S / SAMPLES_ON_THE_WAY)
    fastest_s = CAUTIOUS_INTERVAL_S
    if forecast.seconds_left is not None:
        interval_s = min(interval_s, forecast.seconds_left / SAMPLES_PER_FORECAST)
        fastest_s = FASTEST_INTERVAL_S if forecast.is_credible else fastest_s
    if (forecast.rates.stall_some_fraction or 0) >= 0.05 or (forecast.rates.swap_out_bytes_s or 0) >= MIB:
        interval_s = min(interval_s, STRESSED_INTERVAL_S)
    return max(interval_s, fastest_s)


def _fills(history: History, latest: Point, reserves: dict[str, int]) -> Iterator[_Fill]:
    """What every window says of every room that shrinks."""
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


def _nearest(fills: Iterable[_Fill]) -> _Fill | None:
    best: _Fill | None = None
    for fill in fills:
        if best is None or _is_better(fill, best):
            best = fill
    return best


def _soonest(fills: Iterable[_Fill], at_least: ForecastConfidence) -> float | None:
    return min((fill.seconds_left for fill in fills if fill.confidence >= at_least), default=None)


def _has_shrunk(earlier: Point, latest: Point, name: str) -> bool:
    """By more than a machine at rest moves to and fro."""
    if name not in earlier.rooms:
        return False  # a limit that has just come
    room = latest.rooms[name]
    return room.shrunk_bytes(earlier.rooms[name]) >= min(NOISE_BYTES, room.capacity_bytes * NOISE_SHARE)


def _is_better(fill: _Fill, best: _Fill) -> bool:
    credible = fill.confidence >= ForecastConfidence.MEDIUM
    if credible != (best.confidence >= ForecastConfidence.MEDIUM):
        return credible
    if credible:
        return (fill.seconds_left, -fill.confidence) < (best.seconds_left, -best.confidence)
    # Of guesses, the one over the longer time.
    return fill.span_s > best.span_s or (fill.span_s == best.span_s and fill.seconds_left < best.seconds_left)


def _cuts(history: History, piece_s: float, pieces: int) -> list[int]:
    """The indices where a window is cut, from its start to the latest; none if there are too few samples in it."""
    found = [history.index_before(piece_s * i) for i in range(pieces, -1, -1)]
    cuts = [index for index in found if index is not None]
    return cuts if len(set(cuts)) == len(found) else []


def _fill(history: History, cuts: list[int], piece_s: float, name: str, reserve_bytes: int) -> _Fill | None:
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
    return _Fill(left_s, _confidence(steadiness, left_s, span_s), rate, span_s, start, name)


def _goes_on(history: History, name: str, rate: float, piece_s: float) -> bool:
    """Did it also shrink just now? How long that is depends: slow growth shows only after a while among the noise."""
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


def _job_fill(history: History, latest: Point, fill: _Fill | None) -> float | None:
    """The job's part of what fills the room: its share over the window that decided, or in the last second if less.

    A job that has just taken all that it wants is not to blame for the program that grows beside it now.
    """
    if fill is None:
        return _job_rate(latest, history.before(RATES_S, SHORTEST_RATES_S))
    over_window = _job_share(history, latest, history[fill.start], fill)
    lately = _job_share(history, latest, history.before(min(NOW_S, fill.span_s), 0.0), fill)
    shares = [share for share in (over_window, lately) if share is not None]
    return min(shares) * fill.rate_bytes_s if shares else None


def _job_share(history: History, latest: Point, since: Point | None, fill: _Fill) -> float | None:
    """Of what the room has lost since then, as of two readings of the job: what was lost later is nobody's yet.

    A large job is read less often than its room. None if the last reading is too old to say anything of now.
    """
    later = history.at(latest.job_read_s)
    if since is None or later is None or latest.clock_s - later.clock_s > max(NOW_S, fill.span_s):
        return None
    if since.job_read_s >= later.job_read_s:  # Not read since then; so as of the reading before.
        since = history.at(later.job_read_s - SHORTEST_READING_S)
    earlier = None if since is None else history.at(since.job_read_s)
    if earlier is None or earlier is later or earlier.job_bytes is None or later.job_bytes is None:
        return None
    if fill.room not in earlier.rooms or fill.room not in later.rooms:
        return None
    grown, lost = later.job_bytes - earlier.job_bytes, later.rooms[fill.room].shrunk_bytes(earlier.rooms[fill.room])
    return max(min(grown / lost, 1.0), 0.0) if lost > 0 else float(grown > 0)


def _job_fits(history: History, latest: Point, headroom_bytes: int, reserve_bytes: int) -> bool:
    """Whether the job only fills what it has allocated before, and headroom is enough for all of it.

    A program that makes an array asks for all of it at once and then writes to it, for half a minute on a slow machine.
    One that goes on asking, a little at a time or the next array, does not fit.
    """
    earlier, untouched = history.before(RATES_S, SHORTEST_RATES_S), latest.job_untouched_bytes
    if earlier is None or earlier.job_untouched_bytes is None or untouched is None:
        return False
    if earlier.job_bytes is None or latest.job_bytes is None:
        return False
    grown = latest.job_bytes - earlier.job_bytes
    is_enough = untouched <= headroom_bytes + reserve_bytes * NEVER_TOUCHED_SHARE
    return is_enough and earlier.job_untouched_bytes - untouched >= grown * FILLED_SHARE > 0


def _job_rate(latest: Point, earlier: Point | None) -> float | None:
    if earlier is None or earlier.job_bytes is None or latest.job_bytes is None or earlier is latest:
        return None
    return (latest.job_bytes - earlier.job_bytes) / (latest.clock_s - earlier.clock_s)


def _rates(history: History, latest: Point) -> tuple[Rates, Rates]:
    """Of the whole machine, and of the job alone."""
    earlier = history.before(RATES_S, SHORTEST_RATES_S)
    if earlier is None:
        return Rates(), Rates()
    span_s = latest.clock_s - earlier.clock_s
    machine = Rates(
        span_s=span_s,
        swap_in_bytes_s=counter_rate(earlier.swapped_in_bytes, latest.swapped_in_bytes, span_s),
        swap_out_bytes_s=counter_rate(earlier.swapped_out_bytes, latest.swapped_out_bytes, span_s),
        stall_some_fraction=stalled_fraction(earlier.stall_some_us, latest.stall_some_us, span_s),
        stall_full_fraction=stalled_fraction(earlier.stall_full_us, latest.stall_full_us, span_s),
        major_faults_s=counter_rate(earlier.major_faults, latest.major_faults, span_s),
        refaults_s=counter_rate(earlier.refaults, latest.refaults, span_s),
    )
    before, now = earlier.job, latest.job
    job = Rates(
        span_s=span_s,
        stall_some_fraction=stalled_fraction(before.stall_some_us, now.stall_some_us, span_s),
        stall_full_fraction=stalled_fraction(before.stall_full_us, now.stall_full_us, span_s),
        major_faults_s=counter_rate(before.major_faults, now.major_faults, span_s),
        refaults_s=counter_rate(before.refaults, now.refaults, span_s),
    )
    return machine, job
