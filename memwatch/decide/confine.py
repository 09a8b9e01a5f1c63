"""Confine: a job larger than memory goes on inside the memory it has. The kernel swaps its pages and nobody else's.

The job's scope gets a limit near what the job holds (`confined_limit_bytes`). Then the machine's own counters (PSI,
swap traffic, refaults) show mainly the job's swapping and say nothing about the others: `rest_of_machine` takes them
out of a sample. What ends the confinement is decided here, from what confine_history.py makes of readings of the scope
and of the other cgroups:

    swap runs out               what is left of it is used up within moments          pause, then stop
    the job does not progress   it waits for its pages nearly all of the time         pause, then stop
    memory is lost all the same half of the reserve is gone (others took it, or zram) pause, until enough was reclaimed
                                                                                      from the job; then stop
    the others suffer           they wait for memory or for the disk                  pause for 10 s; the third time
                                                                                      pause, then stop
    the job fits again          hardly anything of it is in swap and there is room    release

If the others suffer as much while the job is paused, it is not the job's doing, and their pressure counts no more.
"""

from dataclasses import dataclass, replace

from memwatch.decide.action_state import ActionState
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step
from memwatch.decide.confine_history import SMALLEST_STEP_BYTES, SWAP_MARGIN_BYTES, Confined
from memwatch.decide.forecast import Forecast
from memwatch.decide.paused_job import resume_bytes
from memwatch.decide.thresholds import Level
from memwatch.decide.verdict import Verdict
from memwatch.model.sample import Memory, Pressure, Sample
from memwatch.model.units import MIB, format_count, format_duration, format_size

# Of the reserve: with less free swap a job is not confined, because it would be paused moments later.
ENOUGH_SWAP_SHARE = 1 / 2
# Of all swap, and at least: left to the other programs.
KEPT_SWAP_SHARE = 1 / 16
LEAST_KEPT_SWAP_BYTES = 32 * MIB
# Of the reserve: how far headroom may be from zero before the limit moves.
MOVE_SHARE = 1 / 8
# Of what a job holds: room for the page cache of what it reads and runs from.
CACHE_SHARE = 1 / 64
WARN_S = 60.0
SURELY_WARN_S = 20.0
LEAST_LEFT_S = 10.0  # until the end: less is not said of a confined job
REST_PAUSES = 2
LOST_SHARE = 1 / 2
LOST_S = 3.0


def swap_left_bytes(memory: Memory) -> int:
    """How much more of the job may go to swap.

    Swap in zram is RAM: what goes there comes out of what is available, and the limit follows that down.
    """
    kept = max(int(memory.swap_total_bytes * KEPT_SWAP_SHARE), LEAST_KEPT_SWAP_BYTES)
    return max(memory.swap_free_bytes - kept, 0)


def is_swap_enough(memory: Memory, reserve_bytes: int) -> bool:
    """Whether a job can be confined: it would not be paused moments later for lack of swap."""
    return swap_left_bytes(memory) >= reserve_bytes * ENOUGH_SWAP_SHARE


def confined_limit_bytes(held_bytes: int, headroom_bytes: int) -> int:
    """What the job holds, without page cache, and all that it can have beside the reserve. Never less than it holds:
    whoever lowers a limit below that waits until the kernel has swapped the difference, or has killed the job."""
    return held_bytes + max(headroom_bytes, int(held_bytes * CACHE_SHARE), SMALLEST_STEP_BYTES)


@dataclass(frozen=True, slots=True)
class LimitMove:
    """Either a higher limit, or what to reclaim: the limit then falls to what the job still holds."""

    limit_bytes: int | None = None
    reclaim_bytes: int = 0


def limit_move(confined: Confined, headroom_bytes: int, reserve_bytes: int, may_rise: bool) -> LimitMove | None:
    """How the limit of a confined job follows the machine, or None."""
    step = max(int(reserve_bytes * MOVE_SHARE), SMALLEST_STEP_BYTES)
    if headroom_bytes <= -step:
        reclaim = min(-headroom_bytes + step // 2, confined.held_bytes, confined.swap_left_bytes - SWAP_MARGIN_BYTES)
        return LimitMove(reclaim_bytes=reclaim) if reclaim > 0 else None
    wanted = confined_limit_bytes(confined.held_bytes, headroom_bytes)
    return LimitMove(wanted) if may_rise and wanted - confined.limit_bytes >= step else None


def rest_of_machine(sample: Sample, own_path: str | None, rest: Pressure | None) -> Sample:
    """The sample without what shows the confined job's own swapping: its limit, and the whole machine's counters."""
    limits = tuple(limit for limit in sample.limits if limit.path != own_path)
    return replace(sample, limits=limits, pressure=rest, paging=None)


def confined_action(
    state: ActionState, settings: LadderSettings, forecast: Forecast, confined: Confined
) -> Action | None:
    """What to do with a job that is confined and neither stopped nor paused by its user; or None."""
    if settings.on_pressure == OnPressure.WARN:
        return _while_off(state)
    if state.paused_s is not None:
        return _while_paused(state, settings, forecast, confined)
    if (reason := _why_at_the_end(state, settings, forecast, confined)) is not None:
        deadline_s = forecast.clock_s + settings.deadline_after_s
        return Action(Step.PAUSE, reason, deadline_s, Step.STOP, is_blamed=True, is_short=True)
    if (reason := _why_lost(state, forecast, confined)) is not None:
        deadline_s = forecast.clock_s + settings.deadline_after_s
        return Action(Step.PAUSE, reason, deadline_s, Step.STOP, is_short=True)
    if confined.rest_suffers is not None and _may_count_rest(state, settings, forecast):
        deadline_s = forecast.clock_s + settings.thrash_wait_s
        return Action(Step.PAUSE, confined.rest_suffers, deadline_s, Step.RESUME)
    has_room = (forecast.headroom_bytes or 0) >= resume_bytes(forecast)
    if state.confined_by == By.GUARD and confined.has_settled and has_room:
        return Action(Step.RELEASE, f"the job fits again, {format_size(forecast.headroom_bytes or 0)} are free")
    return None


def confined_verdict(verdict: Verdict, confined: Confined) -> Verdict:
    """What people read while a job is confined: how it goes on, and before that what threatens it."""
    words, level, full_s = confined_words(confined), Level.WATCH, confined.swap_full_in_s
    if confined.is_swap_out or (full_s is not None and full_s <= WARN_S and not _may_end_before(confined, full_s)):
        growth, left = confined.swap_growth_bytes_s, confined.swap_left_bytes
        when = "now" if confined.is_swap_out else f"in {format_duration(full_s or 0)}"
        words = f"swap is full {when}: the job swaps {format_size(growth)}/s and {format_size(left)} are left; {words}"
        level = Level.WARN
    elif confined.rest_suffers is not None:
        words, level = f"{confined.rest_suffers}; {words}", Level.WARN
    return replace(verdict, level=level, reason=words, seconds_left=full_s, need=replace(verdict.need, level=level))


def _may_end_before(confined: Confined, full_s: float) -> bool:
    """Whether the job is done before swap is full; its pace in swap is not known in the first seconds."""
    if confined.left_s is not None:
        return confined.left_s < full_s
    return confined.left is not None and confined.rate is None and full_s > SURELY_WARN_S


def confined_words(confined: Confined) -> str:
    """'confined to 450.0 MiB: 1.2 GiB in swap, 12.0 MiB/s, done in about 6 min 00 s instead of 60 s'."""
    words = f"confined to {format_size(confined.limit_bytes)}: {format_size(confined.swap_bytes)} in swap"
    if not confined.rate or confined.left == 0:
        return words
    show = format_size if confined.unit == "bytes" else format_count
    words += f", {show(confined.rate)}/s"
    # What a job does after its input was read, the position does not show: in swap that takes minutes, not seconds.
    if confined.left_s is None or confined.left is None or confined.left_s < LEAST_LEFT_S:
        return words
    words += f", done in about {format_duration(confined.left_s)}"
    if confined.rate_before and confined.rate_before > confined.rate:
        words += f" instead of {format_duration(confined.left / confined.rate_before)}"
    return words


def confined_facts(confined: Confined | None) -> dict[str, object]:
    """What the verdict event of a confined job carries."""
    if confined is None:
        return {}
    return {"confined_bytes": confined.limit_bytes, "confined_swap_bytes": confined.swap_bytes}


def _while_off(state: ActionState) -> Action | None:
    """The guard undoes what it has done itself."""
    if state.paused_by == By.GUARD:
        return Action(Step.RESUME, "the guard is off")
    is_over = state.paused_s is None and state.confined_by == By.GUARD
    return Action(Step.RELEASE, "the guard is off") if is_over else None


def _why_at_the_end(state: ActionState, settings: LadderSettings, forecast: Forecast, confined: Confined) -> str | None:
    if confined.is_swap_out:
        return f"swap is full: {format_size(confined.swap_bytes)} of the job are in it, none is left for more"
    if forecast.clock_s - state.user_resumed_s < settings.user_grace_s:
        return None
    if confined.is_stuck:
        return f"the job waits for its own pages, {format_size(confined.swap_bytes)} in swap, and does not progress"
    if confined.rest_suffers is not None and state.rest_pauses >= REST_PAUSES and not state.is_rest_cleared:
        return f"{confined.rest_suffers}, in spite of {state.rest_pauses} pauses"
    return None


def _why_lost(state: ActionState, forecast: Forecast, confined: Confined) -> str | None:
    headroom, reserve = forecast.headroom_bytes, forecast.reserve_bytes
    if headroom is None or headroom > -reserve * LOST_SHARE:
        return None
    if forecast.clock_s - max(confined.since_s, state.resumed_s) < LOST_S:
        return None  # The limit has not had an effect yet.
    left = format_size(max(headroom + reserve, 0))
    return f"{left} left of RAM although the job is confined to {format_size(confined.limit_bytes)}"


def _may_count_rest(state: ActionState, settings: LadderSettings, forecast: Forecast) -> bool:
    if state.is_rest_cleared or forecast.clock_s - state.user_resumed_s < settings.user_grace_s:
        return False
    return forecast.clock_s - state.resumed_s >= settings.thrash_wait_s


def _while_paused(
    state: ActionState, settings: LadderSettings, forecast: Forecast, confined: Confined
) -> Action | None:
    if state.paused_by == By.USER or state.paused_s is None:
        return None
    waited_s = forecast.clock_s - state.paused_s
    if state.paused_s <= confined.since_s:  # Until then it was held as any other job.
        return Action(Step.RESUME, f"it is confined to {format_size(confined.limit_bytes)}")
    if state.short_since_s is None:
        if waited_s < settings.thrash_wait_s:
            return None
        if confined.rest_suffers is not None:
            return Action(Step.RESUME, "the pause has not helped the others", clears_job=True)
        return Action(Step.RESUME, "the others have recovered")
    headroom = forecast.headroom_bytes
    # After a loss of memory the job goes on with the smaller limit that it has by then, once nothing more is reclaimed.
    enough = resume_bytes(forecast) if state.is_blamed else -forecast.reserve_bytes * MOVE_SHARE
    if headroom is not None and headroom >= enough:
        room = f"{format_size(headroom)} are free for the job"
        return Action(Step.RESUME, room if headroom > 0 else f"it was reduced to {format_size(confined.held_bytes)}")
    if waited_s >= settings.deadline_after_s:
        return Action(Step.STOP, _stop_reason(state, forecast), next_step=Step.KILL)
    return None


def _stop_reason(state: ActionState, forecast: Forecast) -> str:
    job = "" if forecast.job_bytes is None else f"the job has grown to {format_size(forecast.job_bytes)}; "
    waited = format_duration(forecast.clock_s - (state.paused_s or forecast.clock_s))
    return f"{job}it was paused for {waited} and neither memory nor swap was freed for it"
