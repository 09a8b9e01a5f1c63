"""Monitor: samples in, forecast and verdict out. The guard, the recorder and `memwatch watch` judge by the same one."""

from memwatch.decide.forecast import Forecast, ReserveOf, forecast
from memwatch.decide.history import History
from memwatch.decide.verdict import Decider, Verdict
from memwatch.model.sample import Sample


class Monitor:
    """`reserve_of` gives what must stay free in a room of some capacity."""

    def __init__(self, reserve_of: ReserveOf, page_bytes: int = 4096) -> None:
        self.reserve_of = reserve_of
        self._history = History(page_bytes)
        self._decider = Decider()

    def observe(self, sample: Sample) -> tuple[Forecast, Verdict]:
        outlook = self.forecast(sample)
        return outlook, self._decider.decide(outlook)

    def forecast(self, sample: Sample) -> Forecast:
        """Without a verdict: for the sample that confirms an action."""
        self._history.add(sample)
        return forecast(self._history, self.reserve_of)

    def nothing_moved_until(self, clock_s: float) -> None:
        self._history.nothing_moved_until(clock_s)

    def forget(self) -> None:
        """After a time in which nothing was sampled: an average over it says nothing about now."""
        self._history.forget()
