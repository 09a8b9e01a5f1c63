"""Recorded healthy jobs under the whole chain: none is stopped, none loses two seconds, hardly one is warned about.

A job is its memory over the time that it has run, as recorded in a cage (tests/benign), so that a job which is held
takes longer, as a real one does. Machines differ in how fast they hand out memory; so each is also run faster and
slower than it was recorded.
"""

from dataclasses import dataclass

import pytest

from memwatch.decide.thresholds import Level
from memwatch.model.units import MIB
from tests.benign.curves import Curve, load_curves
from tests.decide.machine import Machine, Run

OURS_BYTES = 45 * MIB  # what memwatch itself takes in the cage
STARTS_S = 0.6
SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # the slowest as beside a dozen others on two cores
MOST_PAUSED_S = 2.0
MOST_WARNED_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class Outcome:
    name: str
    speed: float
    is_complete: bool
    paused_s: float
    level: Level


def outcome_of(curve: Curve, speed: float) -> Outcome:
    machine = Machine(
        total_bytes=curve.cage_bytes,
        swap_total_bytes=0,
        desktop=lambda t: OURS_BYTES,
        shape=lambda ran_s: curve.bytes_at(ran_s * speed),
        starts_s=STARTS_S,
    )
    run = Run(machine)
    for _ in run.verdicts(curve.seconds / speed + 100):
        if machine.ran_s * speed >= curve.seconds:
            break
    is_complete = machine.ran_s * speed >= curve.seconds and not machine.ended
    return Outcome(
        f"{curve.name} in {curve.cage_bytes // MIB} MiB",
        speed,
        is_complete,
        run.paused_s,
        max((level for _, level in run.levels), default=Level.CALM),
    )


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    curves = load_curves()
    assert len({curve.name for curve in curves}) >= 60
    return [outcome_of(curve, speed) for curve in curves for speed in SPEEDS]


def test_none_is_stopped(outcomes: list[Outcome]) -> None:
    assert [outcome for outcome in outcomes if not outcome.is_complete] == []


def test_none_is_paused_for_more_than_two_seconds_in_total(outcomes: list[Outcome]) -> None:
    assert [outcome for outcome in outcomes if outcome.paused_s > MOST_PAUSED_S] == []


def test_hardly_one_is_warned_about(outcomes: list[Outcome]) -> None:
    warned = [outcome for outcome in outcomes if outcome.level >= Level.WARN]
    assert len(warned) / len(outcomes) < MOST_WARNED_SHARE, warned
