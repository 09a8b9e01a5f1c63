"""How often work may be done for a share of a core."""

import pytest

from memwatch.probe.cost_budget import CpuCredit, Pace


@pytest.mark.parametrize("cost_s", [0.0001, 0.005, 0.2])
def test_work_costs_its_share_and_no_more(cost_s: float) -> None:
    pace, spent_s = Pace(0.005, 0.05), 0.0
    for tick in range(10_000):
        if pace.is_due(tick / 10):
            pace.spent(tick / 10, cost_s)
            spent_s += cost_s
    assert spent_s / 1000 <= 0.005 + cost_s / 1000


def test_in_danger_it_may_cost_more() -> None:
    pace = Pace(0.005, 0.05)
    pace.spent(0.0, 0.01)
    assert not pace.is_due(0.3)
    assert pace.is_due(0.3, is_urgent=True)
    assert pace.is_due(2.1)


def test_a_clock_that_is_set_back_silences_nothing() -> None:
    pace = Pace(0.005, 0.05)
    pace.spent(1000.0, 1.0)
    assert pace.is_due(5.0)


def test_credit_is_earned_up_to_the_burst() -> None:
    credit = CpuCredit(0.01, 0.1)
    assert credit.has_any(0.0)
    credit.spend(0.2)
    assert not credit.has_any(5.0)
    assert credit.has_any(11.0)
    credit.has_any(1e6)
    assert credit.left_s == pytest.approx(0.1)
