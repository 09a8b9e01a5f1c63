"""Thresholds: what one forecast, taken alone, calls for. More headroom never calls for more.

Three kinds of evidence, read from three places, so that two of them together are worth more than one:

    headroom   memory ends soon, or what is left has come out of the reserve
    traffic    pages go out and come back: swap in and out at once, or refaults where there is no swap
    stalls     programs wait for memory (PSI)

Traffic and stalls are those of the whole machine, and may be another program's, inside a limit of its own. They raise
the level; whether anything is done to the job because of them depends on what the job itself suffers (`is_the_jobs`).
Free swap is not looked at: it silences nothing.
"""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from memwatch.decide.forecast import Forecast, Rates
from memwatch.model.units import MIB


class Level(IntEnum):
    """How serious the state of memory is."""

    CALM = 0
    WATCH = 1
    WARN = 2
    ACT = 3


LEVEL_NAMES = tuple(level.name.lower() for level in Level)  # as journals have them, the calmest first


class Signal(StrEnum):
    """A kind of evidence for a level."""

    HEADROOM = "headroom"
    SWAP = "swap"
    REFAULTS = "refaults"
    STALLS = "stalls"


# Swap-ins are refaults of another kind: together they are one piece of evidence.
_KIND = {Signal.HEADROOM: 0, Signal.SWAP: 1, Signal.REFAULTS: 1, Signal.STALLS: 2}

# How much easier it is to stay at a level than to reach it.
SLACK = 1.5
SMALLEST_TIGHT_BYTES = 256 * MIB
SMALLEST_TIGHT_SHARE = 1 / 16
HIGHEST_FLOOR_BYTES = 32 * MIB
# Of the faults on the machine: a job with less than this is not what keeps the disk busy.
OWN_FAULTS_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is a share is of the reserve of the room that counts.

    `floor_share`   of headroom: below it nothing is left to let the job use
    `lost_share`    so much of the reserve may be gone before the level says so even if nothing moves: something else
                    took it, and it is still there for that
    `plenty_share`  of the room: with more headroom than this, growth is not worth a line unless it is sure
    `swap_ahead_s`  a warning comes this long before the first page goes out, which is when the reserve is used up
    `warn_s`        and at least, and at most, this long before headroom ends. At 12 s a compile beside a browser was
                    warned about five times in a quarter of an hour, with a GiB of 3 left (test_benign_hour.py)
    `slow_bytes_s`  these times are for growth up to the first. What grows faster is warned about later, and from the
                    second on not before it is held: it is more often a program that loads something, nobody can answer
                    within seconds, and whether it goes on growing after a hold says more than any forecast
    `held_s`        a job that the guard holds when headroom is about to end is warned about so long before that, until
                    its growth is proven: the hold protects the machine, and shows whether the job goes on. None: nobody
                    holds it
    `certain_s`     what is certain is warned about this long before it is paused, however slowly it grows: a person has
                    seen the forecast on the watch level before, and has the deadline of the pause after it. At 10.5 s
                    one healthy job in ten was warned about on a busy machine, where all of them grow slowly
    `urgent_s`      a warning this near is never held back
    `swap_bytes_s`  in and out at once; a disk that thrashes at random manages no more than a few MiB/s
    """

    floor_share: float = 1 / 16
    lost_share: float = 1 / 2
    tight_share: float = 1 / 2
    plenty_share: float = 1 / 4
    margin_share: float = 0.0
    watch_s: float = 60.0
    swap_ahead_s: float = 5.5
    warn_s: tuple[float, float] = (0.5, 6.0)
    slow_bytes_s: tuple[float, float] = (110 * MIB, 140 * MIB)
    held_s: float | None = None
    certain_s: float = 2.0
    urgent_s: float = 4.0
    swap_bytes_s: float = 4 * MIB
    refaults_s: float = 1000.0  # 4 MiB/s
    major_faults_s: float = 200.0  # where the kernel does not count refaults
    warn_stall_fraction: float = 0.10
    act_stall_fraction: float = 0.25
    act_full_stall_fraction: float = 0.10
    dwell_s: float = 10.0

    def to_stay(self) -> "Thresholds":
        """The same, with the thresholds for staying at a level."""
        shortest_s, longest_s = self.warn_s
        return replace(
            self,
            margin_share=self.margin_share + 1 / 8,
            watch_s=self.watch_s * SLACK,
            swap_ahead_s=self.swap_ahead_s * SLACK,
            warn_s=(shortest_s * SLACK, longest_s * SLACK),
            swap_bytes_s=self.swap_bytes_s / SLACK,
            refaults_s=self.refaults_s / SLACK,
            major_faults_s=self.major_faults_s / SLACK,
            warn_stall_fraction=self.warn_stall_fraction / SLACK,
            act_stall_fraction=self.act_stall_fraction / SLACK,
            act_full_stall_fraction=self.act_full_stall_fraction / SLACK,
        )

    def floor_bytes(self, forecast: Forecast) -> int:
        floor = min(forecast.reserve_bytes * self.floor_share, HIGHEST_FLOOR_BYTES)
        return int(floor + forecast.reserve_bytes * self.margin_share)

    def warn_ahead_s(self, forecast: Forecast) -> float:
        """How long before headroom ends to warn: the reserve gives time, too."""
        shortest_s, longest_s = self.warn_s
        fill = forecast.fill_bytes_s
        if not fill:
            return longest_s
        part = self.slow_part(forecast)
        return min(max(self.swap_ahead_s * part - forecast.reserve_bytes / fill, shortest_s * part), longest_s)

    def slow_part(self, forecast: Forecast) -> float:
        """1 for growth that a person can answer to, 0 for growth that is too fast for that."""
        slow, fast = self.slow_bytes_s
        return min(max((fast - (forecast.fill_bytes_s or 0.0)) / (fast - slow), 0.0), 1.0)


USUAL = Thresholds()
HELD = Thresholds(held_s=1.0)  # a little earlier than the hold (LadderSettings.ahead_s)


@dataclass(frozen=True, slots=True)
class Need:
    """The level a forecast calls for, and the signals that are up."""

    level: Level
    signals: tuple[Signal, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Two independent signals: enough for what cannot be undone."""
        return self.level == Level.ACT and len({_KIND[signal] for signal in self.signals}) >= 2


def assess(forecast: Forecast, thresholds: Thresholds) -> Need:
    """The level that this forecast calls for, and the signals that call for it."""
    strain = _strain(forecast.rates, thresholds)
    room = _room_level(forecast, thresholds, strained=bool(strain))
    signals = (Signal.HEADROOM, *strain) if room >= Level.WARN else strain
    level = max(room, _strain_level(forecast, thresholds, strain))
    return Need(level, signals)


def is_tight(forecast: Forecast, thresholds: Thresholds) -> bool:
    """Little headroom, or nobody knows how much."""
    if forecast.headroom_bytes is None:
        return True
    tight = forecast.reserve_bytes * (thresholds.tight_share + thresholds.margin_share)
    smallest = min(SMALLEST_TIGHT_BYTES, (forecast.capacity_bytes or 0) * SMALLEST_TIGHT_SHARE)
    return forecast.headroom_bytes <= max(tight, smallest)


def is_thrashing(forecast: Forecast, thresholds: Thresholds) -> bool:
    """Little memory is left, pages go to and fro, and programs wait for them."""
    strain = _strain(forecast.rates, thresholds)
    traffic = Signal.SWAP in strain or Signal.REFAULTS in strain
    return is_tight(forecast, thresholds) and traffic and _stalls_hard(forecast.rates, thresholds)


def is_the_jobs(forecast: Forecast, thresholds: Thresholds) -> bool:
    """Whether the job itself reads pages back, or waits for them; False if that is unknown.

    A job that waits and does not fault is a victim.
    """
    own, machine = forecast.job_rates, forecast.rates
    if own.stall_some_fraction is not None:  # It has a cgroup of its own.
        faults = own.refaults_s if own.refaults_s is not None else own.major_faults_s
        return _stalls_hard(own, thresholds) and (faults or 0) >= thresholds.major_faults_s
    faults, all_faults = own.major_faults_s, machine.major_faults_s
    if faults is None or faults < thresholds.major_faults_s:
        return False
    return all_faults is None or faults >= all_faults * OWN_FAULTS_SHARE


def _room_level(forecast: Forecast, thresholds: Thresholds, strained: bool) -> Level:
    headroom, left_s = forecast.headroom_bytes, forecast.seconds_left
    if headroom is None:
        return Level.CALM
    margin = int(forecast.reserve_bytes * thresholds.margin_share)
    lost = -int(forecast.reserve_bytes * thresholds.lost_share) + margin
    at_floor = headroom <= thresholds.floor_bytes(forecast)
    if (at_floor and forecast.is_credible) or headroom <= lost or (headroom <= margin and strained):
        return Level.ACT
    certain_s = float("inf") if forecast.certain_seconds_left is None else forecast.certain_seconds_left
    # Slow growth is paused at the floor, long before headroom ends.
    floor_s = thresholds.floor_bytes(forecast) / (forecast.fill_bytes_s or float("inf"))
    is_certain = certain_s - floor_s <= thresholds.certain_s * thresholds.slow_part(forecast)
    is_coming = is_certain or _is_sure(forecast, thresholds)
    if (is_coming and not forecast.job_fits) or headroom <= margin:
        return Level.WARN
    soon = forecast.is_credible or (left_s is not None and left_s <= thresholds.watch_s)
    is_plenty = headroom > (forecast.capacity_bytes or 0) * thresholds.plenty_share
    if soon and (forecast.sure_seconds_left is not None or not is_plenty):
        return Level.WATCH
    return Level.WATCH if is_tight(forecast, thresholds) else Level.CALM


def _is_sure(forecast: Forecast, thresholds: Thresholds) -> bool:
    """Whether it is time to warn of growth that is sure."""
    sure_s, ahead_s = forecast.sure_seconds_left, thresholds.warn_ahead_s(forecast)
    if thresholds.held_s is not None and forecast.job_explains and forecast.proven_seconds_left is None:
        ahead_s = min(ahead_s, thresholds.held_s * thresholds.slow_part(forecast))
    return sure_s is not None and sure_s <= ahead_s


def _strain(rates: Rates, thresholds: Thresholds) -> tuple[Signal, ...]:
    found = []
    if min(rates.swap_in_bytes_s or 0, rates.swap_out_bytes_s or 0) >= thresholds.swap_bytes_s:
        found.append(Signal.SWAP)
    faults, enough = rates.refaults_s, thresholds.refaults_s
    if faults is None:
        faults, enough = rates.major_faults_s, thresholds.major_faults_s
    if (faults or 0) >= enough:
        found.append(Signal.REFAULTS)
    if (rates.stall_some_fraction or 0) >= thresholds.warn_stall_fraction:
        found.append(Signal.STALLS)
    return tuple(found)


def _strain_level(forecast: Forecast, thresholds: Thresholds, signals: tuple[Signal, ...]) -> Level:
    if not signals:
        return Level.CALM
    if is_thrashing(forecast, thresholds):
        return Level.ACT
    tight = is_tight(forecast, thresholds)
    # Refaults with plenty available, and stalls with them, are a copy of something larger than the page cache: slow,
    # not dangerous.
    if (Signal.STALLS in signals and (tight or Signal.SWAP in signals)) or (Signal.SWAP in signals and tight):
        return Level.WARN
    return Level.WATCH


def _stalls_hard(rates: Rates, thresholds: Thresholds) -> bool:
    some, full = rates.stall_some_fraction or 0, rates.stall_full_fraction or 0
    return some >= thresholds.act_stall_fraction or full >= thresholds.act_full_stall_fraction
