"""Reasons: a verdict in words for someone who knows htop, and neither PSI nor cgroups."""

from memwatch.core.assess import Level, Need, Policy, Signal, is_tight
from memwatch.core.forecast import Forecast, Rates
from memwatch.core.units import format_duration, format_size

MOST_REASONS = 2  # a third one does not fit on a line, and convinces nobody


def reason(forecast: Forecast, policy: Policy, need: Need) -> str:
    found = []
    if need.level > Level.CALM:
        found = [_room(forecast, policy, need), *(_strain(signal, forecast.rates) for signal in need.signals)]
    return "; ".join([words for words in found if words][:MOST_REASONS]) or _calm(forecast)


def lasting(quiet_s: float, dwell_s: float, words: str) -> str:
    """Why a level lasts although nothing calls for it."""
    return f"until it has been quiet for {dwell_s:.0f} s ({max(quiet_s, 0):.0f} s so far); now: {words}"


def _calm(forecast: Forecast) -> str:
    if forecast.headroom_bytes is None:
        return "free memory cannot be read here; swap, stalls and faults are quiet or unknown"
    if forecast.headroom_bytes < 0:
        return "less than the reserve is left"
    return f"{format_size(forecast.headroom_bytes)} can be used before the reserve is touched"


def _room(forecast: Forecast, policy: Policy, need: Need) -> str | None:
    headroom, left_s = forecast.headroom_bytes, forecast.seconds_left
    if headroom is None:
        return None
    if headroom <= policy.warn_bytes:
        left_bytes = max(headroom + policy.reserve_bytes, 0)
        kept = format_size(policy.reserve_bytes)
        return f"only {format_size(left_bytes)} of {_what(forecast)} is left, of {kept} kept for other programs"
    if left_s is not None and (forecast.is_credible or left_s <= policy.watch_s):
        return f"{_what(forecast)} is full in about {_roughly(left_s)} at this rate{_who(forecast)}"
    if Signal.HEADROOM not in need.signals and not is_tight(forecast, policy):
        return None
    return f"only {format_size(headroom)} can be used before the reserve is touched"


def _what(forecast: Forecast) -> str:
    return "RAM" if forecast.limit_path is None else "the memory this job is limited to"


def _who(forecast: Forecast) -> str:
    fill = forecast.fill_bytes_s
    if not fill:
        return ""
    if forecast.job_explains and forecast.job_fill_bytes_s is not None:
        return f" (the job grows {format_size(forecast.job_fill_bytes_s)}/s)"
    if forecast.job_fill_bytes_s is None:
        return f" (memory fills at {format_size(fill)}/s)"
    return f" (other programs grow {format_size(fill - max(forecast.job_fill_bytes_s, 0))}/s)"


def _roughly(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 3 else format_duration(float(round(seconds))).replace(".0 s", " s")


def _strain(signal: Signal, rates: Rates) -> str | None:
    if signal == Signal.SWAP:
        coming, going = rates.swap_in_bytes_s or 0, rates.swap_out_bytes_s or 0
        return f"the machine is swapping in and out at once ({format_size(coming)}/s in, {format_size(going)}/s out)"
    if signal == Signal.REFAULTS:
        count = rates.refaults_s if rates.refaults_s is not None else rates.major_faults_s or 0
        return f"programs read back from disk what was just pushed out of RAM ({count:.0f} pages a second)"
    if signal == Signal.STALLS:
        share, span_s = rates.stall_some_fraction or 0, rates.span_s or 0
        return f"programs were stalled for memory {share:.0%} of the last {span_s:.0f} s".replace("%", " %")
    return None
