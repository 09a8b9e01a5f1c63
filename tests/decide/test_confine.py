"""A confined job: what its scope and the rest of the machine show, and what is done then. No real memory is used."""

from dataclasses import replace

import pytest

from memwatch.decide.action_state import ActionState, after
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.confine import (
    confined_limit_bytes,
    confined_verdict,
    confined_words,
    limit_move,
    rest_of_machine,
    swap_left_bytes,
)
from memwatch.decide.confine_history import Confined, ConfineHistory, ConfineReading
from memwatch.decide.fill_windows import ForecastConfidence
from memwatch.decide.forecast import Forecast
from memwatch.decide.ladder import is_confirmed, next_action
from memwatch.decide.monitor import Monitor
from memwatch.decide.thresholds import Level, Need
from memwatch.decide.verdict import Verdict
from memwatch.model.sample import JobCounters, Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB

AUTO = LadderSettings(OnPressure.AUTO, can_confine=True)
RESERVE = 256 * MIB
CALM = Verdict(Level.CALM, "all is well", None, (), Need(Level.CALM))
READING = ConfineReading(0.0, 450 * MIB, 440 * MIB, GIB, 2 * GIB, 0.0, 0, Pressure(0, 0, 0, 0))
CONFINED = Confined(450 * MIB, 440 * MIB, GIB, 2 * GIB)
IS_CONFINED = ActionState(confined_s=0.0, confined_by=By.GUARD)
HOG = Forecast(
    100.0,
    headroom_bytes=50 * MIB,
    capacity_bytes=GIB,
    reserve_bytes=RESERVE,
    fill_bytes_s=100 * MIB,
    job_fill_bytes_s=100 * MIB,
    seconds_left=0.5,
    confidence=ForecastConfidence.HIGH,
    job_bytes=400 * MIB,
)
STEADY = Forecast(100.0, headroom_bytes=0, capacity_bytes=GIB, reserve_bytes=RESERVE, job_bytes=2 * GIB)


def act(
    state: ActionState, look: Forecast, confined: Confined | None, settings: LadderSettings = AUTO
) -> Action | None:
    return next_action(state, settings, CALM, look, confined=confined)


def step(state: ActionState, look: Forecast, confined: Confined | None, settings: LadderSettings = AUTO) -> Step | None:
    action = act(state, look, confined, settings)
    return None if action is None else action.step


def history(seconds: float, *, swap_bytes_s: float = 0, cpu: float = 0.2, stall: float = 0.5, memory: float = 0.0,
            io: float = 0.0, growth_bytes_s: float = 0.0, done_s: float | None = None) -> Confined:  # fmt: skip
    """Readings four times a second, with constant rates."""
    made = ConfineHistory(rate_before=10 * MIB)
    for i in range(int(seconds * 4) + 1):
        t = i / 4
        reading = replace(
            READING,
            clock_s=t,
            held_bytes=int(READING.held_bytes + growth_bytes_s * t),
            swap_bytes=int(GIB + swap_bytes_s * t),
            swap_left_bytes=max(int(2 * GIB - swap_bytes_s * t), 0),
            user_cpu_s=cpu * t,
            stall_full_us=int(stall * t * 1e6),
            rest=Pressure(int(memory * t * 1e6), 0, 0, int(io * t * 1e6)),
            done=None if done_s is None else done_s * t,
            total=None if done_s is None else 100 * GIB,
            unit="bytes",
        )
        seen = made.add(reading)
    return seen


def test_a_growing_job_is_confined_where_the_machine_can_and_held_elsewhere() -> None:
    assert step(ActionState(), HOG, None) == Step.CONFINE
    assert step(ActionState(), HOG, None, replace(AUTO, can_confine=False)) == Step.PAUSE


@pytest.mark.parametrize("on_pressure", [OnPressure.PAUSE, OnPressure.STOP, OnPressure.WARN])
def test_only_auto_confines(on_pressure: OnPressure) -> None:
    assert step(ActionState(), HOG, None, LadderSettings(on_pressure, can_confine=True)) != Step.CONFINE


def test_a_job_that_can_shard_shards_first() -> None:
    assert step(ActionState(), HOG, None, replace(AUTO, can_shard=True)) == Step.SHARD


def test_until_the_limit_is_in_force_the_job_is_held_as_any_other() -> None:
    state = after(ActionState(), Action(Step.CONFINE, ""), 100.0, By.GUARD, AUTO)
    assert step(state, replace(HOG, clock_s=100.1), None) == Step.PAUSE


def test_a_job_that_was_held_until_then_runs_on_once_its_limit_is_in_force() -> None:
    state = after(ActionState(), Action(Step.CONFINE, ""), 100.0, By.GUARD, AUTO)
    pause = act(state, replace(HOG, clock_s=100.1, headroom_bytes=-50 * MIB), None)
    assert pause is not None
    state = after(state, pause, 100.1, By.GUARD, AUTO)
    seen = replace(CONFINED, since_s=103.0)
    assert step(state, replace(STEADY, clock_s=103.0, headroom_bytes=-50 * MIB), seen) == Step.RESUME


def test_a_confined_job_that_swaps_itself_is_left_alone() -> None:
    seen = history(70, swap_bytes_s=20 * MIB, stall=0.9)
    assert step(IS_CONFINED, STEADY, seen) is None
    # The machine's own forecast says that memory is about to end: it is what the job swaps.
    assert step(IS_CONFINED, HOG, seen) is None


def test_the_machines_own_counters_are_no_reason_to_warn_while_a_job_is_confined() -> None:
    """Half an hour of swapping at 40 MiB/s in and out with the whole machine stalled: the rest of it is calm."""
    monitor, levels = Monitor(lambda _: RESERVE), set()
    for i in range(120):
        pages = int(i * 0.25 * 40 * MIB / 4096)
        job = Process(7, 7, 1, "D", 440 * MIB, GIB + pages * 4096, 1.0, None, None, "hog")
        sample = Sample(
            t=i / 4,
            clock_s=i / 4,
            memory=Memory(GIB, RESERVE + 100 * MIB, 4 * GIB, 2 * GIB),
            limits=(Limit("/a/memwatch-1.scope", 450 * MIB, 450 * MIB, GIB),),
            pressure=Pressure(int(i / 4 * 0.9e6), int(i / 4 * 0.8e6)),
            paging=Paging(pages, pages * 2, pages, pages),
            job=(job,),
            job_counters=JobCounters(refaults=pages),
        )
        _, verdict = monitor.observe(rest_of_machine(sample, "/a/memwatch-1.scope", Pressure(0, 0, 0, 0)))
        levels.add(verdict.level)
    assert max(levels) <= Level.WATCH


class TestTheEnd:
    def test_swap_that_may_outlast_the_job_is_no_warning_before_the_pace_is_known(self) -> None:
        seen = replace(history(60, swap_bytes_s=25 * MIB), left=500, rate=None, swap_left_bytes=GIB)
        assert confined_verdict(CALM, seen).level == Level.WATCH
        assert confined_verdict(CALM, replace(seen, rate=20.0)).level == Level.WATCH
        assert confined_verdict(CALM, replace(seen, rate=10.0)).level == Level.WARN
        assert confined_verdict(CALM, replace(seen, swap_left_bytes=400 * MIB)).level == Level.WARN

    def test_swap_that_runs_out_is_warned_about_and_ends_in_a_pause_and_a_stop(self) -> None:
        seen = history(60, swap_bytes_s=25 * MIB)  # 548 MiB are left, for 22 s
        assert step(IS_CONFINED, STEADY, seen) is None
        verdict = confined_verdict(CALM, seen)
        assert verdict.level == Level.WARN
        assert verdict.reason.startswith("swap is full in 22 s: the job swaps 25.0 MiB/s and 548.0 MiB are left")
        seen = history(81, swap_bytes_s=25 * MIB)
        pause = act(IS_CONFINED, STEADY, seen)
        assert pause is not None
        assert (pause.step, pause.next_step, pause.deadline_s) == (Step.PAUSE, Step.STOP, 160.0)
        assert pause.reason.startswith("swap is full")
        paused = after(IS_CONFINED, pause, 100.0, By.GUARD, AUTO)
        assert step(paused, replace(STEADY, clock_s=159.0), seen) is None
        stop = act(paused, replace(STEADY, clock_s=160.0), seen)
        assert stop is not None
        assert stop.step == Step.STOP
        assert is_confirmed(stop, paused, AUTO, replace(STEADY, clock_s=160.1), confined=seen)
        free = replace(STEADY, clock_s=160.1, headroom_bytes=RESERVE)
        assert not is_confirmed(stop, paused, AUTO, free, confined=seen)
        assert step(paused, free, seen) == Step.RESUME

    def test_a_job_that_waits_for_its_pages_for_a_minute_does_not_progress(self) -> None:
        stuck = {"stall": 0.95, "cpu": 0.002}
        assert step(IS_CONFINED, STEADY, history(50, **stuck)) is None
        assert step(IS_CONFINED, STEADY, history(70, **stuck)) == Step.PAUSE
        assert step(IS_CONFINED, STEADY, history(70, **stuck, growth_bytes_s=MIB)) is None, "it grows"
        assert step(IS_CONFINED, STEADY, history(70, **stuck, done_s=1000)) is None, "it reports progress"
        assert step(IS_CONFINED, STEADY, history(70, stall=0.95, cpu=0.03)) is None, "it computes"
        assert step(IS_CONFINED, STEADY, history(70, stall=0.0, cpu=0.0)) is None, "it waits for something else"

    def test_memory_that_is_lost_all_the_same(self) -> None:
        lost = replace(STEADY, headroom_bytes=-RESERVE * 3 // 4)
        assert step(IS_CONFINED, lost, CONFINED) == Step.PAUSE
        assert step(IS_CONFINED, lost, replace(CONFINED, since_s=99.0)) is None, "the limit has not worked yet"
        pause = act(IS_CONFINED, lost, CONFINED)
        assert pause is not None
        paused = after(IS_CONFINED, pause, 100.0, By.GUARD, AUTO)
        assert step(paused, replace(lost, clock_s=105.0), CONFINED) is None
        reclaimed = replace(STEADY, clock_s=105.0, headroom_bytes=-RESERVE // 16)
        assert limit_move(CONFINED, -RESERVE // 16, RESERVE, may_rise=False) is None, "nothing more is reclaimed"
        assert step(paused, reclaimed, CONFINED) == Step.RESUME
        assert step(paused, replace(lost, clock_s=160.0), CONFINED) == Step.STOP

    @pytest.mark.parametrize("suffering", [{"memory": 0.4}, {"io": 0.8}])
    def test_others_that_suffer_get_a_pause_and_the_third_time_the_job_is_at_its_end(
        self, suffering: dict[str, float]
    ) -> None:
        seen, fine, state, now_s = history(10, **suffering), history(10), IS_CONFINED, 100.0
        for _ in range(2):
            pause = act(state, replace(STEADY, clock_s=now_s), seen)
            assert pause is not None
            assert (pause.step, pause.next_step) == (Step.PAUSE, Step.RESUME)
            state = after(state, pause, now_s, By.GUARD, AUTO)
            now_s += 10
            resume = act(state, replace(STEADY, clock_s=now_s), fine)
            assert resume is not None
            assert (resume.step, resume.reason) == (Step.RESUME, "the others have recovered")
            state = after(state, resume, now_s, By.GUARD, AUTO)
            now_s += 10
        last = act(state, replace(STEADY, clock_s=now_s), seen)
        assert last is not None
        assert (last.step, last.next_step) == (Step.PAUSE, Step.STOP)

    def test_others_that_suffer_without_the_job_too_count_no_more(self) -> None:
        seen = history(10, memory=0.4)
        paused = after(IS_CONFINED, Action(Step.PAUSE, ""), 100.0, By.GUARD, AUTO)
        resume = act(paused, replace(STEADY, clock_s=110.0), seen)
        assert resume is not None
        state = after(paused, resume, 110.0, By.GUARD, AUTO)
        assert all(step(state, replace(STEADY, clock_s=t), seen) is None for t in range(111, 500))

    def test_a_job_that_fits_again_is_released(self) -> None:
        made = ConfineHistory()
        for i in range(60):
            seen = made.add(replace(READING, clock_s=i / 4, swap_bytes=MIB))
        assert step(IS_CONFINED, replace(STEADY, headroom_bytes=RESERVE), seen) == Step.RELEASE
        assert step(IS_CONFINED, STEADY, seen) is None, "there is no room yet"
        by_user = replace(IS_CONFINED, confined_by=By.USER)
        assert step(by_user, replace(STEADY, headroom_bytes=RESERVE), seen) is None

    def test_a_guard_that_is_switched_off_releases_it(self) -> None:
        off = replace(AUTO, on_pressure=OnPressure.WARN)
        assert step(IS_CONFINED, STEADY, CONFINED, off) == Step.RELEASE
        by_user = replace(IS_CONFINED, confined_by=By.USER)
        assert step(by_user, STEADY, CONFINED, off) is None, "what the user does is not undone"

    def test_a_users_pause_is_not_undone(self) -> None:
        paused = after(IS_CONFINED, Action(Step.PAUSE, "asked for"), 100.0, By.USER, AUTO)
        assert step(paused, replace(STEADY, clock_s=1000.0), history(70, memory=0.9)) is None


class TestTheLimit:
    def test_it_is_never_below_what_the_job_holds(self) -> None:
        assert confined_limit_bytes(400 * MIB, 50 * MIB) == 450 * MIB
        assert confined_limit_bytes(400 * MIB, -100 * MIB) > 400 * MIB

    def test_more_room_more_limit(self) -> None:
        move = limit_move(CONFINED, 100 * MIB, RESERVE, may_rise=True)
        assert move is not None
        assert (move.limit_bytes, move.reclaim_bytes) == (540 * MIB, 0)
        assert limit_move(CONFINED, 100 * MIB, RESERVE, may_rise=False) is None, "a user has confined it"
        assert limit_move(CONFINED, 10 * MIB, RESERVE, may_rise=True) is None, "not worth a call"

    def test_less_room_is_reclaimed_from_the_job_as_far_as_swap_allows(self) -> None:
        move = limit_move(CONFINED, -100 * MIB, RESERVE, may_rise=True)
        assert move is not None
        assert (move.limit_bytes, move.reclaim_bytes) == (None, 116 * MIB)
        assert limit_move(replace(CONFINED, swap_left_bytes=32 * MIB), -100 * MIB, RESERVE, may_rise=True) is None

    def test_a_part_of_swap_is_left_to_others(self) -> None:
        assert swap_left_bytes(Memory(GIB, GIB, 4 * GIB, 3 * GIB)) == 3 * GIB - 256 * MIB
        assert swap_left_bytes(Memory(GIB, GIB, 4 * GIB, 0)) == 0


def test_in_words() -> None:
    seen = replace(CONFINED, rate=12 * MIB, rate_before=72 * MIB, left=72 * 60 * MIB, unit="bytes")
    expected = "confined to 450.0 MiB: 1.0 GiB in swap, 12.0 MiB/s, done in about 6 min 00 s instead of 1 min 00 s"
    assert confined_words(seen) == expected
    assert confined_words(CONFINED) == "confined to 450.0 MiB: 1.0 GiB in swap"
    nearly_read = replace(seen, left=5 * 12 * MIB)
    assert confined_words(nearly_read) == "confined to 450.0 MiB: 1.0 GiB in swap, 12.0 MiB/s"
