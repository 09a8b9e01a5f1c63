"""The ladder from a warning to the end of the job, and back.

    warn -> shard (jobs that can) -> pause (with a deadline) -> stop (TERM) -> kill (after a wait)
                                       `-> resume, when there is room again

- What can be undone (shard, pause) follows one signal at once. What cannot (stop, kill) needs two independent ones, or
  a pause that ended at its deadline with no room to go on, and is confirmed against a fresh sample.
- One action at a time: the next one waits until the last one can have shown its effect.
- Pausing frees nothing. Every pause of the guard's ends at its deadline at the latest, in a resume or in a stop. It
  ends earlier when the danger is over and there is room for `resume_s` at the pace at which the job filled memory
  before; for twice that after each pause that soon followed another. So a job does not flap.
- A job that was paused before it could shard as it was asked to is resumed, once, as soon as there is any room: how
  fast it grew before says nothing of how it will go on.
- `stop` as the wish pauses first if there is only one signal: that holds a fast hog for a moment, and loses nothing.
- A job that is small is not acted on, unless it grows and there is no headroom left: it would suffer and nobody would
  gain.
- What the user does is not undone. A user's pause has no deadline and the guard does not resume it; only two signals
  that last through a whole `pause_timeout_s` stop it. For `user_grace_s` after a user's resume the guard does not pause
  on a forecast alone. A user's stop is followed by the kill without another look.

The caller sends the signals: `next` proposes, `confirm` looks again, `done` tells what was carried out, and by whom.
"""

from dataclasses import replace

from memwatch.core.actions import Action, ActionState, By, LadderSettings, Step, Wish, after
from memwatch.core.assess import Level, Policy, assess
from memwatch.core.forecast import Forecast
from memwatch.core.policy import Verdict
from memwatch.core.units import MIB, format_duration

SMALL_JOB_BYTES = 64 * MIB  # less than a browser tab
LARGE_JOB_SHARE = 0.25  # of the memory that ran out: a job this large is to blame even if it no longer grows


class Ladder:
    """Fed with values only; all it keeps is one ActionState."""

    def __init__(self, settings: LadderSettings, policy: Policy) -> None:
        self._settings = settings
        self._policy = policy
        self.state = ActionState()

    def next(self, verdict: Verdict, forecast: Forecast) -> Action | None:
        """What to do now, or None. The same answer comes again until `done` is told."""
        self._look(verdict, forecast)
        state = self.state
        if state.killed_s is not None:
            return None
        if state.stopped_s is not None:
            return self._after_stop(state.stopped_s, forecast)
        if state.paused_s is not None:
            return self._while_paused(verdict, forecast) or self._warning(verdict)
        return self._while_running(verdict, forecast) or self._warning(verdict)

    def confirm(self, action: Action, forecast: Forecast) -> bool:
        """Does a fresh forecast still call for it? Ask right before a stop or a kill."""
        state = self.state
        if action.step == Step.KILL:
            return state.stopped_s is not None and self._after_stop(state.stopped_s, forecast) is not None
        if action.step == Step.STOP:
            return state.stopped_s is None and self._may_stop(forecast)
        return True

    def overslept(self) -> None:
        """Nobody looked for a while, so nothing is known to have lasted. Deadlines stand."""
        self.state = replace(self.state, proven_s=None)

    def done(self, step: Step, clock_s: float, by: By = By.GUARD) -> None:
        self.state = after(self.state, step, clock_s, by, self._settings)

    def _look(self, verdict: Verdict, forecast: Forecast) -> None:
        state = self.state
        growth = forecast.job_fill_bytes_s if forecast.is_credible and forecast.job_explains else None
        since = state.proven_s if state.proven_s is not None else forecast.clock_s
        self.state = replace(
            state,
            warned=state.warned if verdict.level >= Level.WARN else Level.CALM,
            proven_s=since if verdict.need.is_proven else None,
            now_level=verdict.level,
            now_fill_bytes_s=growth or 0.0,
        )

    def _warning(self, verdict: Verdict) -> Action | None:
        if verdict.level >= Level.WARN and verdict.level > self.state.warned:
            return Action(Step.WARN, verdict.reason)
        return None

    def _while_running(self, verdict: Verdict, forecast: Forecast) -> Action | None:
        settings, need = self._settings, verdict.need
        if settings.wish == Wish.WARN or not self._matters(forecast):
            return None
        if self._should_shard(verdict, forecast):
            return Action(Step.SHARD, verdict.reason, next_step=Step.PAUSE)
        if need.level < Level.ACT or self._must_wait(verdict, forecast):
            return None
        if settings.wish == Wish.STOP and need.is_proven:
            return Action(Step.STOP, verdict.reason, next_step=Step.KILL)
        return Action(Step.PAUSE, verdict.reason, forecast.clock_s + settings.deadline_after_s, Step.STOP)

    def _should_shard(self, verdict: Verdict, forecast: Forecast) -> bool:
        settings = self._settings
        if settings.wish != Wish.SHARD or not settings.can_shard or self.state.sharded_s is not None:
            return False
        sure_s = forecast.sure_seconds_left
        return verdict.need.level == Level.ACT or (sure_s is not None and sure_s <= settings.shard_s)

    def _must_wait(self, verdict: Verdict, forecast: Forecast) -> bool:
        state, settings, now_s = self.state, self._settings, forecast.clock_s
        if state.sharded_s is not None and now_s - state.sharded_s < settings.shard_wait_s:
            return not _ends_within(forecast, self._policy.act_s / 2)
        if verdict.need.is_proven:
            return False
        if now_s - state.user_resumed_s < settings.user_grace_s:
            return forecast.headroom_bytes is None or forecast.headroom_bytes > 0
        # Resumed at its deadline because others fill memory: it gets as long to run as it was paused.
        return now_s - state.resumed_s < settings.pause_timeout_s and not forecast.job_explains

    def _while_paused(self, verdict: Verdict, forecast: Forecast) -> Action | None:
        if self._may_stop(forecast):
            return Action(Step.STOP, self._stop_reason(verdict, forecast), next_step=Step.KILL)
        if self.state.paused_by == By.USER:
            return None
        if self._owes_a_shard() and verdict.need.level <= Level.WATCH and self._has_some_room(forecast):
            return Action(Step.RESUME, "the job was asked to shard, and needs to run for that")
        if self._has_room(forecast) and (verdict.level <= Level.WATCH or self._is_overdue(forecast)):
            return Action(Step.RESUME, "there is room again")
        if self._is_overdue(forecast):
            return Action(Step.RESUME, "the pause is over, and it is not this job that fills memory")
        return None

    def _may_stop(self, forecast: Forecast) -> bool:
        """Running or paused: would a stop be right now?"""
        state, settings, now_s = self.state, self._settings, forecast.clock_s
        if settings.wish == Wish.WARN or not self._matters(forecast):
            return False
        proven = assess(forecast, self._policy).is_proven
        if state.paused_s is None:
            return settings.wish == Wish.STOP and proven
        if state.paused_by == By.USER:
            return proven and state.proven_s is not None and now_s - state.proven_s >= settings.pause_timeout_s
        if proven and now_s - state.paused_s >= min(settings.thrash_wait_s, settings.deadline_after_s):
            return True
        return self._is_overdue(forecast) and self._is_to_blame(forecast) and not self._has_room(forecast)

    def _matters(self, forecast: Forecast) -> bool:
        """Would acting on this job change anything?"""
        if forecast.job_bytes is None or forecast.job_bytes >= SMALL_JOB_BYTES:
            return True
        # Every program grows fast while it starts; in a small container that must not be its end.
        growing = forecast.job_explains or self.state.fill_bytes_s > 0
        return growing and forecast.headroom_bytes is not None and forecast.headroom_bytes <= 0

    def _is_to_blame(self, forecast: Forecast) -> bool:
        if self.state.fill_bytes_s > 0:
            return True
        job, capacity = forecast.job_bytes, forecast.capacity_bytes
        return job is not None and capacity is not None and job >= capacity * LARGE_JOB_SHARE

    def _is_overdue(self, forecast: Forecast) -> bool:
        return self.state.deadline_s is not None and forecast.clock_s >= self.state.deadline_s

    def _owes_a_shard(self) -> bool:
        state = self.state
        if state.sharded_s is None or state.paused_s is None or state.pauses > 1:
            return False
        return state.paused_s - state.sharded_s < self._settings.shard_wait_s

    def _has_some_room(self, forecast: Forecast) -> bool:
        return forecast.headroom_bytes is not None and forecast.headroom_bytes >= self._policy.reserve_bytes / 4

    def _has_room(self, forecast: Forecast) -> bool:
        """Room for the job to go on as it did, for much longer than it takes to be paused again."""
        if forecast.headroom_bytes is None:
            return assess(forecast, self._policy).level <= Level.WATCH
        repeats = 1 << min(max(self.state.pauses - 1, 0), 4)
        growth_bytes = self.state.fill_bytes_s * self._settings.resume_s * repeats
        return self._has_some_room(forecast) and forecast.headroom_bytes >= growth_bytes

    def _stop_reason(self, verdict: Verdict, forecast: Forecast) -> str:
        if not self._is_overdue(forecast) or self.state.paused_s is None:
            return verdict.reason
        waited = format_duration(forecast.clock_s - self.state.paused_s)
        return f"the job was paused for {waited}, and there is still no room for it to go on"

    def _after_stop(self, stopped_s: float, forecast: Forecast) -> Action | None:
        settings, waited_s = self._settings, forecast.clock_s - stopped_s
        kill = Action(Step.KILL, f"the job did not end within {format_duration(waited_s)} of being told to")
        if self.state.stopped_by == By.USER:
            return kill if waited_s >= settings.term_wait_s else None
        need = assess(forecast, self._policy)
        if need.level == Level.ACT and forecast.job_explains and waited_s >= settings.growing_wait_s:
            return replace(kill, reason="the job still grows after it was told to end")
        # A job that harms nobody may take its time to end; not for ever.
        wait_s = settings.term_wait_s if need.level >= Level.WARN else settings.last_wait_s
        return kill if waited_s >= wait_s else None


def _ends_within(forecast: Forecast, seconds: float) -> bool:
    return forecast.is_credible and forecast.seconds_left is not None and forecast.seconds_left <= seconds
