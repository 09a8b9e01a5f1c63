"""What a verdict event carries for the views."""

from memwatch.decide.fill_windows import ForecastConfidence
from memwatch.decide.forecast import Forecast
from memwatch.decide.monitor import verdict_facts
from memwatch.decide.thresholds import Level, Need
from memwatch.decide.verdict import Verdict
from memwatch.model.units import GIB

CALM = Verdict(Level.CALM, "fine", None, (), Need(Level.CALM))


def test_the_forecast_and_the_thresholds_travel() -> None:
    outlook = Forecast(
        5.0,
        headroom_bytes=GIB // 2,
        reserve_bytes=4 * GIB,
        limit_path="/job",
        fill_bytes_s=1e8 / 3,
        seconds_left=8.0,
        confidence=ForecastConfidence.HIGH,
    )
    facts = verdict_facts(outlook, CALM)
    assert facts["headroom_bytes"] == GIB // 2
    assert facts["reserve_bytes"] == 4 * GIB
    assert facts["limit_path"] == "/job"
    assert facts["fill_bytes_s"] == 33333333
    assert facts["confidence"] == "high"
    assert facts["act_headroom_bytes"] == -2 * GIB
    assert facts["act_stall_fraction"] == 0.25
    assert facts["resume_needs_bytes"] == GIB // 2


def test_what_is_unknown_has_no_key() -> None:
    facts = verdict_facts(Forecast(5.0), CALM)
    assert not {"headroom_bytes", "reserve_bytes", "limit_path", "confidence", "resume_needs_bytes"} & set(facts)
