"""Actions: what the guard, or the user, can do to the job, and how far the guard may go."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memwatch.decide.thresholds import HELD, USUAL, Thresholds


class OnPressure(StrEnum):
    """--on-pressure: how far the guard may go. `auto` shards a job that can, confines it where the machine can, and
    pauses it otherwise; `auto` and `pause` end in a stop, at the deadline of the pause."""

    AUTO = "auto"
    WARN = "warn"
    PAUSE = "pause"
    STOP = "stop"


def thresholds_for(on_pressure: OnPressure) -> Thresholds:
    """Where the guard only warns, the warning is all that a user gets, and comes earlier."""
    return USUAL if on_pressure == OnPressure.WARN else HELD


class Step(StrEnum):
    """What can be done to a job, in the words of the journal."""

    WARN = "warn"
    SHARD = "shard"
    CONFINE = "confine"
    RELEASE = "release"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    KILL = "kill"


# What was done, for people.
IN_WORDS = {
    Step.SHARD: "switched the job to shards",
    Step.CONFINE: "confined the job to the memory it has",
    Step.RELEASE: "no longer confined the job",
    Step.PAUSE: "paused the job",
    Step.RESUME: "resumed the job",
    Step.STOP: "stopped the job (SIGTERM)",
    Step.KILL: "killed the job (SIGKILL)",
}


def was_carried_out(event: Mapping[str, object]) -> bool:
    """Whether an action event records something that happened, to some of the job's processes at least."""
    return event.get("result") in (None, "done") or bool(event.get("pids"))


def outcome(event: Mapping[str, object]) -> str:
    """An action event in words: 'paused the job', and what of it could not be done. The action must be in IN_WORDS."""
    step, result = Step(str(event["action"])), event.get("result")
    if result in (None, "done"):
        return IN_WORDS[step]
    return f"{IN_WORDS[step]}, but {result}" if was_carried_out(event) else f"{step}: {result}"


class By(StrEnum):
    """Who does it, in the words of the journal."""

    GUARD = "guard"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Action:
    """What to do now. A pause has a deadline and says what comes then.

    `is_brief`   for a moment only: a pause that is over in tenths of a second, a try in the middle of a long one
    `is_blamed`  a pause: it is the job's own growth that led to it
    `is_short`   a pause at the end of the job's room
    `gives_way`  a pause that lets another run go first; it has no deadline
    `clears_job` a resume: the pause has shown that others do not suffer because of the job
    """

    step: Step
    reason: str
    deadline_s: float | None = None  # on the clock of the samples
    next_step: Step | None = None
    is_brief: bool = False
    is_blamed: bool = False
    is_short: bool = False
    gives_way: bool = False
    clears_job: bool = False


@dataclass(frozen=True, slots=True)
class LadderSettings:
    """How far the guard may go, and how long it waits.

    `shard_s`        at this distance a job that can shard is switched, while there is still time for it
    `shard_wait_s`   for the effect of a shard: the tokenizer flushes 1 GiB in less
    `ahead_s`        at this distance a growing job is held for the first time
    `hold_s`         how long a brief pause lasts: a sample of the job at rest
    `try_factor`     a job at the end of its room is tried again after hold_s, and then after so many times as long
    `settle_s`       a job that was let run and kept within its allowance for this long runs freely again
    `thrash_wait_s`  the longest pause of a job that faults but did not fill memory
    `term_wait_s`    to finish a block and a checkpoint after SIGTERM
    `growing_wait_s` a job that uses up the reserve this long after SIGTERM is not on its way out
    `last_wait_s`    after SIGTERM even a job that harms nobody is killed
    """

    on_pressure: OnPressure
    can_shard: bool = False
    can_confine: bool = False  # There is a scope of the job's own, and enough free swap.
    pause_timeout_s: float = 60.0
    shard_s: float = 6.0
    shard_wait_s: float = 3.0
    ahead_s: float = 0.8
    hold_s: float = 0.1
    try_factor: float = 3.0
    settle_s: float = 2.0
    stop_after_s: float = 3.0  # with --on-pressure stop
    thrash_wait_s: float = 10.0
    term_wait_s: float = 10.0
    growing_wait_s: float = 1.5
    last_wait_s: float = 60.0
    user_grace_s: float = 30.0

    @property
    def deadline_after_s(self) -> float:
        wanted_s = self.stop_after_s if self.on_pressure == OnPressure.STOP else self.pause_timeout_s
        return min(wanted_s, self.pause_timeout_s)
