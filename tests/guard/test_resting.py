"""A guard rests while nothing that matters moves: a busy machine beside the job must not cost it."""

import time
from dataclasses import replace

import pytest

from memwatch.decide.fill_windows import ForecastConfidence
from memwatch.decide.forecast import Forecast
from memwatch.decide.reserve import reserve_for
from memwatch.decide.thresholds import Level, Need
from memwatch.decide.verdict import Verdict
from memwatch.guard.decisions import Decisions
from memwatch.guard.order import GuardConfig
from memwatch.guard.waiting import has_moved
from memwatch.model.units import GIB, MIB
from memwatch.probe.cgroups import memory_sample

CALM = Verdict(Level.CALM, "", None, (), Need(Level.CALM))


@pytest.mark.parametrize(
    ("available", "moved", "counts"),
    [
        pytest.param(15 * GIB, 30 * MIB, False, id="noise in a large room"),
        pytest.param(15 * GIB, 80 * MIB, True, id="much in a large room"),
        pytest.param(500 * MIB, 3 * MIB, False, id="noise in a small room"),
        pytest.param(500 * MIB, 5 * MIB, True, id="much in a small room"),
        pytest.param(900 * GIB, 65 * MIB, True, id="what a forecast sees counts in any room"),
    ],
)
def test_what_moves_is_measured_by_its_room(available: int, moved: int, counts: bool) -> None:
    assert has_moved((100, available), (100, available - moved)) == counts
    assert has_moved((100, available - moved), (100, available)) == counts


@pytest.mark.parametrize(("seconds_left", "may_rest"), [(None, True), (300.0, True), (59.0, False)])
def test_memory_that_lasts_for_minutes_lets_the_guard_rest(seconds_left: float | None, may_rest: bool) -> None:
    config, before = GuardConfig(), memory_sample()
    decisions = Decisions(config, reserve_for(config.reserve_bytes, config.reserve_fraction, before), before)
    outlook = Forecast(
        time.monotonic(), headroom_bytes=GIB, seconds_left=seconds_left, confidence=ForecastConfidence.LOW
    )
    assert decisions.may_rest(CALM, outlook) == may_rest
    assert not decisions.may_rest(replace(CALM, level=Level.WARN), outlook)
