"""Assess: what one forecast, looked at alone, calls for. More headroom never calls for more.

Three kinds of evidence, read from three places, so that two of them together are worth more than one:

    headroom   memory ends soon, or what is left has come out of the reserve
    traffic    pages go out and come back: swap in and out at once, or refaults where there is no swap
    stalls     programs wait for memory (PSI)

Traffic and stalls may be another program's, inside a limit of its own; they count in full only while headroom is
tight. Free swap is not looked at: it silences nothing.
"""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from memwatch.core.forecast import Forecast
from memwatch.core.units import MIB


class Level(IntEnum):
    CALM = 0
    WATCH = 1
    WARN = 2
    ACT = 3


LEVEL_NAMES = tuple(level.name.lower() for level in Level)  # as journals have them, the calmest first


class Signal(StrEnum):
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


@dataclass(frozen=True, slots=True)
class Policy:
    """The thresholds. `Policy.keeping(reserve_bytes)` is the usual one.

    `warn_s`     a warning 5 s before the first page goes out is promised, and when headroom ends, the reserve is still
                 there. It must be sure: at 12 s and half as sure, a compile beside a browser was warned about five
                 times in a quarter of an hour, with a GiB of 3 left; at 8 s once (tests/core/test_benign_hour.py).
                 What is certain is warned about earlier, as far ahead as that is
    `act_s`      the slowest path from here to a stopped job: a sample (0.1 s), a busy machine (0.15 s), a growing rate
    `urgent_s`   a warning this near is never held back
    `swap_bytes_s`  in and out at once; a disk that thrashes at random manages no more than a few MiB/s
    """

    reserve_bytes: int
    warn_bytes: int  # headroom
    act_bytes: int  # headroom, even if nothing moves
    tight_bytes: int  # headroom
    watch_s: float = 60.0
    warn_s: float = 6.0
    act_s: float = 2.0
    act_unsure_s: float = 1.0
    urgent_s: float = 4.0
    swap_bytes_s: float = 4 * MIB
    refaults_s: float = 1000.0  # 4 MiB/s
    major_faults_s: float = 200.0  # where the kernel does not count refaults
    warn_stall_fraction: float = 0.10
    act_stall_fraction: float = 0.25
    act_full_stall_fraction: float = 0.10
    dwell_s: float = 10.0

    @classmethod
    def keeping(cls, reserve_bytes: int) -> "Policy":
        """Half of the reserve may go while nothing moves: something else took it, and it is still there for that."""
        return cls(reserve_bytes, warn_bytes=0, act_bytes=-(reserve_bytes // 2), tight_bytes=reserve_bytes // 2)

    def to_stay(self) -> "Policy":
        """The same, with the thresholds for staying at a level."""
        margin_bytes = self.reserve_bytes // 8
        return replace(
            self,
            warn_bytes=self.warn_bytes + margin_bytes,
            act_bytes=self.act_bytes + margin_bytes,
            tight_bytes=self.tight_bytes + margin_bytes,
            watch_s=self.watch_s * SLACK,
            warn_s=self.warn_s * SLACK,
            act_s=self.act_s * SLACK,
            act_unsure_s=self.act_unsure_s * SLACK,
            swap_bytes_s=self.swap_bytes_s / SLACK,
            refaults_s=self.refaults_s / SLACK,
            major_faults_s=self.major_faults_s / SLACK,
            warn_stall_fraction=self.warn_stall_fraction / SLACK,
            act_stall_fraction=self.act_stall_fraction / SLACK,
            act_full_stall_fraction=self.act_full_stall_fraction / SLACK,
        )


@dataclass(frozen=True, slots=True)
class Need:
    """The level a forecast calls for, and the signals that are up."""

    level: Level
    signals: tuple[Signal, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Two independent signals: enough for what cannot be undone."""
        return self.level == Level.ACT and len({_KIND[signal] for signal in self.signals}) >= 2


def assess(forecast: Forecast, policy: Policy) -> Need:
    others = _strain(forecast, policy)
    room = _room_level(forecast, policy, strained=bool(others))
    signals = (Signal.HEADROOM, *others) if room >= Level.WARN else others
    level = max(room, _strain_level(forecast, policy, others))
    return Need(level, signals)


def is_tight(forecast: Forecast, policy: Policy) -> bool:
    """Little headroom, or nobody knows how much."""
    if forecast.headroom_bytes is None:
        return True
    smallest = min(SMALLEST_TIGHT_BYTES, (forecast.capacity_bytes or 0) * SMALLEST_TIGHT_SHARE)
    return forecast.headroom_bytes <= max(policy.tight_bytes, smallest)


def _room_level(forecast: Forecast, policy: Policy, strained: bool) -> Level:
    headroom, left_s = forecast.headroom_bytes, forecast.seconds_left
    if headroom is None:
        return Level.CALM
    credible_s = left_s if left_s is not None and forecast.is_credible else float("inf")
    sure_s = float("inf") if forecast.sure_seconds_left is None else forecast.sure_seconds_left
    certain = forecast.certain_seconds_left is not None
    # What is not sure is acted on only when it cannot wait: many programs take a GiB at once, and no more.
    ends_now = sure_s <= policy.act_s or credible_s <= policy.act_unsure_s
    if ends_now or headroom <= policy.act_bytes or (headroom <= policy.warn_bytes and strained):
        return Level.ACT
    if certain or sure_s <= policy.warn_s or headroom <= policy.warn_bytes:
        return Level.WARN
    if forecast.is_credible or (left_s is not None and left_s <= policy.watch_s) or is_tight(forecast, policy):
        return Level.WATCH
    return Level.CALM


def _strain(forecast: Forecast, policy: Policy) -> tuple[Signal, ...]:
    rates = forecast.rates
    found = []
    if min(rates.swap_in_bytes_s or 0, rates.swap_out_bytes_s or 0) >= policy.swap_bytes_s:
        found.append(Signal.SWAP)
    faults, enough = rates.refaults_s, policy.refaults_s
    if faults is None:
        faults, enough = rates.major_faults_s, policy.major_faults_s
    if (faults or 0) >= enough:
        found.append(Signal.REFAULTS)
    if (rates.stall_some_fraction or 0) >= policy.warn_stall_fraction:
        found.append(Signal.STALLS)
    return tuple(found)


def _strain_level(forecast: Forecast, policy: Policy, signals: tuple[Signal, ...]) -> Level:
    if not signals:
        return Level.CALM
    stalls_hard = _stalls_hard(forecast, policy)
    tight = is_tight(forecast, policy)
    traffic = Signal.SWAP in signals or Signal.REFAULTS in signals
    if tight and traffic and stalls_hard:
        return Level.ACT
    # Refaults with plenty available, and stalls with them, are a copy of something larger than the page cache: slow,
    # not dangerous.
    if (Signal.STALLS in signals and (tight or Signal.SWAP in signals)) or (Signal.SWAP in signals and tight):
        return Level.WARN
    return Level.WATCH


def _stalls_hard(forecast: Forecast, policy: Policy) -> bool:
    some, full = forecast.rates.stall_some_fraction, forecast.rates.stall_full_fraction
    return (some or 0) >= policy.act_stall_fraction or (full or 0) >= policy.act_full_stall_fraction
