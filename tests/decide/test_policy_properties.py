"""What holds for every history, not only for those we thought of."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.fill_windows import ForecastConfidence
from memwatch.decide.forecast import Forecast, Rates, forecast, next_interval_s
from memwatch.decide.history import POINTS, History
from memwatch.decide.ladder import interval_s
from memwatch.decide.thresholds import USUAL, Level, assess
from memwatch.decide.verdict import Decider, Verdict
from memwatch.model.sample import Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB
from tests.decide.machine import Climber

TOTAL = 16 * GIB
RESERVE = GIB
DWELL_S = USUAL.dwell_s


def reserve_of(capacity_bytes: int) -> int:
    return RESERVE


# Many short ones: the whole folder is to run in half a minute, also where two cores are busy.
quick = settings(deadline=None, max_examples=40)

sizes = st.integers(0, TOTAL)
counts = st.integers(0, 10**9)
maybe_rates = st.none() | st.floats(0, 1e10)
fractions = st.none() | st.floats(0, 1)

memories = st.builds(Memory, st.just(TOTAL), sizes, sizes, sizes, st.none() | sizes)
limits = st.builds(Limit, st.sampled_from(["/a", "/a/b"]), st.just(8 * GIB), st.integers(0, 8 * GIB), st.none() | sizes)
pressures = st.builds(Pressure, counts, counts, st.none() | counts, st.none() | counts)
pagings = st.builds(Paging, counts, counts, counts, st.none() | counts)
processes = st.builds(lambda rss, swap: Process(7, 7, 1, "R", rss, swap, 0.0, None, None, "x"), sizes, sizes)


@st.composite
def samples(draw: st.DrawFn) -> list[Sample]:
    """Anything, with anything unknown."""
    clock_s, found = 0.0, []
    for _ in range(draw(st.integers(1, 15))):
        clock_s += draw(st.sampled_from([0.0, 0.1, 0.1, 0.25, 1.0, 5.0, 40.0]))
        found.append(
            Sample(
                clock_s,
                clock_s,
                draw(st.none() | memories),
                tuple(draw(st.lists(limits, max_size=2, unique_by=lambda limit: limit.path))),
                draw(st.none() | pressures),
                draw(st.none() | pagings),
                tuple(draw(st.lists(processes, max_size=2))),
            )
        )
    return found


@st.composite
def walks(draw: st.DrawFn) -> list[Sample]:
    """Available memory that falls and rises in stretches, as real programs make it do."""
    clock_s, available, found = 0.0, draw(sizes), []
    for _ in range(draw(st.integers(1, 8))):
        interval_s = draw(st.sampled_from([0.1, 0.3, 1.0]))
        rate = draw(st.sampled_from([0, 0, 100, 1000, 3000, -1000])) * MIB
        stalled_us = draw(st.sampled_from([0, 0, 300_000]))
        for _ in range(draw(st.integers(1, 25))):
            clock_s += interval_s
            available = min(max(available - int(rate * interval_s), 0), 12 * GIB)
            found.append(_sample(clock_s, available, stalled_us=int(stalled_us * clock_s)))
    return found


forecasts = st.builds(
    Forecast,
    clock_s=st.just(0.0),
    headroom_bytes=st.none() | st.integers(-4 * GIB, 60 * GIB),
    capacity_bytes=st.none() | sizes,
    reserve_bytes=st.just(RESERVE),
    limit_path=st.none() | st.just("/a"),
    fill_bytes_s=maybe_rates,
    job_fill_bytes_s=maybe_rates,
    seconds_left=st.none() | st.floats(0, 1e6),
    sure_seconds_left=st.none() | st.floats(0, 1e6),
    certain_seconds_left=st.none() | st.floats(0, 1e6),
    confidence=st.sampled_from(ForecastConfidence),
    job_bytes=st.none() | sizes,
    rates=st.builds(
        Rates, st.none() | st.just(2.0), maybe_rates, maybe_rates, fractions, fractions, maybe_rates, maybe_rates
    ),
)


@st.composite
def looks(draw: st.DrawFn) -> list[Forecast]:
    """A few forecasts, each lasting for a while."""
    interval_s = draw(st.sampled_from([0.1, 0.5, 1.0, 3.0]))
    found: list[Forecast] = []
    for look in draw(st.lists(forecasts, min_size=1, max_size=8)):
        for _ in range(draw(st.sampled_from([1, 2, 10, 30, 70]))):
            found.append(replace(look, clock_s=len(found) * interval_s))
    return found


def _sample(clock_s: float, available: int, stalled_us: int = 0, swap_free: int = 0, job: int = GIB) -> Sample:
    process = Process(7, 7, 1, "R", job, 0, 0.0, None, None, "x")
    memory = Memory(TOTAL, available, 8 * GIB, swap_free)
    return Sample(clock_s, clock_s, memory, (), Pressure(stalled_us, 0), Paging(0, 0, 0, 0), (process,))


def verdicts_of(history: list[Sample]) -> list[Verdict]:
    kept, decider, found = History(), Decider(), []
    for sample in history:
        kept.add(sample)
        found.append(decider.decide(forecast(kept, reserve_of)))
    return found


def raised(sample: Sample, more: int) -> Sample:
    memory = sample.memory and replace(sample.memory, available_bytes=sample.memory.available_bytes + more)
    limits = tuple(replace(limit, limit_bytes=limit.limit_bytes + more) for limit in sample.limits)
    return replace(sample, memory=memory, limits=limits)


def falls(verdicts: list[Verdict], history: list[Sample]) -> list[float]:
    steps = pairwise(zip(verdicts, history, strict=True))
    return [now.clock_s for (before, _), (after, now) in steps if after.level < before.level]


@quick
@given(walks() | samples(), st.integers(0, 20 * GIB))
def test_more_headroom_never_calls_for_more(history: list[Sample], more: int) -> None:
    poor, rich = History(), History()
    for sample in history:
        poor.add(sample)
        rich.add(raised(sample, more))
        needs = [assess(forecast(kept, reserve_of), USUAL) for kept in (rich, poor)]
        assert needs[0].level <= needs[1].level


@quick
@given(walks() | samples(), st.integers(0, 20 * GIB))
def test_more_headroom_never_worsens_a_verdict(history: list[Sample], more: int) -> None:
    """Except in the ten seconds after one of the two has left a level, when it may be held back at another."""
    poor, rich = verdicts_of(history), verdicts_of([raised(sample, more) for sample in history])
    fell_s = falls(poor, history) + falls(rich, history)
    for sample, worse, better in zip(history, poor, rich, strict=True):
        if not any(0 <= sample.clock_s - then_s < DWELL_S for then_s in fell_s):
            assert better.level <= worse.level


# Random forecasts are nearly all urgent; these are one of each level that is not.
CALM = Forecast(0.0, headroom_bytes=12 * GIB, capacity_bytes=TOTAL)
WATCH = replace(
    CALM, headroom_bytes=3 * GIB, fill_bytes_s=75 * MIB, seconds_left=40.0, confidence=ForecastConfidence.MEDIUM
)
WARN = replace(
    CALM, headroom_bytes=3 * GIB, fill_bytes_s=300 * MIB, seconds_left=10.0, confidence=ForecastConfidence.MEDIUM
)
STALLED = replace(CALM, rates=Rates(2.0, stall_some_fraction=0.3))
plain = st.sampled_from([CALM, WATCH, WARN, STALLED])


@quick
@given(plain | forecasts, plain | forecasts, st.floats(0.2, 60), st.sampled_from([0.1, 0.25, 1.0]))
@example(WARN, CALM, 24.0, 1.0)
@example(WATCH, CALM, 30.0, 0.25)
def test_an_oscillating_signal_changes_level_at_most_once_in_ten_seconds(
    one: Forecast, other: Forecast, period_s: float, interval_s: float
) -> None:
    """Except towards a danger that is urgent."""
    decider, level, changes = Decider(), None, []
    for tick in range(int(90 / interval_s)):
        now_s = tick * interval_s
        seen = replace(one if now_s % period_s < period_s / 2 else other, clock_s=now_s)
        verdict = decider.decide(seen)
        if level is not None and verdict.level != level:
            urgent = verdict.level > level and is_urgent(seen)
            changes.append((now_s, urgent))
        level = verdict.level
    for (earlier_s, _), (later_s, urgent) in pairwise(changes):
        assert urgent or later_s - earlier_s >= DWELL_S - 1e-6


def is_urgent(seen: Forecast) -> bool:
    soon = seen.is_credible and (seen.seconds_left or 0) <= USUAL.urgent_s
    gone = seen.headroom_bytes is not None and seen.headroom_bytes <= 0
    return soon or gone or assess(seen, USUAL).level == Level.ACT


@quick
@given(looks())
def test_escalation_to_act_is_never_delayed(seen: list[Forecast]) -> None:
    decider = Decider()
    for look in seen:
        verdict = decider.decide(look)
        assert verdict.level == Level.ACT or verdict.need.level < Level.ACT


@quick
@given(looks())
def test_a_level_is_not_left_before_it_was_unneeded_for_ten_seconds(seen: list[Forecast]) -> None:
    decider, last_needed_s, level = Decider(), dict.fromkeys(Level, -1e9), Level.CALM
    for look in seen:
        now_s = look.clock_s
        verdict = decider.decide(look)
        if verdict.level < level:
            assert now_s - last_needed_s[level] >= DWELL_S - 1e-6
        for needed in Level:
            if needed <= verdict.need.level:
                last_needed_s[needed] = now_s
        level = verdict.level


@quick
@given(st.lists(st.integers(0, 8 * GIB), min_size=2, max_size=60), st.integers(4 * GIB, 12 * GIB))
def test_page_cache_growth_alone_never_warns(cache: list[int], available: int) -> None:
    """It fills a limit's usage file and the host's free memory, and leaves what is available as it was."""
    limit = Limit("/job", 10 * GIB, 10 * GIB - available // 2)
    growing = [_sample(i * 0.5, available, job=GIB + mapped) for i, mapped in enumerate(sorted(cache))]
    history = [replace(sample, limits=(limit,)) for sample in growing]
    assert max(verdict.level for verdict in verdicts_of(history)) < Level.WARN


@quick
@given(walks(), sizes)
def test_free_swap_never_silences_a_warning(history: list[Sample], swap: int) -> None:
    def with_swap(sample: Sample) -> Sample:
        assert sample.memory is not None
        return replace(sample, memory=replace(sample.memory, swap_total_bytes=swap, swap_free_bytes=swap))

    without = [verdict.level for verdict in verdicts_of(history)]
    assert [verdict.level for verdict in verdicts_of([with_swap(sample) for sample in history])] == without


@quick
@given(samples(), st.sampled_from(OnPressure), st.booleans())
def test_nothing_unknown_crashes_anything(history: list[Sample], on_pressure: OnPressure, can_shard: bool) -> None:
    kept, decider, ladder = History(), Decider(), Climber(LadderSettings(on_pressure, can_shard))
    assert forecast(kept, reserve_of).seconds_left is None
    for sample in history:
        kept.add(sample)
        look = forecast(kept, reserve_of)
        verdict = decider.decide(look)
        ladder.step(verdict, look)
        assert 0.05 <= next_interval_s(look) <= 1.0
        assert 0.02 <= interval_s(ladder.state, ladder.settings, look, next_interval_s(look)) <= 1.0
        assert verdict.reason
        assert look.seconds_left is None or look.seconds_left >= 0


@quick
@given(st.floats(0.001, 0.3))
def test_history_stays_small(interval_s: float) -> None:
    kept = History()
    for tick in range(1000):
        kept.add(_sample(tick * interval_s, GIB))
        assert len(kept) <= POINTS


@quick
@given(looks(), st.sampled_from(OnPressure), st.booleans())
def test_the_ladder_keeps_its_promises(seen: list[Forecast], on_pressure: OnPressure, can_shard: bool) -> None:
    """Destructive steps once and apart, every pause ended by its deadline, no step beyond what was asked for."""
    rules = LadderSettings(on_pressure, can_shard, pause_timeout_s=20)
    decider, ladder, done = Decider(), Climber(rules), []
    for look in seen:
        now_s = look.clock_s
        action = ladder.step(decider.decide(look), look)
        if action is not None:
            done.append((now_s, action.step))
        if action is not None and action.step == Step.PAUSE:
            assert (action.deadline_s or 0) <= now_s + 20
            assert action.next_step in (Step.RESUME, Step.STOP)
        paused_s, since_s = ladder.state.paused_s, ladder.state.short_since_s
        if paused_s is not None and paused_s < now_s:
            limit_s = rules.thrash_wait_s if since_s is None else max(since_s + 20, paused_s)
            assert now_s < paused_s + limit_s, "paused past the deadline"
    steps = [step for _, step in done]
    assert steps.count(Step.STOP) <= 1
    assert steps.count(Step.KILL) <= 1
    if Step.KILL in steps:
        when = {step: then_s for then_s, step in done}
        assert when[Step.KILL] - when[Step.STOP] >= rules.growing_wait_s
    if on_pressure == OnPressure.WARN:
        assert set(steps) <= {Step.WARN}
    if not can_shard or on_pressure != OnPressure.AUTO:
        assert Step.SHARD not in steps


@quick
@given(looks(), st.sampled_from(OnPressure))
def test_a_job_that_does_not_grow_is_never_stopped(seen: list[Forecast], on_pressure: OnPressure) -> None:
    """Whatever other programs do, and whatever the machine suffers; it may be paused, for seconds, if it faults."""
    decider, ladder, paused_s = Decider(), Climber(LadderSettings(on_pressure)), 0.0
    for look in seen:
        still = replace(look, job_fill_bytes_s=0.0, job_bytes=2 * GIB)
        action = ladder.step(decider.decide(still), still)
        if action is not None:
            assert action.step in (Step.WARN, Step.PAUSE, Step.RESUME)
            assert action.step != Step.PAUSE or not action.is_blamed
        if action is not None and action.step == Step.PAUSE:
            paused_s = look.clock_s
        elif ladder.state.paused_s is not None:
            assert look.clock_s - paused_s < 10 + 3, "a sample later at the most"


@quick
@given(looks(), st.sampled_from(OnPressure))
def test_a_users_pause_is_neither_resumed_nor_stopped_by_the_guard(
    seen: list[Forecast], on_pressure: OnPressure
) -> None:
    decider, ladder = Decider(), Climber(LadderSettings(on_pressure))
    ladder.done(Action(Step.PAUSE, "asked for"), 0.0, By.USER)
    for look in seen:
        action = ladder.step(decider.decide(look), look)
        assert action is None or action.step == Step.WARN
