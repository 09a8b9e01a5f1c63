"""Growth that is too fast for a person to answer to: the hold comes first, and says more than a forecast."""

import pytest

from memwatch.decide.thresholds import Level
from memwatch.model.units import GIB, MIB
from tests.decide.machine import Machine, Run


def levels_of(rate_mib_s: float, end_mib: float) -> list[tuple[float, Level]]:
    """Of a job that grows to `end_mib` in 3 GiB, and then stays as it is."""
    machine = Machine(
        total_bytes=3 * GIB,
        swap_total_bytes=0,
        desktop=lambda t: 45 * MIB,
        shape=lambda ran_s: min(ran_s * rate_mib_s, end_mib) * MIB,
    )
    run = Run(machine)
    for _ in run.verdicts(5 + end_mib / rate_mib_s + 20):
        pass
    assert not machine.ended
    return run.levels


@pytest.mark.parametrize("rate_mib_s", [155, 175, 240, 600])
def test_what_grows_fast_and_stops_before_the_edge_is_not_warned_about(rate_mib_s: float) -> None:
    assert max(level for _, level in levels_of(rate_mib_s, 2640)) < Level.WARN


@pytest.mark.parametrize("rate_mib_s", [50, 100])
def test_what_grows_slowly_to_the_edge_is_warned_about(rate_mib_s: float) -> None:
    assert max(level for _, level in levels_of(rate_mib_s, 2690)) >= Level.WARN
