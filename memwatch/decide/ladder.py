"""The ladder from a warning to the end of the job, and back. Pure functions of what was done so far and what is seen.

    warn -> shard (jobs that can) -> confine (where the machine can) -> pause -> stop (SIGTERM) -> kill (after a wait)
                                       `-> release                       `-> resume

What must be kept is the reserve, not a forecast. Many healthy programs take gigabytes at once and then no more, and
they look like a hog until they end. So a job that grows towards the end of its room is slowed, not judged:

- When headroom would end within `ahead_s`, the job is held for a moment (a brief pause). Then it may use half of the
  headroom that is left, is held again, may use half of the rest, and so on. A job that stops growing on the way has
  lost tenths of a second.
- Where the job has a scope of its own and swap is free, it is not held but confined: its limit stays where it is, and
  the kernel swaps the job's pages alone. confine.py decides about a confined job.
- At the floor, where nothing is left to let it use, it is paused with a deadline. It resumes as soon as there is room,
  whatever its pace was, and is tried again now and then: if it no longer grows, it runs on. At the deadline it gets a
  last chance while there is any headroom; if it grows again, or there is none, it is stopped.
- Only what the job itself does counts against it: its own growth, its own faults. When other programs fill memory, or
  thrash, it is warned about. A job that faults in a thrashing machine is paused for `thrash_wait_s` at most, which
  helps the others, and not stopped, unless it has filled memory itself.
- What can be undone follows one signal at once. What cannot (stop, kill) is confirmed against a fresh sample.
- A job that is small is not acted on, unless it grows and there is no headroom left: it would suffer and nobody would
  gain.
- What the user does is not undone. A user's pause has no deadline and the guard neither resumes nor stops it. For
  `user_grace_s` after a user's resume the guard pauses only when headroom is gone. A user's stop is followed by the
  kill without another condition.
- Other runs in the same room count (turns.py): a younger run gives way while an older one grows, a job resumes and is
  tried only when it is its turn, and it is not stopped while it waits for another run.
- After a stop the job may go on growing for its checkpoint as long as half of the reserve is kept.

The caller sends the signals: `next_action` proposes, `is_confirmed` checks again, and `after` (action_state.py) returns
the state that follows from what was carried out.
"""

from memwatch.decide.action_state import ActionState
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.confine import confined_action
from memwatch.decide.confine_history import Confined
from memwatch.decide.forecast import Forecast
from memwatch.decide.paused_job import after_stop, is_stop_due, while_paused
from memwatch.decide.thresholds import USUAL, Level, Thresholds, assess, is_the_jobs, is_thrashing
from memwatch.decide.turns import ALONE, Turn
from memwatch.decide.verdict import Verdict
from memwatch.model.units import MIB, format_size

SMALL_JOB_BYTES = 64 * MIB  # less than a browser tab
# Of the reserve: what a job has taken from it is its own doing, even if it took it too slowly for a forecast.
TAKEN_SHARE = 1 / 8
# From a sample to a held job; a busy machine takes twice as long, for which the reserve is there.
REACTION_S = 0.05
# Of the headroom at which a job has stopped by itself before: it seldom stops twice at the same place.
SAFE_SHARE = 0.5
SLOWEST_TRY_INTERVAL_S = 0.1
FASTEST_TRY_INTERVAL_S = 0.02
SAMPLES_PER_ALLOWANCE = 4


def next_action(
    state: ActionState,
    settings: LadderSettings,
    verdict: Verdict,
    forecast: Forecast,
    thresholds: Thresholds = USUAL,
    turn: Turn = ALONE,
    confined: Confined | None = None,
) -> Action | None:
    """What to do now, or None. The same answer comes again until the state says that it was done.

    `confined` is None also while the limit of a job that is being confined is not in force yet.
    """
    if state.killed_s is not None:
        return None
    if state.stopped_s is not None:
        return after_stop(state, settings, forecast, thresholds)
    if confined is not None:
        return confined_action(state, settings, forecast, confined) or _warning(state, verdict)
    if state.paused_s is not None:
        return while_paused(state, settings, forecast, thresholds, turn) or _warning(state, verdict)
    return _while_running(state, settings, verdict, forecast, thresholds, turn) or _warning(state, verdict)


def is_confirmed(
    action: Action,
    state: ActionState,
    settings: LadderSettings,
    forecast: Forecast,
    thresholds: Thresholds = USUAL,
    confined: Confined | None = None,
) -> bool:
    """Whether a fresh forecast still calls for it; the guard calls this right before a stop or a kill."""
    if action.step == Step.KILL:
        return after_stop(state, settings, forecast, thresholds) is not None
    if action.step == Step.STOP:
        if confined is not None:
            again = confined_action(state, settings, forecast, confined)
            return again is not None and again.step == Step.STOP
        if state.paused_s is None:
            return _is_wished_stop(settings, forecast, thresholds)
        return is_stop_due(state, settings, forecast)
    return True


def interval_s(state: ActionState, settings: LadderSettings, forecast: Forecast, usual_s: float) -> float:
    """How long to wait until the next sample: a job that uses up an allowance, or comes to where it stopped before, is
    sampled often."""
    if state.paused_s is not None:
        return min(usual_s, SLOWEST_TRY_INTERVAL_S) if state.paused_by == By.GUARD else usual_s
    hold_at = state.safe_headroom_bytes if state.hold_again_bytes is None else state.hold_again_bytes
    if hold_at is None or forecast.headroom_bytes is None:
        return usual_s
    if state.hold_again_bytes is None and not forecast.is_within(settings.ahead_s):
        return usual_s
    ahead_s = (forecast.headroom_bytes - hold_at) / max(state.growth_bytes_s, 1.0) / SAMPLES_PER_ALLOWANCE
    return min(usual_s, max(min(ahead_s, SLOWEST_TRY_INTERVAL_S), FASTEST_TRY_INTERVAL_S))


def _warning(state: ActionState, verdict: Verdict) -> Action | None:
    if verdict.level >= Level.WARN and verdict.level > state.warned:
        return Action(Step.WARN, verdict.reason)
    return None


def _while_running(
    state: ActionState,
    settings: LadderSettings,
    verdict: Verdict,
    forecast: Forecast,
    thresholds: Thresholds,
    turn: Turn,
) -> Action | None:
    has_settled = state.short_since_s is not None and state.hold_again_bytes is None
    if has_settled and forecast.clock_s - state.resumed_s >= settings.settle_s:
        return Action(Step.RESUME, "the job no longer grows")  # It runs already; now this is over.
    if settings.on_pressure == OnPressure.WARN or not _matters(forecast):
        return None
    if _should_shard(state, settings, verdict, forecast):
        return Action(Step.SHARD, verdict.reason, next_step=Step.PAUSE)
    if _is_wished_stop(settings, forecast, thresholds):
        return Action(Step.STOP, verdict.reason, next_step=Step.KILL)
    if turn.should_pause and forecast.clock_s - state.user_resumed_s >= settings.user_grace_s:
        return Action(Step.PAUSE, turn.reason, next_step=Step.RESUME, gives_way=True)
    if _may_pause_later(turn, forecast, thresholds):
        return None
    if _grows_too_far(state, settings, forecast, thresholds):
        if _may_confine(state, settings):
            return Action(Step.CONFINE, verdict.reason, next_step=Step.PAUSE)
        return _held(state, settings, verdict, forecast, thresholds)
    if _thrashes(state, settings, forecast, thresholds):
        if _may_confine(state, settings):
            return Action(Step.CONFINE, verdict.reason, next_step=Step.PAUSE)
        deadline_s = forecast.clock_s + settings.thrash_wait_s
        return Action(Step.PAUSE, verdict.reason, deadline_s, Step.RESUME, is_blamed=False)
    return None


def _may_confine(state: ActionState, settings: LadderSettings) -> bool:
    """Whether to confine it. The limit comes into force moments later; until then the job is held like any other."""
    return settings.on_pressure == OnPressure.AUTO and settings.can_confine and state.confined_s is None


def _held(
    state: ActionState, settings: LadderSettings, verdict: Verdict, forecast: Forecast, thresholds: Thresholds
) -> Action:
    headroom = forecast.headroom_bytes or 0
    if headroom > thresholds.floor_bytes(forecast):
        reason = f"{format_size(headroom)} left: checking whether the job goes on growing"
        return Action(Step.PAUSE, reason, next_step=Step.RESUME, is_brief=True, is_blamed=True)
    since_s = forecast.clock_s if state.short_since_s is None else state.short_since_s
    deadline_s = max(since_s + settings.deadline_after_s, forecast.clock_s)
    is_again = state.short_since_s is not None
    return Action(Step.PAUSE, verdict.reason, deadline_s, Step.STOP, is_again, is_blamed=True, is_short=True)


def _may_pause_later(turn: Turn, forecast: Forecast, thresholds: Thresholds) -> bool:
    """A younger run is about to be paused. At the floor that is not waited for."""
    headroom = forecast.headroom_bytes
    return turn.may_pause_later and headroom is not None and headroom > thresholds.floor_bytes(forecast)


def _grows_too_far(state: ActionState, settings: LadderSettings, forecast: Forecast, thresholds: Thresholds) -> bool:
    """Whether the job brings headroom to its end, and that is near."""
    headroom, now_s = forecast.headroom_bytes, forecast.clock_s
    if headroom is None:
        return False
    if now_s - state.user_resumed_s < settings.user_grace_s and headroom > 0:
        return False
    if state.sharded_s is not None and now_s - state.sharded_s < settings.shard_wait_s and headroom > 0:
        return forecast.job_explains and forecast.is_within(settings.ahead_s / 2)
    if _was_there_before(state, forecast, headroom):
        return False
    if state.hold_again_bytes is not None:
        if headroom > state.hold_again_bytes + _next_growth_bytes(state, forecast):
            return False
        return _has_taken(forecast, 1, state.resumed_headroom_bytes, state.resumed_job_bytes)
    at_floor = headroom <= thresholds.floor_bytes(forecast)
    if forecast.job_explains and forecast.is_credible:
        return at_floor or forecast.is_within(settings.ahead_s)
    if not at_floor or state.floor_headroom_bytes is None:
        return False
    taken = int(forecast.reserve_bytes * TAKEN_SHARE)
    return _has_taken(forecast, taken, state.floor_headroom_bytes, state.floor_job_bytes)


def _was_there_before(state: ActionState, forecast: Forecast, headroom: int) -> bool:
    """Whether the job, with what it takes until it can be held, is above where it has stopped by itself before."""
    if state.safe_headroom_bytes is None:
        return False
    growth = (forecast.fill_bytes_s or 0.0) if forecast.is_credible else 0.0
    return headroom - growth * REACTION_S > state.safe_headroom_bytes * SAFE_SHARE


def _next_growth_bytes(state: ActionState, forecast: Forecast) -> float:
    """What the job takes before it can be held, if it goes on as just now; within a half of what it was allowed."""
    allowance = state.resumed_headroom_bytes - (state.hold_again_bytes or 0)
    growth = (forecast.fill_bytes_s or 0.0) if forecast.is_credible else 0.0
    return min(growth * REACTION_S, allowance / 2)


def _has_taken(forecast: Forecast, at_least: int, headroom_before: int, job_bytes_before: int) -> bool:
    """Whether headroom has shrunk by so much, and other programs took no more of it than the job."""
    used = headroom_before - (forecast.headroom_bytes or 0)
    grown = (forecast.job_bytes or 0) - job_bytes_before
    return used >= max(at_least, 1) and grown >= used / 2


def _thrashes(state: ActionState, settings: LadderSettings, forecast: Forecast, thresholds: Thresholds) -> bool:
    """Whether the job faults in a machine that thrashes. After a pause it first gets as long to run."""
    if forecast.clock_s - state.resumed_s < settings.thrash_wait_s:
        return False
    return is_thrashing(forecast, thresholds) and is_the_jobs(forecast, thresholds)


def _should_shard(state: ActionState, settings: LadderSettings, verdict: Verdict, forecast: Forecast) -> bool:
    if settings.on_pressure != OnPressure.AUTO or not settings.can_shard or state.sharded_s is not None:
        return False
    sure_s = forecast.sure_seconds_left
    near = sure_s is not None and sure_s <= settings.shard_s
    return near or verdict.need.level == Level.ACT or (forecast.job_explains and forecast.is_within(settings.ahead_s))


def _is_wished_stop(settings: LadderSettings, forecast: Forecast, thresholds: Thresholds) -> bool:
    """--on-pressure stop: at once, if two signals agree and both are the job's own."""
    if settings.on_pressure != OnPressure.STOP or not assess(forecast, thresholds).is_proven:
        return False
    return forecast.job_explains and is_the_jobs(forecast, thresholds)


def _matters(forecast: Forecast) -> bool:
    """Whether acting on this job would change anything."""
    if forecast.job_bytes is None or forecast.job_bytes >= SMALL_JOB_BYTES:
        return True
    # Every program grows fast while it starts; in a small container that must not be its end.
    return forecast.job_explains and forecast.headroom_bytes is not None and forecast.headroom_bytes <= 0
