"""Growth that is too fast for a person to answer to: the hold comes first, and says more than a forecast."""

import pytest

from memwatch.decide.actions import OnPressure, Step
from memwatch.decide.monitor import Monitor
from memwatch.decide.thresholds import Level
from memwatch.model.sample import Memory, Process, Sample
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


@pytest.mark.parametrize("rate_mib_s", [175, 240, 600])
def test_what_grows_fast_and_stops_before_the_edge_is_not_warned_about(rate_mib_s: float) -> None:
    assert max(level for _, level in levels_of(rate_mib_s, 2640)) < Level.WARN


@pytest.mark.parametrize("rate_mib_s", [50, 100])
def test_what_grows_slowly_to_the_edge_is_warned_about(rate_mib_s: float) -> None:
    assert max(level for _, level in levels_of(rate_mib_s, 2690)) >= Level.WARN


def to_the_edge(rate_mib_s: float, end_mib: float, on_pressure: OnPressure) -> Run:
    """A job that grows to `end_mib` in 1 GiB, where 723 MiB are its own."""
    machine = Machine(
        total_bytes=GIB,
        swap_total_bytes=0,
        desktop=lambda t: 45 * MIB,
        shape=lambda ran_s: min(ran_s * rate_mib_s, end_mib) * MIB,
        starts_s=1.0,
    )
    return Run(machine, on_pressure).until(end_mib / rate_mib_s + 20)


@pytest.mark.parametrize("rate_mib_s", [72, 85, 95])
def test_growth_that_is_not_proven_is_warned_about_only_when_it_is_about_to_be_held(rate_mib_s: float) -> None:
    """A few seconds of it are a program that loads something. Where nobody holds it, it is warned about earlier."""
    assert to_the_edge(rate_mib_s, 620, OnPressure.PAUSE).reached(Level.WARN) is None
    assert to_the_edge(rate_mib_s, 620, OnPressure.WARN).reached(Level.WARN) is not None


@pytest.mark.parametrize("rate_mib_s", [72, 85, 95])
def test_a_hog_whose_growth_is_not_proven_is_warned_about_before_it_is_paused(rate_mib_s: float) -> None:
    run = to_the_edge(rate_mib_s, 2000, OnPressure.PAUSE)
    warned_s, held_s, paused_s = run.first(Step.WARN), run.first_held_s, run.first(Step.PAUSE)
    assert warned_s is not None
    assert held_s is not None
    assert paused_s is not None
    assert warned_s <= held_s <= paused_s
    assert run.least_bytes >= run.reserve * 0.9


STACKS_MIB = 36  # and buffers: asked for by a program with numpy, and never used


def filling(asked_mib: float, rate_mib_s: float, asks_again: bool) -> list[Level]:
    """The levels of a job that writes to an array it has made, or that asks for what it writes to."""
    monitor = Monitor(lambda capacity: 307 * MIB)
    levels = []
    for tick in range(int(asked_mib / rate_mib_s / 0.1)):
        now_s = tick / 10
        used = int(rate_mib_s * now_s)
        sample = Sample(
            now_s,
            now_s,
            Memory(3 * GIB, 3 * GIB - (45 + used) * MIB, 0, 0),
            job=(Process(7, 7, 1, "R", used * MIB, 0, 0.0, None, None, "job"),),
            job_untouched_bytes=(10 if asks_again else int(asked_mib) - used + STACKS_MIB) * MIB,
        )
        levels.append(monitor.observe(sample)[1].level)
    return levels


@pytest.mark.parametrize("rate_mib_s", [30, 85, 110])
def test_an_array_that_fits_is_filled_without_a_warning_however_slowly(rate_mib_s: float) -> None:
    assert max(filling(2690, rate_mib_s, asks_again=False)) < Level.WARN


@pytest.mark.parametrize("rate_mib_s", [30, 85, 110])
def test_a_job_that_goes_on_asking_is_warned_about(rate_mib_s: float) -> None:
    assert max(filling(2690, rate_mib_s, asks_again=True)) >= Level.WARN


def test_an_array_that_does_not_fit_is_warned_about() -> None:
    assert Level.WARN in filling(3300, 85, asks_again=False)[: int(2690 / 8.5)]
