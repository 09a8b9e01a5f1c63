"""Forecast: when headroom ends, how sure that is, and how hard the machine works for its memory now.

fill_windows.py reads the fill rate from windows of several lengths, each with a confidence. Of the windows with at
least medium confidence the one that ends first is taken; and apart from it, of those with more. The room that ends
first counts, be it the host or a limit; page cache never does, because what is available already excludes it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memwatch.decide.fill_windows import NOW_S, ForecastConfidence, RoomFill, fills, nearest, soonest
from memwatch.decide.history import HOST, History, Point
from memwatch.model.rates import counter_rate, stalled_fraction
from memwatch.model.units import GIB, MIB

PROVEN_SPAN_S = 10.0  # at 6.5, 2 of 246 healthy jobs at their recorded speed were warned about, at 10 none
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
    `certain_seconds_left` those that are certain. `job_rates` is what the job itself suffers."""

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
        """Whether the job is what fills memory."""
        return self.job_fill_bytes_s is not None and self.job_fill_bytes_s >= (self.fill_bytes_s or 0) / 2 > 0

    def is_within(self, seconds: float) -> bool:
        """Whether headroom ends so soon, as far as can be believed."""
        return self.is_credible and self.seconds_left is not None and self.seconds_left <= seconds


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
    found = list(fills(history, latest, reserves))
    fill = nearest(found)
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
        sure_seconds_left=soonest(found, ForecastConfidence.HIGH),
        proven_seconds_left=soonest(found, ForecastConfidence.HIGH, PROVEN_SPAN_S),
        certain_seconds_left=soonest(found, ForecastConfidence.CERTAIN),
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
    """How long to wait until the next sample: so short that even the fastest hog is seen several times before headroom
    ends."""
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


def _job_fill(history: History, latest: Point, fill: RoomFill | None) -> float | None:
    """The job's part of what fills the room: its share over the window that decided, or in the last second if less.

    A job that has just taken all that it wants is not to blame for the program that grows beside it now.
    """
    if fill is None:
        return _job_rate(latest, history.before(RATES_S, SHORTEST_RATES_S))
    over_window = _job_share(history, latest, history[fill.start], fill)
    lately = _job_share(history, latest, history.before(min(NOW_S, fill.span_s), 0.0), fill)
    shares = [share for share in (over_window, lately) if share is not None]
    return min(shares) * fill.rate_bytes_s if shares else None


def _job_share(history: History, latest: Point, since: Point | None, fill: RoomFill) -> float | None:
    """The job's share of what the room has lost since then, up to the last reading of the job.

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
    """The rates of the whole machine, and of the job alone."""
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
