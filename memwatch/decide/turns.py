"""Turns: several runs in one room (the machine, or a cgroup with a memory limit) take turns instead of dying together.

Each run has a guard of its own, and all guards see the same memory run out. Alone, each would pause its job at the same
moment, resume it at the same moment, and stop it at the same deadline, although one after another the jobs fit. So each
guard publishes a `GuardedRun` (guard/registry.py) and `take_turn` decides what the others mean for its own job:

    yield early    A paused job keeps what it has taken. So a younger run that grows beside an older one that grows is
                   paused while both are still small against the room that is left, if that would be full within
                   minutes; the older one goes first.
    pause later    At the edge an older run waits a moment for a younger one to be paused.
    resume         One at a time, the oldest first, and then nobody for a few seconds: the effect must be seen. Beside
                   an older run that runs only if there is room for what that one may still take.
    no stop        While another run makes use of the room, the deadline of a pause does not count. If all are paused
                   and none can go on, one of them is stopped for the others: the youngest of the large ones.

Nothing here is a promise of the others: another user can publish what he likes. So strangers are waited for only for a
while, and the edge of the room (the ladder's business) counts more than any turn.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from memwatch.decide.history import HOST
from memwatch.model.units import MIB, format_size

# Growth says nothing of how far it goes: what has taken x may take several x more. With 4, of three jobs in a room of
# 2 GiB the younger two are paused at about 120 and 170 MiB, and of three jobs of 1 GiB in 16 GiB none (test_turns.py).
ROOM_PER_GROWTH = 4
# Nobody yields to growth that takes longer than this to fill the room: a job that makes way may have to wait as long.
YIELD_WITHIN_S = 300.0
GROWING_S = 10.0  # a run that has grown within this time grows: 2 MiB/s are seen, published once a second
SETTLED_S = 30.0  # one that has not grown for so long probably has what it needs
UNSETTLED_SHARE = 1 / 2  # of its size may still come: the last step of a job, a copy of its result
SETTLED_SHARE = 1 / 8
RESUME_EFFECT_S = 5.0  # until what a resumed job takes is seen by the others
PAUSE_DELAY_S = 1.5  # that a younger run has to be paused in
SMALL_RUN_BYTES = 64 * MIB  # nobody waits for a run that holds less
WORTH_SHARE = 1 / 8  # of what this run holds: for less it is not worth to wait
LARGE_SHARE = 1 / 2  # of the largest: to stop a smaller one would not help
STUCK_S = 20.0  # that all are paused and none can go on, before one of them is stopped for the others
WAIT_FOR_STRANGERS_S = 300.0


class RunState(StrEnum):
    """HELD: paused by its user, so nobody knows when it resumes. PAUSED: by its guard, and wants to resume."""

    RUNNING = "running"
    PAUSED = "paused"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class GuardedRun:
    """What a run publishes of itself. Times are on the machine's monotonic clock, which all guards share."""

    run_id: str  # empty: it keeps no journal
    command: str  # the program's name alone
    start_ticks: int  # of its guard, since boot; with the pid it says which run is older
    pid: int
    state: RunState
    job_bytes: int
    peak_bytes: int  # the most it has held so far; it may want that again
    grew_s: float | None = None  # when the job last held more than ever before; a sawtooth does not grow
    resumed_s: float | None = None
    room: str = HOST  # the room that has least left for it
    cgroups: tuple[str, ...] = ()  # that the job is in
    is_stranger: bool = False  # of another user, who is not root

    def is_older_than(self, other: "GuardedRun") -> bool:
        return (self.start_ticks, self.pid) < (other.start_ticks, other.pid)

    def grew_within(self, seconds: float, now_s: float) -> bool:
        return self.grew_s is not None and now_s - self.grew_s <= seconds

    def is_in(self, room: str) -> bool:
        below = room.rstrip("/") + "/"
        return room == HOST or any(path == room or path.startswith(below) for path in self.cgroups)

    def __str__(self) -> str:
        return f"run {self.run_id or self.pid} ({self.command})"


@dataclass(frozen=True, slots=True)
class Standing:
    """How this run stands in its room: what the others cannot know."""

    headroom_bytes: int | None = None
    reserve_bytes: int = 0
    capacity_bytes: int | None = None
    seconds_left: float | None = None  # until headroom ends, at the pace of all that grows
    pressed_for_s: float | None = None  # how long a pause has been called for; None: it is not
    paused_for_s: float | None = None
    stuck_for_s: float | None = None  # how long `Turn.is_stuck` has been true; None: it is not


@dataclass(frozen=True, slots=True)
class Turn:
    """What the other runs mean for this one. `Turn()` is that of a run that is alone.

    `should_pause`     to let an older run go first, although there is no danger yet
    `may_pause_later`  a younger run is about to be paused; not at the edge
    `may_resume`       as far as the others are concerned
    `waits_for`        while this is set, the deadline of a pause neither stops nor resumes the job
    `resume_bytes`     headroom at which it resumes beside the run that it waits for; None: when that one ends
    `is_stuck`         all runs in the room are paused and there is no room to resume in
    `reason`           for people, complete: "run 20261116-1421 (prepare.py) goes first; ..."
    """

    should_pause: bool = False
    may_pause_later: bool = False
    may_resume: bool = True
    waits_for: GuardedRun | None = None
    resume_bytes: int | None = None
    is_stuck: bool = False
    reason: str = ""


ALONE = Turn()


def take_turn(me: GuardedRun, standing: Standing, others: Iterable[GuardedRun], now_s: float) -> Turn:
    """A pure function: the guard calls it with what it has read of the others."""
    patient = (standing.paused_for_s or 0.0) < WAIT_FOR_STRANGERS_S
    rivals = sorted(
        (other for other in others if other.is_in(me.room) and (patient or not other.is_stranger)),
        key=lambda run: (run.start_ticks, run.pid),
    )
    if me.state == RunState.RUNNING:
        return _turn_to_run(me, standing, rivals, now_s)
    if me.state == RunState.PAUSED:
        return _turn_to_resume(me, standing, rivals, now_s)
    return ALONE


def _turn_to_run(me: GuardedRun, standing: Standing, rivals: list[GuardedRun], now_s: float) -> Turn:
    first = [run for run in rivals if run.is_older_than(me) and _grows(run, now_s)]
    both_grow = bool(first) and me.grew_within(GROWING_S, now_s)
    if both_grow and _is_full_soon(standing) and _lacks(standing, _room_to_grow_bytes(me, first)):
        return Turn(should_pause=True, waits_for=first[0], reason=f"{first[0]} started earlier and goes first")
    is_pressed_briefly = standing.pressed_for_s is not None and standing.pressed_for_s < PAUSE_DELAY_S
    younger = [run for run in rivals if me.is_older_than(run) and run.state == RunState.RUNNING]
    if is_pressed_briefly and any(_is_worth_it(run, me) for run in younger):
        return Turn(may_pause_later=True)
    return ALONE


def _turn_to_resume(me: GuardedRun, standing: Standing, rivals: list[GuardedRun], now_s: float) -> Turn:
    running = [run for run in rivals if run.state == RunState.RUNNING and run.job_bytes >= SMALL_RUN_BYTES]
    # One that is short of another room than this run waits for something else.
    paused = [run for run in rivals if run.state == RunState.PAUSED and run.room == me.room]
    first = [run for run in running if run.is_older_than(me)]
    needed_bytes = _room_beside_bytes(me, first, now_s)
    in_the_way = [run for run in rivals if _has_just_resumed(run, now_s)]
    if _lacks(standing, needed_bytes):
        in_the_way += first
    in_the_way += [run for run in paused if run.is_older_than(me)]
    waits_for = _waits_for(me, standing, running, paused, in_the_way)
    in_reach = needed_bytes if first and _is_in_reach(needed_bytes, standing) else None
    return Turn(
        may_resume=not in_the_way,
        waits_for=waits_for,
        resume_bytes=in_reach,
        is_stuck=bool(paused) and not running and _lacks(standing, standing.reserve_bytes // 4),
        reason="" if waits_for is None else _waiting(waits_for, in_reach, standing),
    )


def _waits_for(
    me: GuardedRun,
    standing: Standing,
    running: list[GuardedRun],
    paused: list[GuardedRun],
    in_the_way: list[GuardedRun],
) -> GuardedRun | None:
    """All lists have the oldest run first. A run that waits for another one is not stopped meanwhile."""
    if standing.headroom_bytes is not None and standing.headroom_bytes <= -(standing.reserve_bytes // 2):
        return None  # What this run holds is needed now.
    if using := [run for run in running if _is_worth_it(run, me)]:
        return using[0]
    if paused and (standing.stuck_for_s or 0.0) >= STUCK_S:
        to_end = _to_be_stopped([*paused, me])
        if to_end == me:
            return None
        return in_the_way[0] if in_the_way else to_end
    return next(iter(in_the_way or paused), None)


def _to_be_stopped(paused: list[GuardedRun]) -> GuardedRun:
    """Of runs that are all paused, the one that makes room for the others: the youngest of the large ones.

    A small one would lose its work for nothing; and a hog that has filled the room itself is the only large one.
    """
    largest_bytes = max(run.job_bytes for run in paused)
    large = [run for run in paused if run.job_bytes >= largest_bytes * LARGE_SHARE]
    return max(large, key=lambda run: (run.start_ticks, run.pid))


def _room_beside_bytes(me: GuardedRun, first: list[GuardedRun], now_s: float) -> int:
    """Headroom that must be there before this run resumes beside older ones that run."""
    if growing := [run for run in first if _grows(run, now_s)]:
        return _room_to_grow_bytes(me, growing)
    return sum(run.peak_bytes - run.job_bytes + int(run.peak_bytes * _share_to_come(run, now_s)) for run in first)


def _share_to_come(run: GuardedRun, now_s: float) -> float:
    return UNSETTLED_SHARE if run.grew_within(SETTLED_S, now_s) else SETTLED_SHARE


def _room_to_grow_bytes(me: GuardedRun, growing: list[GuardedRun]) -> int:
    return ROOM_PER_GROWTH * (me.job_bytes + sum(run.job_bytes for run in growing))


def _is_full_soon(standing: Standing) -> bool:
    return standing.seconds_left is not None and standing.seconds_left <= YIELD_WITHIN_S


def _lacks(standing: Standing, headroom_bytes: int) -> bool:
    return standing.headroom_bytes is not None and standing.headroom_bytes < headroom_bytes


def _is_in_reach(headroom_bytes: int, standing: Standing) -> bool:
    return standing.capacity_bytes is not None and headroom_bytes < standing.capacity_bytes - standing.reserve_bytes


def _grows(run: GuardedRun, now_s: float) -> bool:
    """Every program grows while it starts; what is small then is nothing to make way for."""
    is_large = run.job_bytes >= SMALL_RUN_BYTES
    return is_large and run.state == RunState.RUNNING and run.grew_within(GROWING_S, now_s)


def _has_just_resumed(run: GuardedRun, now_s: float) -> bool:
    return run.state == RunState.RUNNING and run.resumed_s is not None and now_s - run.resumed_s < RESUME_EFFECT_S


def _is_worth_it(run: GuardedRun, me: GuardedRun) -> bool:
    return run.job_bytes >= max(SMALL_RUN_BYTES, me.job_bytes * WORTH_SHARE)


def _waiting(run: GuardedRun, resume_bytes: int | None, standing: Standing) -> str:
    if run.state == RunState.PAUSED:
        return f"{run} is paused as well; this one resumes when there is room and it is its turn"
    or_free = "" if resume_bytes is None else f" or {format_size(resume_bytes + standing.reserve_bytes)} are free"
    return f"{run} goes first; this one resumes when it ends{or_free}"


def turn_facts(turn: Turn) -> dict[str, object]:
    """For a verdict event: the run that this one waits for, and what to say about it; empty if there is none."""
    if turn.waits_for is None:
        return {}
    other = turn.waits_for
    return {"waits_for": {"run": other.run_id, "command": other.command, "pid": other.pid, "reason": turn.reason}}
