"""The whole chain on a model machine: how early it warns and acts, and what leaves it cold."""

import math
from typing import Any

import pytest

from memwatch.decide.actions import OnPressure, Step
from memwatch.decide.thresholds import Level
from memwatch.model.units import GIB, MIB
from tests.decide.machine import Machine, Run

HOUR_S = 3600.0


def hog(rate: float, desktop_bytes: float = 4 * GIB, on_pressure: OnPressure = OnPressure.PAUSE, **kwargs: Any) -> Run:
    """A job that grows without end."""
    return Run(Machine(job_rate=rate, desktop=lambda t: desktop_bytes, **kwargs), on_pressure=on_pressure)


@pytest.mark.parametrize("desktop_gib", [4, 8, 13.4], ids=["ten-gib-free", "six-gib-free", "one-gib-free"])
@pytest.mark.parametrize("swap_gib", [0, 64])
def test_a_hog_of_100_mib_a_second_is_warned_about_5_s_before_the_first_page_goes_out(
    desktop_gib: float, swap_gib: int
) -> None:
    """And before headroom is gone; not earlier than needed, because many programs stop growing on the way."""
    run = hog(100 * MIB, desktop_gib * GIB, OnPressure.WARN, swap_total_bytes=swap_gib * GIB).until(140)
    warned_s = run.first(Step.WARN)
    assert warned_s is not None
    assert run.gone_s is not None
    assert run.gone_s > warned_s
    assert run.short_s is not None
    assert run.short_s - warned_s >= 5


@pytest.mark.parametrize("desktop_gib", [4, 8, 13.4], ids=["ten-gib-free", "six-gib-free", "one-gib-free"])
def test_a_hog_of_100_mib_a_second_is_paused_before_anything_is_swapped_out(desktop_gib: float) -> None:
    run = hog(100 * MIB, desktop_gib * GIB).until(120)
    assert run.first(Step.PAUSE) is not None
    assert run.swapped_s is None
    assert run.least_bytes >= run.reserve * 0.9


@pytest.mark.parametrize("phase_s", [1.0, 1.31, 1.57, 1.83])
@pytest.mark.parametrize("desktop_gib", [4, 8, 12], ids=["ten-gib-free", "six-gib-free", "two-gib-free"])
@pytest.mark.parametrize("rate_gib", [1, 2, 3, 4])
def test_a_fast_hog_is_held_before_headroom_is_gone(rate_gib: int, desktop_gib: float, phase_s: float) -> None:
    on_pressure = OnPressure.STOP if phase_s > 1.5 else OnPressure.PAUSE
    run = hog(rate_gib * GIB, desktop_gib * GIB, on_pressure, starts_s=phase_s).until(phase_s + 80)
    assert run.first_held_s is not None
    assert run.gone_s is None or run.first_held_s < run.gone_s
    # In the tries of a minute it may take a quarter of the reserve, and what it takes until it is held once more.
    assert run.least_bytes >= run.reserve * 0.65
    assert run.steps[-1] == Step.STOP


@pytest.mark.parametrize("phase_s", [1.0, 1.02, 1.05, 1.08])
def test_one_gib_of_headroom_is_enough_to_hold_a_hog_of_2_gib_a_second(phase_s: float) -> None:
    run = hog(2 * GIB, 13.4 * GIB, starts_s=phase_s).until(2)
    held_s = run.first_held_s
    assert held_s is not None
    assert phase_s + 0.5 - held_s >= 0.2, "0.15 s is what a busy machine may take to carry it out"


@pytest.mark.parametrize("rate_mib", [10, 30, 100, 300, 1024, 2048, 4096])
def test_the_wish_to_warn_never_acts(rate_mib: int) -> None:
    run = hog(rate_mib * MIB, 12 * GIB, OnPressure.WARN).until(300)
    assert set(run.steps) == {Step.WARN}
    assert run.levels[-1][1] == Level.ACT


@pytest.mark.parametrize("rate_mib", [10, 30])
def test_a_slow_leak_is_warned_about_and_paused_before_the_swap(rate_mib: int) -> None:
    run = hog(rate_mib * MIB, 12.5 * GIB).until(400)
    watched_s, warned_s, paused_s = run.reached(Level.WATCH), run.reached(Level.WARN), run.first(Step.PAUSE)
    assert watched_s is not None
    assert warned_s is not None
    assert paused_s is not None
    assert watched_s <= paused_s - 30
    assert warned_s <= paused_s - 1.9, "later than that many healthy jobs stop growing; its deadline is a minute away"
    assert run.swapped_s is None


def test_a_job_that_grows_in_stairs_is_paused_before_the_swap() -> None:
    stairs = Machine(shape=lambda t: t // 2 * 2 * 200 * MIB)
    run = Run(stairs).until(120)
    assert run.first(Step.PAUSE) is not None
    assert run.swapped_s is None


def test_a_paused_hog_is_stopped_at_its_deadline_and_not_resumed_into_the_same_danger() -> None:
    run = hog(500 * MIB).until(200)
    assert [step for step in run.steps if step != Step.WARN] == [Step.PAUSE, Step.STOP]
    paused_s, stopped_s = run.first(Step.PAUSE), run.first(Step.STOP)
    assert paused_s is not None
    assert stopped_s is not None
    assert 60 <= stopped_s - paused_s <= 61


def test_a_paused_hog_is_resumed_when_others_make_room() -> None:
    machine = Machine(job_rate=100 * MIB, desktop=lambda t: 12 * GIB if t < 40 else 4 * GIB)
    run = Run(machine).until(70)
    assert run.steps[:3] == [Step.WARN, Step.PAUSE, Step.RESUME]
    assert 40 <= (run.first(Step.RESUME) or 0) <= 41, "at once, whatever its pace was"


def test_a_wished_stop_holds_the_hog_first_and_ends_it_soon() -> None:
    run = hog(2 * GIB, on_pressure=OnPressure.STOP).until(30)
    assert run.steps[-2:] == [Step.PAUSE, Step.STOP]
    assert (run.first(Step.STOP) or 0) - (run.first(Step.PAUSE) or 0) <= 3.5


def test_a_job_that_ignores_term_and_grows_on_is_killed_within_seconds() -> None:
    run = Run(Machine(job_rate=GIB), on_pressure=OnPressure.STOP, obeys_sigterm=False).until(60)
    assert run.steps[-2:] == [Step.STOP, Step.KILL]
    assert 1.5 <= (run.first(Step.KILL) or 0) - (run.first(Step.STOP) or 0) <= 3


def test_a_job_that_can_shard_is_asked_before_it_is_paused() -> None:
    run = Run(Machine(job_rate=200 * MIB), on_pressure=OnPressure.AUTO, can_shard=True).until(60)
    assert [step for step in run.steps if step != Step.WARN] == [Step.SHARD, Step.PAUSE]


def test_growth_with_much_memory_left_is_not_worth_a_line() -> None:
    """No "watch", and so none that subsides for ten seconds with 20 GiB left."""
    machine = Machine(total_bytes=24 * GIB, desktop=lambda t: GIB, shape=lambda t: min(t / 4, 1) * 2 * GIB, starts_s=1)
    assert {level for _, level in Run(machine).until(20).levels} == {Level.CALM}


def sawtooth(t: float) -> float:
    return GIB + (t % 20) / 20 * 2 * GIB


def fast_sawtooth(t: float) -> float:
    return GIB + min(t % 6, 1) * GIB


def once(t: float) -> float:
    return min(t * 4, 2) * GIB


def compile_of_many(t: float) -> float:
    """Compilers come and go, each for a second or two, up to some hundred MiB."""
    return sum((0.5 + 0.5 * math.sin(t * (2.1 + i) + i)) * 250 * MIB for i in range(8))


def growing_browser(t: float) -> float:
    """1 GiB an hour, and 300 MiB for every page that is looked at."""
    return 3 * GIB + t / HOUR_S * GIB + (t % 45 < 20) * 300 * MIB


BENIGN = {
    "sawtooth": Machine(shape=sawtooth),
    "fast-sawtooth": Machine(shape=fast_sawtooth),
    "allocates-once-and-stays": Machine(shape=once),
    "compile": Machine(shape=compile_of_many),
    "copy-of-a-big-file": Machine(cache=lambda t: min(2 * GIB + t * 500 * MIB, 11 * GIB), shape=lambda t: 50 * MIB),
    "browser": Machine(desktop=growing_browser, shape=lambda t: GIB),
}


@pytest.mark.parametrize("name", BENIGN)
def test_a_benign_hour_has_no_level_above_watch(name: str) -> None:
    run = Run(BENIGN[name]).until(HOUR_S)
    assert max(level for _, level in run.levels) <= Level.WATCH
    assert run.actions == []


def test_little_headroom_that_stays_is_watched_and_no_more() -> None:
    machine = Machine(desktop=lambda t: 14 * GIB, shape=lambda t: 30 * MIB * (1 + math.sin(t * 3)))
    run = Run(machine).until(600)
    assert max(level for _, level in run.levels) == Level.WATCH
    assert run.actions == []


@pytest.mark.parametrize("phase_s", [5.0, 5.17, 5.39])
def test_a_gib_and_more_taken_at_once_with_two_left_is_no_hog(phase_s: float) -> None:
    machine = Machine(desktop=lambda t: 11.1 * GIB, shape=lambda t: min(t, 1.3) * GIB, starts_s=phase_s)
    run = Run(machine).until(60)
    assert run.actions == []


@pytest.mark.parametrize("speed_gib_s", [1, 2, 4])
@pytest.mark.parametrize("phase_s", [5.0, 5.17, 5.39])
def test_two_gib_taken_once_of_eight_are_no_hog(speed_gib_s: int, phase_s: float) -> None:
    machine = Machine(desktop=lambda t: 6.4 * GIB, shape=lambda t: min(t * speed_gib_s, 2) * GIB, starts_s=phase_s)
    run = Run(machine).until(60)
    assert max(level for _, level in run.levels) <= Level.WATCH
