"""Actions: what the guard, or the user, can do to the job, and what has been done so far."""

from dataclasses import dataclass, replace
from enum import StrEnum

from memwatch.core.assess import Level

NEVER = float("-inf")


class Wish(StrEnum):
    """--on-pressure: how far the guard may go. `shard` and `pause` end in a stop, at the deadline of the pause."""

    WARN = "warn"
    SHARD = "shard"
    PAUSE = "pause"
    STOP = "stop"


class Step(StrEnum):
    WARN = "warn"
    SHARD = "shard"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    KILL = "kill"


# What was done, for people.
IN_WORDS = {
    Step.SHARD: "asked the job to switch to shards",
    Step.PAUSE: "paused the job",
    Step.RESUME: "resumed the job",
    Step.STOP: "told the job to end",
    Step.KILL: "killed the job",
}
DESTRUCTIVE = frozenset({Step.STOP, Step.KILL})


class By(StrEnum):
    GUARD = "guard"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Action:
    """What to do now. A pause has a deadline and says what comes then."""

    step: Step
    reason: str
    deadline_s: float | None = None  # on the clock of the samples
    next_step: Step | None = None


@dataclass(frozen=True, slots=True)
class LadderSettings:
    """How far the guard may go, and how long it waits.

    `shard_s`        at this distance a job that can shard is asked to, while there is still time to do it in
    `shard_wait_s`   for the effect of a shard: the tokenizer flushes 1 GiB in less
    `hold_s`         the pause before a stop that was wished for
    `thrash_wait_s`  a paused job stops faulting at once; if pages still go to and fro then, only a stop helps
    `term_wait_s`    to finish a block and a checkpoint after TERM
    `growing_wait_s` a job that still grows this long after TERM is not on its way out
    `last_wait_s`    after TERM even a job that harms nobody is ended
    """

    wish: Wish
    can_shard: bool = False
    pause_timeout_s: float = 60.0
    shard_s: float = 6.0
    shard_wait_s: float = 3.0
    hold_s: float = 3.0
    thrash_wait_s: float = 10.0
    term_wait_s: float = 10.0
    growing_wait_s: float = 1.5
    last_wait_s: float = 60.0
    resume_s: float = 12.0
    user_grace_s: float = 30.0
    repeat_s: float = 600.0  # pauses farther apart than this have nothing to do with each other

    @property
    def deadline_after_s(self) -> float:
        return self.hold_s if self.wish == Wish.STOP else self.pause_timeout_s


@dataclass(frozen=True, slots=True)
class ActionState:
    """What was done so far, and when; and, as `now_*`, what the last look showed."""

    warned: Level = Level.CALM
    sharded_s: float | None = None
    paused_s: float | None = None
    paused_by: By | None = None
    deadline_s: float | None = None
    fill_bytes_s: float = 0.0  # the job's, when it was paused
    pauses: int = 0
    resumed_s: float = NEVER
    user_resumed_s: float = NEVER
    stopped_s: float | None = None
    stopped_by: By | None = None
    killed_s: float | None = None
    proven_s: float | None = None  # since when two signals have called for action
    now_level: Level = Level.CALM
    now_fill_bytes_s: float = 0.0


def after(state: ActionState, step: Step, clock_s: float, by: By, settings: LadderSettings) -> ActionState:
    """The state once `step` was carried out. Whatever the guard does tells as much as a warning."""
    if by == By.GUARD:
        state = replace(state, warned=state.now_level)
    if step == Step.WARN:
        return state
    if step == Step.SHARD:
        return replace(state, sharded_s=clock_s)
    if step == Step.PAUSE:
        return _after_pause(state, clock_s, by, settings)
    if step == Step.KILL:
        return replace(state, killed_s=clock_s)
    # A stopped process does not hear TERM: whoever stops a paused job lets it run on to its end.
    state = replace(state, paused_s=None, paused_by=None, deadline_s=None, fill_bytes_s=0.0)
    if step == Step.STOP:
        return replace(state, stopped_s=clock_s, stopped_by=by)
    # The time it has to shard in begins anew; while it was paused it could not.
    sharded_s = None if state.sharded_s is None else clock_s
    user_resumed_s = clock_s if by == By.USER else state.user_resumed_s
    return replace(state, resumed_s=clock_s, user_resumed_s=user_resumed_s, sharded_s=sharded_s)


def _after_pause(state: ActionState, clock_s: float, by: By, settings: LadderSettings) -> ActionState:
    repeated = clock_s - state.resumed_s < settings.repeat_s
    return replace(
        state,
        paused_s=clock_s,
        paused_by=by,
        deadline_s=clock_s + settings.deadline_after_s if by == By.GUARD else None,
        fill_bytes_s=state.now_fill_bytes_s,
        pauses=state.pauses + 1 if repeated else 1,
    )
