"""The time left, and how sure it is, from the recent speed."""

import math
from collections import deque
from dataclasses import dataclass, field

RECENT_S = 60.0
LEAST_S = 2.0
PIECES = 10
# The spread of a normal distribution, from the median deviation: one slow piece does not widen the range.
_SIGMA_PER_MEDIAN_DEVIATION = 1.4826
_SURE = 2.0  # sigmas


@dataclass(frozen=True, slots=True)
class Eta:
    """`soonest_s` and `latest_s` hold in about 19 of 20 cases, if the pace stays what it was."""

    rate_s: float
    seconds: float | None = None
    soonest_s: float | None = None
    latest_s: float | None = None


@dataclass(slots=True)
class ProgressPace:
    """Remembers how much was done at which time. A pause or another file starts it again."""

    _points: deque[tuple[float, float]] = field(default_factory=deque)

    def add(self, t: float, done: float) -> None:
        if self._points and (t < self._points[-1][0] or done < self._points[-1][1]):
            self._points.clear()
        self._points.append((t, done))
        while len(self._points) > 2 and t - self._points[1][0] >= RECENT_S:
            self._points.popleft()

    def restart(self) -> None:
        self._points.clear()

    def eta(self, total: float | None) -> Eta | None:
        """The rate and the time left; None while too little was seen, or nothing moves."""
        if len(self._points) < 2:
            return None
        (first_t, first), (last_t, last) = self._points[0], self._points[-1]
        if last_t - first_t < LEAST_S or last <= first:
            return None
        rate = (last - first) / (last_t - first_t)
        if not total:
            return Eta(rate)
        left = max(total - last, 0.0)
        error = min(_SURE * self._error_of_rate(), rate * 0.9)
        return Eta(rate, left / rate, left / (rate + error), left / (rate - error))

    def _error_of_rate(self) -> float:
        """How far the mean of the pieces may be from the truth."""
        rates = self._rates_of_pieces()
        if len(rates) < 2:
            return 0.0
        middle = _median(rates)
        sigma = _SIGMA_PER_MEDIAN_DEVIATION * _median([abs(rate - middle) for rate in rates])
        return sigma / math.sqrt(len(rates))

    def _rates_of_pieces(self) -> list[float]:
        piece_s = (self._points[-1][0] - self._points[0][0]) / PIECES
        rates, (start_t, start) = [], self._points[0]
        for t, done in self._points:
            if t - start_t >= piece_s > 0:
                rates.append((done - start) / (t - start_t))
                start_t, start = t, done
        return rates


def _median(values: list[float]) -> float:
    """The median; of two values in the middle, the higher. (To load Python's statistics module takes as long as to
    draw a screen.)"""
    return sorted(values)[len(values) // 2]
