"""The ladder listens to the turns: a run gives way, waits, and is not stopped while it waits for another."""

from dataclasses import replace

import pytest

from memwatch.decide.action_state import ActionState, after, observed
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.forecast import Forecast
from memwatch.decide.ladder import next_action
from memwatch.decide.thresholds import Level, Need
from memwatch.decide.turns import ALONE, GuardedRun, RunState, Turn
from memwatch.decide.verdict import Verdict
from memwatch.guard.runs_together import run_state
from memwatch.model.units import GIB, MIB

OTHER = GuardedRun("20261116-1", "prepare.py", 1, 1, RunState.RUNNING, GIB, GIB)
WAITS = Turn(may_resume=False, waits_for=OTHER, reason="run 20261116-1 (prepare.py) goes first")
GIVES_WAY = replace(WAITS, should_pause=True)
SETTINGS = LadderSettings(OnPressure.PAUSE)
CALM = Verdict(Level.WATCH, "1.0 GiB left", None, (), Need(Level.WATCH))
NOW_S = 1000.0


def look(headroom_mib: int = 1000, clock_s: float = NOW_S) -> Forecast:
    return Forecast(clock_s, headroom_mib * MIB, 2 * GIB, 256 * MIB, job_bytes=500 * MIB)


def act(state: ActionState, forecast: Forecast, turn: Turn, settings: LadderSettings = SETTINGS) -> Action | None:
    return next_action(observed(state, Level.WATCH, forecast, settings), settings, CALM, forecast, turn=turn)


def paused(action: Action) -> ActionState:
    return after(ActionState(), action, NOW_S, By.GUARD, SETTINGS)


GIVEN_WAY = paused(Action(Step.PAUSE, "", gives_way=True))
AT_THE_END = paused(Action(Step.PAUSE, "", NOW_S + 60, Step.STOP, is_blamed=True, is_short=True))
HELD = paused(Action(Step.PAUSE, "", is_brief=True, is_blamed=True))


def test_a_run_gives_way_without_a_deadline_and_says_to_whom() -> None:
    action = act(ActionState(), look(), GIVES_WAY)
    assert action == Action(Step.PAUSE, WAITS.reason, None, Step.RESUME, gives_way=True)


@pytest.mark.parametrize("waited_s", [1, 100, 1e6])
def test_it_waits_as_long_as_the_other_one_goes_first_and_then_resumes(waited_s: float) -> None:
    later = look(clock_s=NOW_S + waited_s)
    assert act(GIVEN_WAY, later, WAITS) is None
    resumed = act(GIVEN_WAY, later, ALONE)
    assert resumed is not None
    assert resumed.step == Step.RESUME
    assert not after(GIVEN_WAY, resumed, later.clock_s, By.GUARD, SETTINGS).gives_way


def test_with_warn_nobody_gives_way() -> None:
    assert act(ActionState(), look(), GIVES_WAY, LadderSettings(OnPressure.WARN)) is None


def test_what_the_user_has_resumed_does_not_give_way_at_once() -> None:
    state = after(GIVEN_WAY, Action(Step.RESUME, ""), NOW_S, By.USER, SETTINGS)
    assert act(state, look(clock_s=NOW_S + 5), GIVES_WAY) is None


def test_at_its_deadline_a_run_that_waits_for_another_is_not_stopped() -> None:
    overdue = look(-10, NOW_S + 100)
    stop = act(AT_THE_END, overdue, ALONE)
    assert stop is not None
    assert stop.step == Step.STOP
    assert act(AT_THE_END, overdue, WAITS) is None


def test_a_run_that_waits_beyond_its_deadline_does_not_use_up_the_reserve_in_tries() -> None:
    waits = replace(WAITS, may_resume=True)
    for headroom_mib, tries in ((-10, True), (-100, False)):
        action = act(AT_THE_END, look(headroom_mib, NOW_S + 100), waits)
        assert (action is not None and action.is_brief) == tries


def test_with_room_a_paused_run_resumes_only_when_it_is_its_turn() -> None:
    later = look(800, NOW_S + 10)
    assert act(AT_THE_END, later, WAITS) is None
    resumed = act(AT_THE_END, later, ALONE)
    assert resumed is not None
    assert resumed.step == Step.RESUME


def test_a_hold_of_a_tenth_of_a_second_does_not_wait_for_a_turn() -> None:
    resumed = act(HELD, look(clock_s=NOW_S + 0.2), WAITS)
    assert resumed is not None
    assert resumed.step == Step.RESUME


def test_others_see_a_pause_and_not_the_holds_and_tries_of_the_ladder() -> None:
    tried = after(AT_THE_END, Action(Step.RESUME, "", is_brief=True), NOW_S, By.GUARD, SETTINGS)
    by_user = after(ActionState(), Action(Step.PAUSE, ""), NOW_S, By.USER, SETTINGS)
    stopped = after(AT_THE_END, Action(Step.STOP, ""), NOW_S, By.GUARD, SETTINGS)
    states = [ActionState(), HELD, GIVEN_WAY, AT_THE_END, tried, by_user, stopped]
    seen = ["running", "running", "paused", "paused", "paused", "held", "running"]
    assert [run_state(state).value for state in states] == seen
