"""What other guards got wrong (docs/MEASUREMENTS.md), where it is a matter of deciding. Each is a test here."""

from dataclasses import replace
from itertools import pairwise

from memwatch.decide.action_state import ActionState
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.fill_windows import ForecastConfidence
from memwatch.decide.forecast import Forecast, Rates, forecast
from memwatch.decide.history import History
from memwatch.decide.ladder import is_confirmed, next_action
from memwatch.decide.thresholds import USUAL, Level, Signal, assess
from memwatch.decide.verdict import Decider, Verdict
from memwatch.model.sample import Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB
from tests.decide.machine import Climber, Machine, Run

# At the end of its room, and it grows.
HOG = Forecast(0.0, headroom_bytes=0, capacity_bytes=16 * GIB, reserve_bytes=GIB, fill_bytes_s=2 * GIB,
               job_fill_bytes_s=2 * GIB, seconds_left=0.0, sure_seconds_left=0.0, confidence=ForecastConfidence.HIGH,
               job_bytes=8 * GIB)  # fmt: skip
THRASH = Rates(2.0, 38 * MIB, 61 * MIB, 0.6, 0.3, 900, 5000)
OWN_FAULTS = Rates(2.0, major_faults_s=800)
AT_REST = Forecast(0.0, headroom_bytes=8 * GIB, capacity_bytes=16 * GIB, reserve_bytes=GIB, fill_bytes_s=0.0,
                   job_bytes=4 * GIB)  # fmt: skip
HELD = replace(HOG, fill_bytes_s=0.0, job_fill_bytes_s=0.0, seconds_left=None, sure_seconds_left=None,
               confidence=ForecastConfidence.LOW)  # fmt: skip


def one_gib(capacity_bytes: int) -> int:
    return GIB


class Stage:
    """A ladder that is shown one forecast after the other, and does what it proposes."""

    def __init__(self, on_pressure: OnPressure, can_shard: bool = False) -> None:
        self.ladder = Climber(LadderSettings(on_pressure, can_shard))
        self.decider = Decider()
        self.now_s = 0.0
        self.done: list[tuple[float, Step]] = []

    def show(self, look: Forecast, seconds: float = 0.1) -> list[Step]:
        """What it does meanwhile. A job that is tried in a long pause, and is still growing, is paused all the time."""
        first = len(self.done)
        for _ in range(round(seconds * 10)):
            self.now_s += 0.1
            action = self.ladder.step(*self._seen(look))
            if action is not None and not action.is_brief:
                self.done.append((self.now_s, action.step))
        return [step for _, step in self.done[first:]]

    def _seen(self, look: Forecast) -> tuple[Verdict, Forecast]:
        fresh = replace(look, clock_s=self.now_s)
        return self.decider.decide(fresh), fresh


def test_earlyoom_100_and_122_a_large_swap_does_not_hide_thrashing() -> None:
    run = Run(
        Machine(job_rate=200 * MIB, desktop=lambda t: 13 * GIB, swap_total_bytes=256 * GIB), on_pressure=OnPressure.WARN
    )
    run.until(60)
    assert run.levels[-1][1] == Level.ACT


def test_nohang_100_free_swap_does_not_silence_a_warning() -> None:
    levels = []
    for swap in (0, 1024 * GIB):
        machine = Machine(job_rate=100 * MIB, desktop=lambda t: 13 * GIB, swap_total_bytes=swap)
        levels.append(Run(machine, on_pressure=OnPressure.WARN).until(20).levels)
    assert levels[0] == levels[1]


def test_systemd_36704_swap_that_is_added_later_changes_nothing() -> None:
    machine = Machine(job_rate=100 * MIB, desktop=lambda t: 13 * GIB, swap_total_bytes=0)
    run = Run(machine, on_pressure=OnPressure.WARN)
    for _ in run.verdicts(60):
        if machine.clock_s > 10:
            machine.swap_total_bytes = 64 * GIB
    assert run.first(Step.WARN) is not None
    assert run.levels[-1][1] == Level.ACT


def test_ray_35989_page_cache_is_not_use() -> None:
    """A job maps a file larger than RAM: its RSS grows and grows, and what is available stays."""
    history = History()
    for tick in range(200):
        process = Process(7, 7, 1, "R", tick * 100 * MIB, 0, 0.0, None, None, "memmap")
        history.add(Sample(tick / 5, tick / 5, Memory(16 * GIB, 9 * GIB, 0, 0), (), None, None, (process,)))
        assert assess(forecast(history, one_gib), USUAL).level == Level.CALM


def test_dask_5999_nothing_is_paused_for_ever() -> None:
    for later in (AT_REST, HOG, HELD, replace(HELD, headroom_bytes=100 * MIB), Forecast(0.0)):
        stage = Stage(OnPressure.PAUSE)
        assert stage.show(HOG) == [Step.PAUSE]
        stage.show(later, 61)
        assert stage.ladder.state.stopped_s is not None or stage.ladder.state.resumed_s > 0


def test_dask_a_job_does_not_flap_at_one_threshold() -> None:
    """Headroom swings around the point where the job was paused: it is resumed once, and does not grow."""
    stage = Stage(OnPressure.PAUSE)
    stage.show(HOG)
    for _ in range(14):
        stage.show(replace(HELD, headroom_bytes=GIB // 2), 2)
        stage.show(replace(HELD, headroom_bytes=-GIB // 16), 2)
    assert [step for _, step in stage.done] == [Step.PAUSE, Step.RESUME]


def test_a_job_is_resumed_at_once_when_there_is_room_whatever_its_pace_was() -> None:
    stage = Stage(OnPressure.PAUSE)
    for _ in range(3):
        assert stage.show(HOG)[-1:] == [Step.PAUSE]
        assert stage.show(replace(AT_REST, headroom_bytes=GIB), 0.2) == [Step.RESUME]
        stage.show(replace(AT_REST, headroom_bytes=GIB), 5)


def test_a_job_that_no_longer_grows_runs_on_after_a_try() -> None:
    """It has stopped growing just where there was nothing left: it is resumed within a moment, and stays."""
    stage = Stage(OnPressure.PAUSE)
    assert stage.show(HOG) == [Step.PAUSE]
    stage.show(HELD, 1)
    assert stage.ladder.state.paused_s is None
    stage.show(HELD, 120)
    assert stage.ladder.state.stopped_s is None
    assert stage.ladder.state.paused_s is None


def test_at_the_deadline_a_job_has_a_last_chance_as_long_as_there_is_headroom() -> None:
    stage = Stage(OnPressure.PAUSE)
    growing = replace(HOG, headroom_bytes=MIB, seconds_left=0.01)
    stage.show(growing)
    stage.ladder.state = replace(stage.ladder.state, tries=20)  # The next try would be in years.
    assert stage.show(replace(HELD, headroom_bytes=MIB), 59) == []
    stage.show(replace(HELD, headroom_bytes=MIB), 2)
    assert stage.ladder.state.paused_s is None
    assert stage.show(replace(growing, headroom_bytes=-30 * MIB, job_bytes=9 * GIB), 0.3)[-1:] == [Step.STOP]


def test_growth_that_has_just_stopped_is_no_longer_a_forecast() -> None:
    """Or else a pause would seem to have no effect."""
    history = History()
    for tick in range(150):
        used = min(tick, 130) * 20 * MIB
        history.add(Sample(tick / 10, tick / 10, Memory(16 * GIB, 4 * GIB - used, 0, 0)))
        if tick == 130:
            assert forecast(history, one_gib).is_credible
    assert forecast(history, one_gib).seconds_left is None


def test_earlyoom_284_no_second_blow_before_the_first_has_shown_its_effect() -> None:
    stage = Stage(OnPressure.STOP)
    danger = replace(HOG, headroom_bytes=-GIB // 4, rates=THRASH, job_rates=OWN_FAULTS)
    assert stage.show(danger) == [Step.STOP]
    freeing = replace(
        danger, fill_bytes_s=-GIB, job_fill_bytes_s=-GIB, seconds_left=None, confidence=ForecastConfidence.LOW
    )
    assert stage.show(freeing, 9) == [], "it is on its way out"
    assert stage.show(AT_REST, 30) == []


def test_one_signal_is_not_enough_to_stop_and_two_are() -> None:
    assert Stage(OnPressure.STOP).show(HOG) == [Step.PAUSE]
    assert Stage(OnPressure.STOP).show(replace(HOG, rates=THRASH)) == [Step.PAUSE], "they may be another program's"
    assert Stage(OnPressure.STOP).show(replace(HOG, rates=THRASH, job_rates=OWN_FAULTS)) == [Step.STOP]


def test_a_stop_is_called_off_if_a_fresh_forecast_says_so() -> None:
    settings, danger = LadderSettings(OnPressure.STOP), replace(HOG, rates=THRASH, job_rates=OWN_FAULTS)
    state = ActionState()
    action = next_action(state, settings, Decider().decide(danger), danger)
    assert action is not None
    assert action.step == Step.STOP
    assert is_confirmed(action, state, settings, danger)
    assert not is_confirmed(action, state, settings, AT_REST)
    assert not is_confirmed(action, state, settings, HOG), "one of the two signals has gone"


def test_thrashing_without_swap_is_seen() -> None:
    rates = Rates(2.0, None, None, 0.4, 0.2, 3000, 20_000)
    need = assess(replace(AT_REST, headroom_bytes=-500 * MIB, rates=rates), USUAL)
    assert need.level == Level.ACT
    assert need.is_proven
    assert need.signals == (Signal.HEADROOM, Signal.REFAULTS, Signal.STALLS)


def test_stalls_and_swap_are_enough_where_memory_cannot_be_read() -> None:
    assert assess(Forecast(0.0, rates=THRASH), USUAL).is_proven


def test_another_containers_thrashing_is_no_reason_to_act_here() -> None:
    assert assess(replace(AT_REST, rates=THRASH), USUAL).level == Level.WARN


def test_a_small_job_is_not_paused_for_what_others_do() -> None:
    others = replace(HOG, headroom_bytes=-GIB, job_fill_bytes_s=0.0, job_bytes=10 * MIB, rates=THRASH)
    assert Stage(OnPressure.STOP).show(others, 60) == [Step.WARN]


def test_a_neighbour_that_fills_memory_is_warned_about_and_nothing_is_done_to_the_job() -> None:
    others = replace(HOG, headroom_bytes=-GIB // 2, job_fill_bytes_s=0.0, job_bytes=4 * GIB, rates=THRASH)
    for on_pressure in OnPressure:
        assert Stage(on_pressure).show(others, 300) == [Step.WARN]


def test_a_job_that_faults_in_a_machine_that_thrashes_is_paused_for_seconds_and_gets_its_turn() -> None:
    thrash = replace(HELD, headroom_bytes=-GIB // 2, rates=THRASH, job_rates=OWN_FAULTS)
    stage = Stage(OnPressure.PAUSE)
    stage.show(thrash, 240)
    assert Step.STOP not in [step for _, step in stage.done]
    times = [now_s for now_s, step in stage.done if step in (Step.PAUSE, Step.RESUME)]
    assert len(times) >= 3
    assert all(9.9 <= later - earlier <= 10.2 for earlier, later in pairwise(times))


def test_the_pause_of_a_job_that_faults_ends_when_the_traffic_does() -> None:
    stage = Stage(OnPressure.PAUSE)
    thrash = replace(HELD, headroom_bytes=-GIB // 2, rates=THRASH, job_rates=OWN_FAULTS)
    assert stage.show(thrash) == [Step.PAUSE]
    assert stage.show(replace(HELD, headroom_bytes=-GIB // 2), 1) == [Step.RESUME]


def test_a_users_pause_has_no_deadline() -> None:
    stage = Stage(OnPressure.PAUSE)
    stage.ladder.done(Action(Step.PAUSE, "asked for"), 0.0, By.USER)
    assert stage.show(replace(HOG, rates=THRASH, job_rates=OWN_FAULTS), 300) == [Step.WARN]


def test_a_users_resume_is_respected_until_headroom_is_gone() -> None:
    stage, near = Stage(OnPressure.PAUSE), replace(HOG, headroom_bytes=MIB, seconds_left=0.01)
    stage.show(near)
    stage.ladder.done(Action(Step.RESUME, "asked for"), stage.now_s, By.USER)
    assert stage.show(near, 20) == []
    assert stage.show(HOG) == [Step.PAUSE]


def test_a_users_stop_is_followed_by_the_kill_without_another_look() -> None:
    stage = Stage(OnPressure.WARN)
    stage.ladder.done(Action(Step.STOP, "asked for"), 0.0, By.USER)
    assert stage.show(AT_REST, 9) == []
    assert stage.show(AT_REST, 2) == [Step.KILL]


def test_a_checkpoint_after_sigterm_may_grow_as_long_as_half_of_the_reserve_is_kept() -> None:
    stage = Stage(OnPressure.PAUSE)
    stage.ladder.done(Action(Step.STOP, "no room"), 0.0, By.GUARD)
    assert stage.show(replace(HOG, headroom_bytes=-GIB // 4), 9) == []
    assert stage.show(replace(HOG, headroom_bytes=-GIB // 2 - MIB)) == [Step.KILL]


def test_a_shard_is_given_time_unless_there_is_none() -> None:
    coming = replace(HOG, headroom_bytes=3 * GIB, seconds_left=1.5, sure_seconds_left=1.5)
    stage = Stage(OnPressure.AUTO, can_shard=True)
    assert stage.show(coming, 2.5) == [Step.SHARD]
    assert stage.show(HOG) == [Step.PAUSE]


def test_reasons_are_in_plain_words() -> None:
    def words(look: Forecast) -> str:
        return Decider().decide(look).reason

    soon = replace(HOG, headroom_bytes=12 * GIB, seconds_left=10.0, sure_seconds_left=10.0)
    assert words(soon) == "full in 10 s: 12.0 GiB left above the 1.0 GiB reserve, the job grows 2.0 GiB/s"
    thrash = Forecast(0.0, rates=THRASH)
    assert words(thrash) == (
        "38.0 MiB/s swapped in and 61.0 MiB/s out at the same time; "
        "5000 pages a second are read back from disk soon after they were dropped"
    )
    stalls = Forecast(0.0, rates=Rates(2.0, stall_some_fraction=0.24))
    assert words(stalls) == "programs stalled on memory 24 % of the last 2 s"
    gone = replace(AT_REST, headroom_bytes=-GIB // 4)
    assert words(gone) == "768.0 MiB left of RAM, less than the 1.0 GiB reserve"
    assert words(AT_REST) == "8.0 GiB left above the 1.0 GiB reserve"
    limited = replace(soon, limit_path="/user.slice", limit_bytes=16 * GIB, job_fill_bytes_s=0.0)
    assert words(limited) == (
        "full in 10 s: 12.0 GiB left above the 1.0 GiB reserve in the 16.0 GiB memory limit of /user.slice, "
        "other programs grow 2.0 GiB/s"
    )
    kept = replace(soon, reserve_bytes=8 * GIB, headroom_bytes=GIB)
    assert words(kept) == (
        "the job's share is used up in 10 s: 1.0 GiB left above the 8.0 GiB reserve, the job grows 2.0 GiB/s"
    )


def test_the_room_that_ends_first_counts_even_if_another_is_tighter_now() -> None:
    history = History()
    for tick in range(20):
        host = Memory(64 * GIB, 30 * GIB - tick * 200 * MIB, 0, 0)
        history.add(Sample(tick / 10, tick / 10, host, (Limit("/job", 26 * GIB, 2 * GIB),)))
    look = forecast(history, one_gib)
    assert look.headroom_bytes == 23 * GIB
    assert look.limit_path is None
    assert look.seconds_left is not None
    assert 12 < look.seconds_left < 13


def test_a_limit_with_no_headroom_is_named_though_others_fill_the_host() -> None:
    history = History()
    for tick in range(20):
        host = Memory(64 * GIB, 30 * GIB - tick * 200 * MIB, 0, 0)
        history.add(Sample(tick / 10, tick / 10, host, (Limit("/job", 2 * GIB, 2 * GIB - 100 * MIB),)))
    look = forecast(history, one_gib)
    assert (look.limit_path, look.limit_bytes) == ("/job", 2 * GIB)
    reason = "100.0 MiB left of the 2.0 GiB memory limit of /job, less than the 1.0 GiB reserve"
    assert Decider().decide(look).reason == reason


def test_a_hog_in_a_small_limit_is_seen_before_the_limit_is() -> None:
    """100 MiB/s in 400 MiB with a desktop of 100 MiB: 2.6 s to the reserve."""
    history, held = History(), []
    for tick in range(46):
        used = (100 + max(tick - 20, 0) * 10) * MIB
        host = Memory(24 * GIB, 20 * GIB - used, 0, 0)
        history.add(Sample(tick / 10, tick / 10, host, (Limit("/job", 400 * MIB, used),)))
        held.append(forecast(history, lambda _: 40 * MIB).is_within(0.8))
    assert not any(held[:21])
    assert held.index(True) <= 40, "half a second or more before the reserve is touched"


def test_what_is_swapped_out_to_make_room_counts_as_used() -> None:
    history = History()
    for tick in range(30):
        memory = Memory(16 * GIB, 2 * GIB, 8 * GIB, 8 * GIB - tick * 100 * MIB)
        paging = Paging(0, tick * 25_600, 0, 0)
        history.add(Sample(tick / 10, tick / 10, memory, (), Pressure(0, 0), paging))
    look = forecast(history, one_gib)
    assert look.fill_bytes_s is not None
    assert round(look.fill_bytes_s / MIB) == 1000
    assert look.confidence >= ForecastConfidence.MEDIUM
