"""Several runs in one room: who is paused, who resumes, who is waited for."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memwatch.decide.history import HOST
from memwatch.decide.turns import (
    PAUSE_DELAY_S,
    RESUME_EFFECT_S,
    STUCK_S,
    WAIT_FOR_STRANGERS_S,
    YIELD_WITHIN_S,
    GuardedRun,
    RunState,
    Standing,
    Turn,
    take_turn,
)
from memwatch.model.units import GIB, MIB

NOW_S = 1000.0


def run(age: int, state: RunState = RunState.RUNNING, size_mib: int = 500, **more: object) -> GuardedRun:
    """`age` 1 is the oldest."""
    facts = GuardedRun(f"2026-{age}", "prepare.py", age, 100 + age, state, size_mib * MIB, size_mib * MIB)
    return replace(facts, **more)  # type: ignore[arg-type]


def growing(age: int, size_mib: int = 500, **more: Any) -> GuardedRun:
    return run(age, size_mib=size_mib, grew_s=NOW_S - 0.5, **more)


def room(headroom_mib: int, **more: float) -> Standing:
    return Standing(headroom_mib * MIB, 256 * MIB, 4 * GIB, **{"seconds_left": 30.0, **more})


def test_a_run_that_is_alone_is_free_to_do_anything() -> None:
    assert take_turn(growing(1), room(10), [], NOW_S) == Turn()


class TestYield:
    def test_a_younger_run_that_grows_beside_an_older_one_that_grows_is_paused_early(self) -> None:
        turn = take_turn(growing(2, 300), room(2000), [growing(1, 300)], NOW_S)
        assert turn.should_pause
        assert turn.reason == "run 2026-1 (prepare.py) started earlier and goes first"

    def test_the_older_one_goes_on(self) -> None:
        assert not take_turn(growing(1, 200), room(2000), [growing(2, 200)], NOW_S).should_pause

    def test_with_much_room_both_go_on(self) -> None:
        assert not take_turn(growing(2, 200), room(8000), [growing(1, 200)], NOW_S).should_pause

    @pytest.mark.parametrize(
        ("me", "older"),
        [
            pytest.param(run(2), growing(1), id="the-younger-does-not-grow"),
            pytest.param(growing(2), run(1), id="the-older-does-not-grow"),
            pytest.param(growing(2), growing(1, size_mib=30), id="the-older-is-only-starting"),
            pytest.param(growing(2), growing(1, state=RunState.PAUSED), id="the-older-is-paused"),
        ],
    )
    def test_nobody_yields_when(self, me: GuardedRun, older: GuardedRun) -> None:
        assert not take_turn(me, room(1000), [older], NOW_S).should_pause

    @pytest.mark.parametrize("seconds_left", [None, YIELD_WITHIN_S + 1])
    def test_nobody_yields_to_growth_that_is_slow_against_the_room(self, seconds_left: float | None) -> None:
        slow = replace(room(1000), seconds_left=seconds_left)
        assert not take_turn(growing(2), slow, [growing(1)], NOW_S).should_pause

    def test_runs_in_different_rooms_have_nothing_to_do_with_each_other(self) -> None:
        me = growing(2, room="/a", cgroups=("/a/job",))
        assert not take_turn(me, room(500), [growing(1, cgroups=("/ab",))], NOW_S).should_pause
        assert take_turn(me, room(500), [growing(1, cgroups=("/a",))], NOW_S).should_pause
        assert take_turn(me, room(500), [growing(1, cgroups=("/a/other",))], NOW_S).should_pause


class TestPauseLater:
    def test_an_older_run_waits_a_moment_for_a_younger_one_to_be_paused(self) -> None:
        turns = [
            take_turn(growing(1), room(10, pressed_for_s=pressed_s), [growing(2)], NOW_S).may_pause_later
            for pressed_s in (0.0, PAUSE_DELAY_S)
        ]
        assert turns == [True, False]

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(run(2, RunState.PAUSED), id="it-is-paused-already"),
            pytest.param(run(2, size_mib=20), id="it-is-small"),
            pytest.param(run(0), id="it-is-older"),
        ],
    )
    def test_it_does_not_wait_when(self, other: GuardedRun) -> None:
        assert not take_turn(growing(1), room(10, pressed_for_s=0.0), [other], NOW_S).may_pause_later


class TestResume:
    def test_the_oldest_paused_run_resumes_first(self) -> None:
        paused = [run(age, RunState.PAUSED) for age in (1, 2, 3)]
        may = [take_turn(me, room(3000), [r for r in paused if r != me], NOW_S).may_resume for me in paused]
        assert may == [True, False, False]

    def test_nobody_resumes_right_after_another(self) -> None:
        me = run(2, RunState.PAUSED)
        for since_s, may in ((1.0, False), (RESUME_EFFECT_S, True)):
            assert take_turn(me, room(3000), [run(1, resumed_s=NOW_S - since_s)], NOW_S).may_resume == may

    def test_a_run_that_its_user_holds_is_not_waited_for(self) -> None:
        turn = take_turn(run(2, RunState.PAUSED), room(3000), [run(1, RunState.HELD)], NOW_S)
        assert turn == Turn()

    def test_a_run_that_waits_for_room_elsewhere_is_not_waited_for(self) -> None:
        elsewhere = run(1, RunState.PAUSED, room="/small", cgroups=("/small",))
        assert take_turn(run(2, RunState.PAUSED), room(3000), [elsewhere], NOW_S).may_resume

    @pytest.mark.parametrize(
        ("grew_ago_s", "needed_mib"),
        [pytest.param(1, 4 * 1500, id="it-grows"), pytest.param(20, 500, id="it-has-grown-lately"),
         pytest.param(100, 125, id="it-has-settled")],
    )  # fmt: skip
    def test_beside_an_older_run_it_resumes_with_room_for_what_may_come(
        self, grew_ago_s: float, needed_mib: int
    ) -> None:
        older = run(1, size_mib=1000, grew_s=NOW_S - grew_ago_s)
        for headroom_mib, may in ((needed_mib - 1, False), (needed_mib + 1, True)):
            assert take_turn(run(2, RunState.PAUSED), room(headroom_mib), [older], NOW_S).may_resume == may

    def test_it_says_for_whom_it_waits_and_until_when(self) -> None:
        older = run(1, size_mib=2000, grew_s=NOW_S - 20)
        turn = take_turn(run(2, RunState.PAUSED), room(100), [older], NOW_S)
        assert turn.waits_for == older
        assert turn.reason == "run 2026-1 (prepare.py) goes first; this one resumes when it ends or 1.2 GiB are free"

    def test_it_does_not_speak_of_more_memory_than_there_is(self) -> None:
        turn = take_turn(run(2, RunState.PAUSED), room(100), [growing(1, 2000)], NOW_S)
        assert turn.reason == "run 2026-1 (prepare.py) goes first; this one resumes when it ends"


class TestDeadline:
    def test_it_does_not_count_while_another_run_makes_use_of_the_room(self) -> None:
        me = run(2, RunState.PAUSED)
        assert take_turn(me, room(10), [run(1)], NOW_S).waits_for is not None
        assert take_turn(me, room(10), [run(3)], NOW_S).waits_for is not None
        assert take_turn(me, room(10), [run(1, size_mib=20)], NOW_S).waits_for is None

    def test_it_counts_when_the_reserve_is_used_up(self) -> None:
        assert take_turn(run(2, RunState.PAUSED), room(-200), [run(1)], NOW_S).waits_for is None

    def test_of_equal_runs_that_are_all_paused_the_youngest_is_stopped(self) -> None:
        paused = [run(age, RunState.PAUSED) for age in (1, 2, 3)]
        for stuck_for_s, waited_for in (
            (STUCK_S - 1, [paused[1], paused[0], paused[0]]),
            (STUCK_S, [paused[2], paused[0], None]),
        ):
            stuck = room(0, stuck_for_s=stuck_for_s)
            turns = [take_turn(me, stuck, [r for r in paused if r != me], NOW_S) for me in paused]
            assert [turn.waits_for for turn in turns] == waited_for
            assert all(turn.is_stuck for turn in turns)

    def test_nobody_is_stuck_while_there_is_room_or_somebody_runs(self) -> None:
        me, other = run(1, RunState.PAUSED), run(2, RunState.PAUSED)
        assert not take_turn(me, room(100), [other], NOW_S).is_stuck
        assert not take_turn(me, room(0), [other, run(3)], NOW_S).is_stuck

    def test_a_hog_is_stopped_and_not_the_small_ones_that_made_way_for_it(self) -> None:
        hog, small, smaller = (
            run(1, RunState.PAUSED, 1400), run(2, RunState.PAUSED, 150), run(3, RunState.PAUSED, 100)
        )  # fmt: skip
        stuck = room(0, stuck_for_s=STUCK_S)
        assert take_turn(hog, stuck, [small, smaller], NOW_S).waits_for is None
        assert take_turn(small, stuck, [hog, smaller], NOW_S).waits_for == hog
        assert take_turn(smaller, stuck, [hog, small], NOW_S).waits_for == hog


@given(
    st.lists(st.tuples(st.sampled_from(RunState), st.integers(0, 1 << 62), st.booleans()), max_size=5),
    st.integers(-GIB, 20 * GIB),
)
def test_what_strangers_publish_keeps_nobody_paused_for_ever(
    published: list[tuple[RunState, int, bool]], headroom_bytes: int
) -> None:
    others = [
        run(age, state, peak_bytes=size, job_bytes=size, grew_s=NOW_S if grows else None, resumed_s=NOW_S,
            is_stranger=True)
        for age, (state, size, grows) in enumerate(published)
    ]  # fmt: skip
    waited = Standing(headroom_bytes, 256 * MIB, 4 * GIB, paused_for_s=WAIT_FOR_STRANGERS_S)
    assert take_turn(run(3, RunState.PAUSED), waited, others, NOW_S) == Turn()


# --- a room full of runs, each with a guard of its own that knows of the others only what they publish


STEP_S = 0.1
TICKS_PER_LOOK = 2


@dataclass
class Job:
    """Grows at a rate up to a size, works for a while, and ends."""

    age: int
    size_bytes: float
    rate_bytes_s: float
    works_s: float = 5.0
    starts_s: float = 0.0
    job_bytes: float = 0.0
    state: RunState = RunState.RUNNING
    end: str | None = None
    since_s: float = 0.0  # in this state
    grew_s: float | None = None
    grew_bytes: float = 0.0
    resumed_s: float | None = None
    pressed_s: float | None = None
    stuck_s: float | None = None
    published: GuardedRun | None = None
    published_s: float = float("-inf")
    pauses: int = 0

    @property
    def facts(self) -> GuardedRun:
        size = int(self.job_bytes)
        return GuardedRun(
            str(self.age), "job", self.age, self.age, self.state, size, size, self.grew_s, self.resumed_s, HOST
        )

    def is_growing(self, now_s: float) -> bool:
        runs = self.end is None and now_s >= self.starts_s and self.state == RunState.RUNNING
        return runs and self.job_bytes < self.size_bytes

    def advance(self, now_s: float, step_s: float) -> None:
        if self.end is not None or now_s < self.starts_s or self.state != RunState.RUNNING:
            return
        if self.job_bytes < self.size_bytes:
            self.job_bytes = min(self.job_bytes + self.rate_bytes_s * step_s, self.size_bytes)
            if self.job_bytes - self.grew_bytes >= 16 * MIB:
                self.grew_bytes, self.grew_s = self.job_bytes, now_s
        else:
            self.works_s -= step_s
            if self.works_s <= 0:
                self.end, self.job_bytes = "done", 0.0

    def publish(self, now_s: float) -> None:
        """Changes of state at once, sizes once a second."""
        is_alive = self.end is None and now_s >= self.starts_s
        changed = self.published is None or self.published.state != self.state
        if not is_alive or changed or now_s - self.published_s >= 1:
            self.published, self.published_s = (self.facts if is_alive else None), now_s


@dataclass
class SharedRoom:
    """The guards here are as simple as guards can be: they pause at the edge and stop at the deadline."""

    capacity_bytes: float
    jobs: list[Job]
    turns: bool = True
    reserve_bytes: float = 256 * MIB
    timeout_s: float = 60.0
    clock_s: float = 0.0
    least_headroom_bytes: float = field(default=float("inf"))

    @property
    def headroom_bytes(self) -> float:
        return self.capacity_bytes - self.reserve_bytes - sum(job.job_bytes for job in self.jobs)

    def until_all_end(self) -> "SharedRoom":
        while any(job.end is None for job in self.jobs):
            self.clock_s += STEP_S
            assert self.clock_s < 10_000, "somebody waits for ever"
            for number, job in enumerate(self.jobs):
                job.advance(self.clock_s, STEP_S)
                # Each guard looks at a time of its own.
                if (round(self.clock_s / STEP_S) + number) % TICKS_PER_LOOK == 0:
                    self._guard(job)
            self.least_headroom_bytes = min(self.least_headroom_bytes, self.headroom_bytes)
        return self

    def _guard(self, job: Job) -> None:
        if job.end is not None or self.clock_s < job.starts_s:
            job.publish(self.clock_s)
            return
        now_s = self.clock_s
        growing_now = sum(j.rate_bytes_s for j in self.jobs if j.state == RunState.RUNNING and j.end is None)
        is_pressed = self.headroom_bytes <= growing_now * 0.5
        job.pressed_s = (now_s if job.pressed_s is None else job.pressed_s) if is_pressed else None
        turn = self._turn(job, now_s)
        if job.state == RunState.RUNNING:
            at_the_edge = self.headroom_bytes <= 0
            still_grows = job.job_bytes < job.size_bytes
            if turn.should_pause or (is_pressed and still_grows and (at_the_edge or not turn.may_pause_later)):
                job.state, job.since_s = RunState.PAUSED, now_s
                job.pauses += 1
        elif turn.may_resume and self.headroom_bytes >= self.reserve_bytes / 4:
            job.state, job.since_s, job.resumed_s = RunState.RUNNING, now_s, now_s
        elif turn.waits_for is None and now_s - job.since_s >= self.timeout_s:
            job.end, job.job_bytes = "stopped", 0.0
        job.publish(now_s)

    def _turn(self, job: Job, now_s: float) -> Turn:
        if not self.turns:
            return Turn()
        others = [j.published for j in self.jobs if j is not job and j.published is not None]
        paces = [j.rate_bytes_s for j in self.jobs if j.is_growing(now_s)]
        standing = Standing(
            int(self.headroom_bytes),
            int(self.reserve_bytes),
            int(self.capacity_bytes),
            max(self.headroom_bytes, 0) / sum(paces) if paces else None,
            None if job.pressed_s is None else now_s - job.pressed_s,
            now_s - job.since_s if job.state == RunState.PAUSED else None,
            None if job.stuck_s is None else now_s - job.stuck_s,
        )
        turn = take_turn(job.facts, standing, others, now_s)
        job.stuck_s = (now_s if job.stuck_s is None else job.stuck_s) if turn.is_stuck else None
        return turn

    @property
    def ends(self) -> list[str | None]:
        return [job.end for job in self.jobs]


def three_jobs(rate_mib_s: float = 100, works_s: float = 20) -> list[Job]:
    return [Job(age, GIB, rate_mib_s * MIB, works_s, starts_s=age * 0.3) for age in (1, 2, 3)]


def test_without_turns_three_jobs_that_fit_one_after_another_are_stopped() -> None:
    """The model shows what the issue is about."""
    assert "stopped" in SharedRoom(2 * GIB, three_jobs(), turns=False).until_all_end().ends


@pytest.mark.parametrize("rate_mib_s", [10, 50, 100, 300])
@pytest.mark.parametrize("works_s", [0.5, 5, 100])
def test_three_jobs_of_1_gib_all_finish_in_2_gib(rate_mib_s: float, works_s: float) -> None:
    shared = SharedRoom(2 * GIB, three_jobs(rate_mib_s, works_s)).until_all_end()
    assert shared.ends == ["done"] * 3
    assert shared.least_headroom_bytes > -shared.reserve_bytes / 2
    assert shared.jobs[0].pauses <= 1, "the oldest goes first"


def test_jobs_that_fit_together_run_together() -> None:
    shared = SharedRoom(16 * GIB, three_jobs()).until_all_end()
    assert [job.pauses for job in shared.jobs] == [0, 0, 0]


@settings(max_examples=25, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(
        st.tuples(st.floats(0.1, 0.55), st.floats(10, 150), st.floats(0, 30), st.floats(0, 30)), min_size=2, max_size=5
    ),
    st.integers(2, 16),
)
def test_runs_that_fit_one_after_another_all_finish(
    drawn: list[tuple[float, float, float, float]], capacity_gib: int
) -> None:
    """Up to five, each of up to 55 % of the room; with larger ones what the paused ones hold can be missing."""
    capacity = capacity_gib * GIB
    jobs = [
        Job(age, share * capacity, rate * MIB * capacity_gib / 2, works_s, starts_s)
        for age, (share, rate, works_s, starts_s) in enumerate(sorted(drawn, key=lambda job: job[3]), start=1)
    ]
    shared = SharedRoom(capacity, jobs).until_all_end()
    assert shared.ends == ["done"] * len(jobs)


def test_a_hog_that_never_fits_is_stopped_alone() -> None:
    hog = Job(2, 8 * GIB, 100 * MIB, starts_s=0.5)
    jobs = [Job(1, 500 * MIB, 50 * MIB), hog, Job(3, 500 * MIB, 50 * MIB, starts_s=0.7)]
    shared = SharedRoom(2 * GIB, jobs).until_all_end()
    assert shared.ends == ["done", "stopped", "done"]
