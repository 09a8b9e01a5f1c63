"""What other guards got wrong (FACTS.md), where it is a matter of deciding. Each is a test here."""

from dataclasses import replace
from itertools import pairwise

from memwatch.core.actions import By, LadderSettings, Step, Wish
from memwatch.core.assess import Level, Policy, Signal, assess
from memwatch.core.forecast import Confidence, Forecast, Rates, forecast
from memwatch.core.history import History
from memwatch.core.ladder import Ladder
from memwatch.core.policy import Decider
from memwatch.core.sample import Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.core.units import GIB, MIB
from tests.core.machine import Machine, Run

POLICY = Policy.keeping(GIB)
HOG = Forecast(0.0, headroom_bytes=3 * GIB, capacity_bytes=16 * GIB, fill_bytes_s=2 * GIB, job_fill_bytes_s=2 * GIB,
               seconds_left=1.5, sure_seconds_left=1.5, confidence=Confidence.HIGH, job_bytes=8 * GIB)  # fmt: skip
THRASH = Rates(2.0, 38 * MIB, 61 * MIB, 0.6, 0.3, 900, 5000)
AT_REST = Forecast(0.0, headroom_bytes=8 * GIB, capacity_bytes=16 * GIB, fill_bytes_s=0.0, job_bytes=4 * GIB)


class Stage:
    """A ladder that is shown one forecast after the other, and does what it proposes."""

    def __init__(self, wish: Wish, can_shard: bool = False) -> None:
        self.ladder = Ladder(LadderSettings(wish, can_shard), POLICY)
        self.decider = Decider(POLICY)
        self.now_s = 0.0
        self.done: list[tuple[float, Step]] = []

    def show(self, look: Forecast, seconds: float = 0.1) -> list[Step]:
        first = len(self.done)
        for _ in range(round(seconds * 10)):
            self.now_s += 0.1
            fresh = replace(look, clock_s=self.now_s)
            action = self.ladder.next(self.decider.decide(fresh), fresh)
            if action is not None and self.ladder.confirm(action, fresh):
                self.ladder.done(action.step, self.now_s)
                self.done.append((self.now_s, action.step))
        return [step for _, step in self.done[first:]]


def test_earlyoom_100_and_122_a_large_swap_does_not_hide_thrashing() -> None:
    run = Run(Machine(job_rate=200 * MIB, desktop=lambda t: 13 * GIB, swap_total_bytes=256 * GIB), wish=Wish.WARN)
    run.until(60)
    assert run.levels[-1][1] == Level.ACT


def test_nohang_100_free_swap_does_not_silence_a_warning() -> None:
    levels = []
    for swap in (0, 1024 * GIB):
        machine = Machine(job_rate=100 * MIB, desktop=lambda t: 13 * GIB, swap_total_bytes=swap)
        levels.append(Run(machine, wish=Wish.WARN).until(20).levels)
    assert levels[0] == levels[1]


def test_systemd_36704_swap_that_is_added_later_changes_nothing() -> None:
    machine = Machine(job_rate=100 * MIB, desktop=lambda t: 13 * GIB, swap_total_bytes=0)
    run = Run(machine, wish=Wish.WARN)
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
        assert assess(forecast(history, GIB), POLICY).level == Level.CALM


def test_dask_5999_nothing_is_paused_for_ever() -> None:
    for later in (
        AT_REST,
        HOG,
        replace(HOG, seconds_left=None, sure_seconds_left=None, headroom_bytes=100 * MIB),
        Forecast(0.0),
    ):
        stage = Stage(Wish.PAUSE)
        assert stage.show(HOG) == [Step.PAUSE]
        after = stage.show(later, 61)
        assert Step.RESUME in after or Step.STOP in after


def test_dask_a_job_does_not_flap_at_one_threshold() -> None:
    """Headroom swings around the point where the job was paused."""
    stage = Stage(Wish.PAUSE)
    stage.show(HOG)
    still = replace(HOG, seconds_left=None, sure_seconds_left=None, fill_bytes_s=0.0, confidence=Confidence.LOW)
    for _ in range(14):
        stage.show(replace(still, headroom_bytes=4 * GIB), 2)
        stage.show(replace(still, headroom_bytes=2 * GIB), 2)
    assert [step for _, step in stage.done] == [Step.PAUSE]


def test_each_pause_that_soon_follows_another_needs_twice_the_room_to_end() -> None:
    stage, roomy = Stage(Wish.PAUSE), replace(AT_REST, headroom_bytes=30 * GIB)
    assert stage.show(HOG) == [Step.PAUSE]
    assert stage.show(roomy, 15) == [Step.RESUME], "12 s at 2 GiB/s fit"
    assert stage.show(HOG) == [Step.PAUSE]
    assert stage.show(roomy, 15) == [], "24 s do not"


def test_growth_that_has_just_stopped_is_no_longer_a_forecast() -> None:
    """Or else a pause would seem to have no effect."""
    history = History()
    for tick in range(150):
        used = min(tick, 130) * 20 * MIB
        history.add(Sample(tick / 10, tick / 10, Memory(16 * GIB, 4 * GIB - used, 0, 0)))
        if tick == 130:
            assert forecast(history, GIB).is_credible
    assert forecast(history, GIB).seconds_left is None


def test_earlyoom_284_no_second_blow_before_the_first_has_shown_its_effect() -> None:
    stage = Stage(Wish.STOP)
    danger = replace(HOG, headroom_bytes=-GIB // 4, seconds_left=0.0, sure_seconds_left=0.0, rates=THRASH)
    assert stage.show(danger) == [Step.STOP]
    freeing = replace(danger, fill_bytes_s=-GIB, job_fill_bytes_s=-GIB, seconds_left=None, confidence=Confidence.LOW)
    assert stage.show(freeing, 9) == [], "it is on its way out"
    assert stage.show(AT_REST, 30) == []


def test_one_signal_is_not_enough_to_stop_and_two_are() -> None:
    assert Stage(Wish.STOP).show(HOG) == [Step.PAUSE]
    assert Stage(Wish.STOP).show(replace(HOG, rates=THRASH)) == [Step.STOP]


def test_a_stop_is_called_off_if_a_fresh_look_says_so() -> None:
    ladder, danger = Ladder(LadderSettings(Wish.STOP), POLICY), replace(HOG, rates=THRASH)
    action = ladder.next(Decider(POLICY).decide(danger), danger)
    assert action is not None
    assert action.step == Step.STOP
    assert ladder.confirm(action, danger)
    assert not ladder.confirm(action, AT_REST)
    assert not ladder.confirm(action, HOG), "one of the two signals has gone"


def test_thrashing_without_swap_is_seen() -> None:
    rates = Rates(2.0, None, None, 0.4, 0.2, 3000, 20_000)
    need = assess(replace(AT_REST, headroom_bytes=-500 * MIB, rates=rates), POLICY)
    assert need.level == Level.ACT
    assert need.is_proven
    assert need.signals == (Signal.HEADROOM, Signal.REFAULTS, Signal.STALLS)


def test_stalls_and_swap_are_enough_where_memory_cannot_be_read() -> None:
    assert assess(Forecast(0.0, rates=THRASH), POLICY).is_proven


def test_another_containers_thrashing_is_no_reason_to_act_here() -> None:
    assert assess(replace(AT_REST, rates=THRASH), POLICY).level == Level.WARN


def test_a_small_job_is_not_paused_for_what_others_do() -> None:
    others = replace(HOG, headroom_bytes=-GIB, job_fill_bytes_s=0.0, job_bytes=10 * MIB, rates=THRASH)
    assert Stage(Wish.STOP).show(others, 60) == [Step.WARN]


def test_a_job_that_does_not_grow_is_resumed_at_the_deadline_and_gets_its_turn() -> None:
    others = replace(HOG, job_fill_bytes_s=0.0, job_bytes=GIB)
    stage = Stage(Wish.PAUSE)
    stage.show(others, 240)
    times = [now_s for now_s, step in stage.done if step in (Step.PAUSE, Step.RESUME)]
    assert len(times) >= 3
    assert all(later - earlier >= 59 for earlier, later in pairwise(times))


def test_a_users_pause_has_no_deadline_until_the_machine_suffers_through_one() -> None:
    stage = Stage(Wish.PAUSE)
    stage.ladder.done(Step.PAUSE, 0.0, By.USER)
    assert stage.show(replace(AT_REST, headroom_bytes=0), 300) == [Step.WARN]
    assert stage.show(replace(HOG, rates=THRASH), 59) == [Step.WARN]
    assert stage.show(replace(HOG, rates=THRASH), 2) == [Step.STOP]


def test_a_users_resume_is_respected_until_headroom_is_gone() -> None:
    stage = Stage(Wish.PAUSE)
    stage.show(HOG)
    stage.ladder.done(Step.RESUME, stage.now_s, By.USER)
    assert stage.show(HOG, 20) == []
    assert stage.show(replace(HOG, headroom_bytes=-1, seconds_left=0.0, sure_seconds_left=0.0)) == [Step.PAUSE]


def test_a_users_stop_is_followed_by_the_kill_without_another_look() -> None:
    stage = Stage(Wish.WARN)
    stage.ladder.done(Step.STOP, 0.0, By.USER)
    assert stage.show(AT_REST, 9) == []
    assert stage.show(AT_REST, 2) == [Step.KILL]


def test_a_shard_is_given_time_unless_there_is_none() -> None:
    stage = Stage(Wish.SHARD, can_shard=True)
    assert stage.show(HOG, 2.5) == [Step.SHARD]
    assert stage.show(replace(HOG, seconds_left=0.8, sure_seconds_left=0.8)) == [Step.PAUSE]


def test_a_job_that_was_paused_before_it_could_shard_gets_its_chance_once() -> None:
    """At the pace of before there is no room for it; but it was asked to change its pace."""
    stage = Stage(Wish.SHARD, can_shard=True)
    stage.show(HOG, 2.5)
    stage.show(replace(HOG, seconds_left=0.8, sure_seconds_left=0.8))
    little_room = replace(AT_REST, headroom_bytes=POLICY.reserve_bytes // 2, job_bytes=4 * GIB)
    assert stage.show(little_room, 3) == [Step.RESUME]
    assert stage.show(replace(HOG, seconds_left=0.8, sure_seconds_left=0.8)) == [Step.PAUSE]
    assert stage.show(little_room, 3) == []


def test_reasons_are_in_plain_words() -> None:
    def words(look: Forecast) -> str:
        return Decider(POLICY).decide(look).reason

    soon = replace(
        HOG,
        headroom_bytes=12 * GIB,
        seconds_left=10.0,
        sure_seconds_left=10.0,
        job_fill_bytes_s=1.2 * GIB,
        fill_bytes_s=1.2 * GIB,
    )
    assert words(soon) == "RAM is full in about 10 s at this rate (the job grows 1.2 GiB/s)"
    thrash = Forecast(0.0, rates=THRASH)
    assert words(thrash) == (
        "the machine is swapping in and out at once (38.0 MiB/s in, 61.0 MiB/s out); "
        "programs read back from disk what was just pushed out of RAM (5000 pages a second)"
    )
    stalls = Forecast(0.0, rates=Rates(2.0, stall_some_fraction=0.24))
    assert words(stalls) == "programs were stalled for memory 24 % of the last 2 s"
    gone = replace(AT_REST, headroom_bytes=-GIB // 4)
    assert words(gone) == "only 768.0 MiB of RAM is left, of 1.0 GiB kept for other programs"
    assert words(AT_REST) == "8.0 GiB can be used before the reserve is touched"
    limited = replace(soon, limit_path="/user.slice", job_fill_bytes_s=0.0)
    assert words(limited) == (
        "the memory this job is limited to is full in about 10 s at this rate (other programs grow 1.2 GiB/s)"
    )


def test_the_room_that_ends_first_counts_even_if_another_is_tighter_now() -> None:
    history = History()
    for tick in range(20):
        host = Memory(64 * GIB, 30 * GIB - tick * 200 * MIB, 0, 0)
        history.add(Sample(tick / 10, tick / 10, host, (Limit("/job", 26 * GIB, 2 * GIB),)))
    look = forecast(history, GIB)
    assert look.headroom_bytes == 23 * GIB
    assert look.limit_path is None
    assert look.seconds_left is not None
    assert 12 < look.seconds_left < 13


def test_a_hog_in_a_small_limit_is_seen_before_the_limit_is() -> None:
    """100 MiB/s in 400 MiB with a desktop of 100 MiB: 2.6 s to the reserve."""
    history, policy = History(), Policy.keeping(40 * MIB)
    needs = []
    for tick in range(46):
        used = (100 + max(tick - 20, 0) * 10) * MIB
        host = Memory(24 * GIB, 20 * GIB - used, 0, 0)
        history.add(Sample(tick / 10, tick / 10, host, (Limit("/job", 400 * MIB, used),)))
        needs.append(assess(forecast(history, policy.reserve_bytes), policy).level)
    assert max(needs[:21]) == Level.CALM
    assert needs.index(Level.ACT) <= 33, "a second or more before the reserve is touched"


def test_what_is_swapped_out_to_make_room_counts_as_used() -> None:
    history = History()
    for tick in range(30):
        paging = Paging(0, tick * 25_600, 0, 0)
        history.add(Sample(tick / 10, tick / 10, Memory(16 * GIB, 2 * GIB, 0, 0), (), Pressure(0, 0), paging))
    look = forecast(history, GIB)
    assert look.fill_bytes_s is not None
    assert round(look.fill_bytes_s / MIB) == 1000
    assert look.confidence >= Confidence.MEDIUM
