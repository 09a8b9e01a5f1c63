"""Budgets that keep repeated work below a share of a core. Pure: the caller measures the time."""


class Pace:
    """Limits work whose cost grows with the job: with 0.5 % of a core, 5 ms of work are followed by a wait of 1 s."""

    def __init__(self, share: float, urgent_share: float) -> None:
        self._share = share
        self._urgent_share = urgent_share
        self._done_s = float("-inf")
        self._cost_s = 0.0

    def is_due(self, clock_s: float, is_urgent: bool = False) -> bool:
        # A clock that was set back must not silence it.
        waited_s = clock_s - self._done_s
        return waited_s < 0 or waited_s >= self._cost_s / (self._urgent_share if is_urgent else self._share)

    def spent(self, clock_s: float, cost_s: float) -> None:
        self._done_s = clock_s
        self._cost_s = cost_s


class CpuCredit:
    """CPU seconds that may be spent: a share of a core, saved up to a burst, and into debt by one piece of work."""

    def __init__(self, share: float, burst_s: float) -> None:
        self._share = share
        self._burst_s = burst_s
        self.left_s = burst_s
        self._clock_s: float | None = None

    def has_any(self, clock_s: float) -> bool:
        if self._clock_s is not None:
            earned_s = max(clock_s - self._clock_s, 0.0) * self._share
            self.left_s = min(self.left_s + earned_s, self._burst_s)
        self._clock_s = clock_s
        return self.left_s > 0

    def spend(self, cost_s: float) -> None:
        self.left_s -= cost_s
