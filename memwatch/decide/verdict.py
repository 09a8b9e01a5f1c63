"""Verdict: from forecasts to a level that people can rely on, with a reason in words.

Escalation is immediate. A level is left only after nothing has called for it for `dwell_s`, by thresholds that are
harder to leave than to reach; so a signal that swings simply keeps the level up. One case is left: a level that was
just left and is called for again. That second change waits until `dwell_s` after the first, unless it is urgent: the
need is to act, or headroom is gone or ends within `urgent_s`. So a swinging signal makes at most one change in
`dwell_s`, and nothing that could cost the machine is ever held back.
"""

from dataclasses import dataclass

from memwatch.decide.forecast import Forecast
from memwatch.decide.reasons import reason, subsiding
from memwatch.decide.thresholds import USUAL, Level, Need, Signal, Thresholds, assess


@dataclass(frozen=True, slots=True)
class Verdict:
    """`level` is what people see, and lasts; `need` is what this moment alone calls for."""

    level: Level
    reason: str
    seconds_left: float | None
    signals: tuple[Signal, ...]
    need: Need


class Decider:
    """Keeps the level from forecast to forecast; `decide` is called with each of them."""

    def __init__(self, thresholds: Thresholds = USUAL) -> None:
        self.use(thresholds)
        self._level = Level.CALM
        self._changed_s = float("-inf")
        self._fell = False
        self._needed_s = dict.fromkeys(Level, float("-inf"))  # when each level was last called for

    def use(self, thresholds: Thresholds) -> None:
        """Use these from now on; the level stays as it is until a forecast calls for another."""
        self._thresholds = thresholds
        self._to_stay = thresholds.to_stay()

    def decide(self, forecast: Forecast) -> Verdict:
        now_s = forecast.clock_s
        need = assess(forecast, self._thresholds)
        # To stay is easier than to come: the second assessment counts up to the current level.
        staying = min(assess(forecast, self._to_stay).level, self._level)
        needed = max(need.level, staying)
        for level in Level:
            if level <= needed:
                self._needed_s[level] = now_s
        self._move(now_s, needed, self._is_urgent(forecast, need))
        words = reason(forecast, self._thresholds, need)
        if needed < self._level:
            words = subsiding(words)
        return Verdict(self._level, words, forecast.seconds_left, need.signals, need)

    def _move(self, now_s: float, needed: Level, urgent: bool) -> None:
        dwell_s = self._thresholds.dwell_s
        if now_s - self._changed_s >= dwell_s:
            # Also up: what was held back is shown late rather than never.
            self._change(now_s, max(level for level in Level if now_s - self._needed_s[level] < dwell_s))
        elif needed > self._level and (urgent or not self._fell):
            self._change(now_s, needed)

    def _change(self, now_s: float, level: Level) -> None:
        if level != self._level:
            self._fell = level < self._level
            self._level = level
            self._changed_s = now_s

    def _is_urgent(self, forecast: Forecast, need: Need) -> bool:
        if need.level == Level.ACT or (forecast.headroom_bytes is not None and forecast.headroom_bytes <= 0):
            return True
        return forecast.is_within(self._thresholds.urgent_s)
