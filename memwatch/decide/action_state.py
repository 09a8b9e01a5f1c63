"""What has been done to the job so far, and what the ladder has learned of it. Pure: each function returns a new state.

guard/decisions.py calls `observed` with every forecast, and `after` with every action that was carried out.
"""

from dataclasses import dataclass, replace

from memwatch.decide.actions import Action, By, LadderSettings, Step
from memwatch.decide.forecast import Forecast
from memwatch.decide.thresholds import USUAL, Level, Thresholds

NEVER = float("-inf")
FREED_SHARE = 1 / 4  # of the reserve: so much more headroom means that the job has freed something


@dataclass(frozen=True, slots=True)
class ActionState:
    """What was done so far, and when; and, as `now_*`, what the last forecast showed.

    `short_since_s`     since when the job has been at the end of its room: the deadline counts from here, however often
                        it was tried meanwhile
    `hold_again_bytes`  the headroom at which a job that was let run is held again; None: it runs freely
    `low_*_bytes`       the lowest headroom since the job last freed much
    `safe_*_bytes`      the lowest headroom at which the job has stopped growing by itself: until there it is not held
    `floor_*_bytes`     headroom and the job when it last had room, or last ran on without growing: what it has taken
                        since, however slowly, is measured from here
    `rest_pauses`       how often the job was paused in its confinement because others suffered
    """

    warned: Level = Level.CALM
    sharded_s: float | None = None
    confined_s: float | None = None
    confined_by: By | None = None
    rest_pauses: int = 0
    is_rest_cleared: bool = False  # Others suffer, and not because of the job.
    paused_s: float | None = None
    paused_by: By | None = None
    is_blamed: bool = False
    gives_way: bool = False
    short_since_s: float | None = None
    tries: int = 0
    had_last_chance: bool = False
    hold_again_bytes: int | None = None
    growth_bytes_s: float = 0.0  # the fastest that was seen before a pause, until the job has settled
    resumed_s: float = NEVER
    resumed_headroom_bytes: int = 0
    resumed_job_bytes: int = 0
    low_headroom_bytes: int | None = None
    safe_headroom_bytes: int | None = None
    floor_headroom_bytes: int | None = None
    floor_job_bytes: int = 0
    user_resumed_s: float = NEVER
    stopped_s: float | None = None
    stopped_by: By | None = None
    killed_s: float | None = None
    now_level: Level = Level.CALM
    now_headroom_bytes: int | None = None
    now_job_bytes: int | None = None
    now_floor_bytes: int = 0


def observed(
    state: ActionState, level: Level, forecast: Forecast, settings: LadderSettings, thresholds: Thresholds = USUAL
) -> ActionState:
    """The state with what the latest forecast shows."""
    runs_freely = state.paused_s is None and state.hold_again_bytes is None
    before_bytes_s = 0.0 if runs_freely else state.growth_bytes_s
    state = replace(
        state,
        warned=state.warned if level >= Level.WARN else Level.CALM,
        now_level=level,
        now_headroom_bytes=forecast.headroom_bytes,
        now_job_bytes=forecast.job_bytes,
        now_floor_bytes=thresholds.floor_bytes(forecast),
        growth_bytes_s=max(before_bytes_s, (forecast.fill_bytes_s or 0.0) if forecast.is_credible else 0.0),
    )
    if state.paused_s is not None or forecast.headroom_bytes is None:
        return state
    # It has run for a while and not used up its allowance: growth that has stopped is no growth.
    has_settled = state.hold_again_bytes is not None and forecast.clock_s - state.resumed_s >= settings.settle_s
    if has_settled:
        state = replace(state, hold_again_bytes=None)
    state = _with_lowest(state, forecast.headroom_bytes, forecast.reserve_bytes, has_settled)
    if has_settled or state.floor_headroom_bytes is None or forecast.headroom_bytes > state.now_floor_bytes:
        return replace(state, floor_headroom_bytes=forecast.headroom_bytes, floor_job_bytes=forecast.job_bytes or 0)
    return state


def _with_lowest(state: ActionState, headroom: int, reserve_bytes: int, has_settled: bool) -> ActionState:
    """A job that goes up and down is not held each time on the way to where it has been before."""
    low = headroom if state.low_headroom_bytes is None else min(state.low_headroom_bytes, headroom)
    has_freed = headroom >= low + reserve_bytes * FREED_SHARE
    if not has_freed and not has_settled:
        return replace(state, low_headroom_bytes=low)
    safe = low if state.safe_headroom_bytes is None else min(low, state.safe_headroom_bytes)
    return replace(state, low_headroom_bytes=headroom, safe_headroom_bytes=max(safe, 0))


def after(state: ActionState, action: Action, clock_s: float, by: By, settings: LadderSettings) -> ActionState:
    """The state once `action` was carried out. Whatever the guard does warns as much as a warning."""
    step = action.step
    if by == By.GUARD and not action.is_brief and step != Step.RESUME:
        state = replace(state, warned=state.now_level)
    if step == Step.WARN:
        return state
    if step == Step.SHARD:
        return replace(state, sharded_s=clock_s)
    if step in (Step.CONFINE, Step.RELEASE):
        return _after_confine(state, clock_s if step == Step.CONFINE else None, by)
    if step == Step.PAUSE:
        return _after_pause(state, action, clock_s, by)
    if step == Step.KILL:
        return replace(state, killed_s=clock_s)
    # A stopped process does not act on SIGTERM: so a paused job that is stopped runs on to its end.
    if step == Step.STOP:
        return replace(state, paused_s=None, paused_by=None, stopped_s=clock_s, stopped_by=by)
    return _after_resume(state, action, clock_s, by, settings)


def _after_confine(state: ActionState, confined_s: float | None, by: By) -> ActionState:
    """From here on, and after a release, the room is another one: what was learned about it is dropped."""
    return replace(
        state,
        confined_s=confined_s,
        confined_by=None if confined_s is None else by,
        rest_pauses=0,
        is_rest_cleared=False,
        short_since_s=None,
        tries=0,
        had_last_chance=False,
        hold_again_bytes=None,
        low_headroom_bytes=None,
        safe_headroom_bytes=None,
        floor_headroom_bytes=None,
    )


def _after_pause(state: ActionState, action: Action, clock_s: float, by: By) -> ActionState:
    state = replace(state, paused_s=clock_s, paused_by=by, is_blamed=action.is_blamed, gives_way=action.gives_way)
    if not action.is_short:
        is_for_rest = state.confined_s is not None and by == By.GUARD
        return replace(state, rest_pauses=state.rest_pauses + 1) if is_for_rest else state
    since_s = clock_s if state.short_since_s is None else state.short_since_s
    return replace(state, short_since_s=since_s, tries=state.tries + 1)


def _after_resume(state: ActionState, action: Action, clock_s: float, by: By, settings: LadderSettings) -> ActionState:
    # The time it has to shard in begins again; while it was paused it could not.
    sharded_s = None if state.sharded_s is None else clock_s
    overdue = state.short_since_s is not None and clock_s >= state.short_since_s + settings.deadline_after_s
    state = replace(
        state,
        paused_s=None,
        paused_by=None,
        gives_way=False,
        sharded_s=sharded_s,
        resumed_s=clock_s,
        resumed_headroom_bytes=state.now_headroom_bytes or 0,
        resumed_job_bytes=state.now_job_bytes or 0,
        had_last_chance=overdue,
        is_rest_cleared=state.is_rest_cleared or action.clears_job,
    )
    if not action.is_brief:
        state = replace(state, short_since_s=None, tries=0, had_last_chance=False)
    headroom = state.now_headroom_bytes
    if by == By.USER:
        return replace(state, user_resumed_s=clock_s, hold_again_bytes=None)
    if headroom is None or not state.is_blamed or state.confined_s is not None:
        return replace(state, hold_again_bytes=None)
    # Half of what is left is the job's to use before it is held again; near the end at least a little.
    allowance = max(headroom // 2, state.now_floor_bytes // 2)
    return replace(state, hold_again_bytes=headroom - allowance)
