"""Monitor: samples in, forecast and verdict out. The guard, the recorder and `memwatch watch` judge by the same one."""

from collections.abc import Mapping

from memwatch.decide.forecast import Forecast, ReserveOf, forecast
from memwatch.decide.history import History
from memwatch.decide.paused_job import resume_bytes
from memwatch.decide.thresholds import USUAL, Thresholds
from memwatch.decide.verdict import Decider, Verdict
from memwatch.model.sample import Sample


class Monitor:
    """`reserve_of` gives what must stay free in a room of some capacity."""

    def __init__(self, reserve_of: ReserveOf, thresholds: Thresholds = USUAL) -> None:
        self.reserve_of = reserve_of
        self._history = History()
        self._decider = Decider(thresholds)

    def use(self, thresholds: Thresholds) -> None:
        self._decider.use(thresholds)

    def observe(self, sample: Sample, debts: Mapping[str, int] | None = None) -> tuple[Forecast, Verdict]:
        outlook = self.forecast(sample, debts)
        return outlook, self._decider.decide(outlook)

    def forecast(self, sample: Sample, debts: Mapping[str, int] | None = None) -> Forecast:
        """Without a verdict: for the sample that confirms an action."""
        self._history.add(sample)
        return forecast(self._history, self.reserve_of, debts)

    def nothing_moved_until(self, clock_s: float) -> None:
        self._history.nothing_moved_until(clock_s)

    def forget(self) -> None:
        """Drop the history, after a time in which nothing was sampled: an average over it says nothing about now."""
        self._history.forget()


def verdict_facts(forecast: Forecast, verdict: Verdict, thresholds: Thresholds = USUAL) -> dict[str, object]:
    """The keys that the guard, the recorder and `watch` add to a verdict event. An unknown value has no key.

    A view gets one sample in ten and does not know the guard's state: a forecast of its own would differ from the one
    that the guard acts on.

    Thresholds are headroom, shares of the time and rates; all of them travel with every verdict because a reader may
    begin anywhere in a journal. `resume_needs_bytes` is how much more must be free before a job that the guard has
    paused is resumed. Values are rounded: they are shown, and journals are long.
    """
    headroom, reserve = forecast.headroom_bytes, forecast.reserve_bytes
    facts: dict[str, object] = {
        "signals": [signal.value for signal in verdict.signals],
        "confidence": None if forecast.seconds_left is None else forecast.confidence.name.lower(),
        "headroom_bytes": headroom,
        "reserve_bytes": None if headroom is None else reserve,
        "limit_path": forecast.limit_path,
        "fill_bytes_s": _whole(forecast.fill_bytes_s),
        "job_fill_bytes_s": _whole(forecast.job_fill_bytes_s),
        "warn_headroom_bytes": 0,
        "act_headroom_bytes": -int(reserve * thresholds.lost_share),
        "warn_stall_fraction": thresholds.warn_stall_fraction,
        "act_stall_fraction": thresholds.act_stall_fraction,
        "warn_swap_bytes_s": _whole(thresholds.swap_bytes_s),
        "resume_needs_bytes": None if headroom is None else max(resume_bytes(forecast) - headroom, 0) or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
