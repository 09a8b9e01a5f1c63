"""The ladder for a job that is paused or was stopped: resume, try, stop, kill. ladder.py calls it and has the rule."""

from dataclasses import replace

from memwatch.decide.action_state import ActionState
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.forecast import Forecast
from memwatch.decide.thresholds import Level, Thresholds, assess, is_thrashing
from memwatch.decide.turns import Turn
from memwatch.model.units import format_duration, format_size

# Of the reserve: with so much headroom a paused job resumes at once.
RESUME_SHARE = 1 / 4
# Of the reserve: a job that is tried at the end of its room may use so much of it in all.
TRY_SHARE = 1 / 4


def resume_bytes(forecast: Forecast) -> int:
    """The headroom at which a paused job resumes at once."""
    return int(forecast.reserve_bytes * RESUME_SHARE)


def while_paused(
    state: ActionState, settings: LadderSettings, forecast: Forecast, thresholds: Thresholds, turn: Turn
) -> Action | None:
    """For a job that is paused and not confined: resume it, let it run for a moment, or stop it; None: wait."""
    if state.paused_by == By.USER or state.paused_s is None:
        return None
    headroom, waited_s = forecast.headroom_bytes, forecast.clock_s - state.paused_s
    if settings.on_pressure == OnPressure.WARN:
        return Action(Step.RESUME, "the guard is off")
    if state.gives_way:
        return Action(Step.RESUME, "it is this run's turn") if turn.may_resume else None
    if not state.is_blamed or headroom is None:
        is_over = waited_s >= settings.hold_s and not is_thrashing(forecast, thresholds)
        if is_over or waited_s >= settings.thrash_wait_s:
            return Action(Step.RESUME, "memory traffic is over" if is_over else "the pause has not ended the traffic")
        return None
    if turn.waits_for is None and is_stop_due(state, settings, forecast):
        return Action(Step.STOP, _stop_reason(state, forecast), next_step=Step.KILL)
    is_at_the_end = state.short_since_s is not None  # Else it is held for a moment, and nobody waits for that.
    if waited_s < settings.hold_s or (is_at_the_end and not turn.may_resume):
        return None
    if headroom >= resume_bytes(forecast):
        is_brief = state.short_since_s is None
        return Action(Step.RESUME, f"{format_size(headroom)} are free for the job", is_brief=is_brief)
    if state.short_since_s is None:
        return Action(Step.RESUME, f"{format_size(headroom)} left to use", is_brief=True)
    if _may_try(state, settings, forecast, turn):
        return Action(Step.RESUME, "trying whether the job still grows", is_brief=True)
    return None


def _may_try(state: ActionState, settings: LadderSettings, forecast: Forecast, turn: Turn) -> bool:
    headroom, waited_s = forecast.headroom_bytes or 0, forecast.clock_s - (state.paused_s or 0)
    if turn.waits_for is None and _is_overdue(state, settings, forecast):
        return True  # Or it would have been stopped.
    if headroom <= -forecast.reserve_bytes * TRY_SHARE:
        return False
    return waited_s >= settings.hold_s * settings.try_factor ** (state.tries - 1)


def _is_overdue(state: ActionState, settings: LadderSettings, forecast: Forecast) -> bool:
    since_s = state.short_since_s
    return since_s is not None and forecast.clock_s >= since_s + settings.deadline_after_s


def is_stop_due(state: ActionState, settings: LadderSettings, forecast: Forecast) -> bool:
    """Paused for its own growth, at the deadline, and there is nothing left that it could be let use."""
    if settings.on_pressure == OnPressure.WARN or not state.is_blamed or forecast.headroom_bytes is None:
        return False
    if not _is_overdue(state, settings, forecast) or forecast.headroom_bytes >= resume_bytes(forecast):
        return False
    return forecast.headroom_bytes <= 0 or state.had_last_chance


def _stop_reason(state: ActionState, forecast: Forecast) -> str:
    waited = format_duration(forecast.clock_s - (state.short_since_s or forecast.clock_s))
    job = "" if forecast.job_bytes is None else f"the job has grown to {format_size(forecast.job_bytes)}; "
    return f"{job}it was paused for {waited} and no memory was freed for it"


def after_stop(
    state: ActionState, settings: LadderSettings, forecast: Forecast, thresholds: Thresholds
) -> Action | None:
    """After SIGTERM: the kill, once it is due."""
    if state.stopped_s is None:
        return None
    waited_s = forecast.clock_s - state.stopped_s
    kill = Action(Step.KILL, f"the job did not exit within {format_duration(waited_s)} of SIGTERM")
    if state.stopped_by == By.USER:
        return kill if waited_s >= settings.term_wait_s else None
    headroom = forecast.headroom_bytes
    is_lost = headroom is not None and headroom <= -forecast.reserve_bytes * thresholds.lost_share
    if is_lost and forecast.job_explains and waited_s >= settings.growing_wait_s:
        return replace(kill, reason="the job uses up the reserve after SIGTERM")
    # A job that harms nobody may take its time to exit; not for ever.
    wait_s = settings.term_wait_s if assess(forecast, thresholds).level >= Level.WARN else settings.last_wait_s
    return kill if waited_s >= wait_s else None
