"""Reasons: a verdict in words. The number comes first, so that a line that is cut off still says it."""

from memwatch.decide.forecast import Forecast, Rates
from memwatch.decide.thresholds import Level, Need, Signal, Thresholds, is_tight
from memwatch.model.units import format_size, soon

SHOWN_REASONS = 2  # a third one does not fit on a line, and convinces nobody
LARGE_RESERVE_SHARE = 0.25  # of the room: then it is the job's share that ends, not the memory


def reason(forecast: Forecast, thresholds: Thresholds, need: Need) -> str:
    """Why the level is what it is: the room first, then what strains the machine; at most two clauses."""
    found = []
    if need.level > Level.CALM:
        found = [_room(forecast, thresholds, need), *(_strain(signal, forecast.rates) for signal in need.signals)]
    return "; ".join([words for words in found if words][:SHOWN_REASONS]) or _calm(forecast)


def subsiding(words: str) -> str:
    """The reason of a level that lasts although nothing calls for it any more."""
    return f"subsiding: {words}"


def _calm(forecast: Forecast) -> str:
    if forecast.headroom_bytes is None:
        return "free memory cannot be read here; swap, stalls and faults are low or unknown"
    if forecast.headroom_bytes < 0:
        return f"{_left(forecast)}, less than the {format_size(forecast.reserve_bytes)} reserve"
    return f"{format_size(forecast.headroom_bytes)} left above the {format_size(forecast.reserve_bytes)} reserve"


def _room(forecast: Forecast, thresholds: Thresholds, need: Need) -> str | None:
    headroom, left_s = forecast.headroom_bytes, forecast.seconds_left
    if headroom is None:
        return None
    if headroom <= 0:
        return f"{_left(forecast)}, less than the {format_size(forecast.reserve_bytes)} reserve"
    if left_s is not None and (forecast.is_credible or left_s <= thresholds.watch_s):
        return f"{_full(forecast)} in {soon(left_s)}: {_above(forecast, headroom)}{_who(forecast)}"
    if Signal.HEADROOM not in need.signals and not is_tight(forecast, thresholds):
        return None
    return _above(forecast, headroom)


def _left(forecast: Forecast) -> str:
    left_bytes = max((forecast.headroom_bytes or 0) + forecast.reserve_bytes, 0)
    return f"{format_size(left_bytes)} left of {_what(forecast)}"


def _above(forecast: Forecast, headroom: int) -> str:
    reserve = f"above the {format_size(forecast.reserve_bytes)} reserve"
    if forecast.limit_path is None:
        return f"{format_size(headroom)} left {reserve}"
    return f"{format_size(headroom)} left {reserve} in {_what(forecast)}"


def _what(forecast: Forecast) -> str:
    if forecast.limit_path is None:
        return "RAM"
    size = "" if forecast.limit_bytes is None else f"{format_size(forecast.limit_bytes)} "
    return f"the {size}memory limit of {forecast.limit_path}"


def _full(forecast: Forecast) -> str:
    if forecast.reserve_bytes > LARGE_RESERVE_SHARE * (forecast.capacity_bytes or float("inf")):
        return "the job's share is used up"
    return "full"


def _who(forecast: Forecast) -> str:
    fill = forecast.fill_bytes_s
    if not fill:
        return ""
    if forecast.job_explains and forecast.job_fill_bytes_s is not None:
        return f", the job grows {format_size(forecast.job_fill_bytes_s)}/s"
    if forecast.job_fill_bytes_s is None:
        return f", memory fills at {format_size(fill)}/s"
    return f", other programs grow {format_size(fill - max(forecast.job_fill_bytes_s, 0))}/s"


def _strain(signal: Signal, rates: Rates) -> str | None:
    if signal == Signal.SWAP:
        coming, going = rates.swap_in_bytes_s or 0, rates.swap_out_bytes_s or 0
        return f"{format_size(coming)}/s swapped in and {format_size(going)}/s out at the same time"
    if signal == Signal.REFAULTS:
        count = rates.refaults_s if rates.refaults_s is not None else rates.major_faults_s or 0
        return f"{count:.0f} pages a second are read back from disk soon after they were dropped"
    if signal == Signal.STALLS:
        share, span_s = rates.stall_some_fraction or 0, rates.span_s or 0
        return f"programs stalled on memory {share:.0%} of the last {span_s:.0f} s".replace("%", " %")
    return None
