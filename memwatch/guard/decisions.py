"""What the guard decides from its samples, and keeps between them: forecast, level, and the state of the ladder."""

from collections.abc import Mapping
from dataclasses import replace

from memwatch.decide.action_state import ActionState, after, observed
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, thresholds_for
from memwatch.decide.confine import confined_verdict
from memwatch.decide.confine_history import Confined
from memwatch.decide.forecast import Forecast, next_interval_s
from memwatch.decide.ladder import interval_s as ladder_interval_s
from memwatch.decide.ladder import is_confirmed, next_action
from memwatch.decide.monitor import Monitor
from memwatch.decide.reasons import subsiding
from memwatch.decide.reserve import Reserve
from memwatch.decide.thresholds import USUAL, Level
from memwatch.decide.turns import Turn
from memwatch.decide.verdict import Verdict
from memwatch.guard.order import GuardConfig
from memwatch.model.sample import Sample

CONFINED_INTERVAL_S = 0.25


class Decisions:
    """`before` is a sample of the time before the job takes any memory. Nothing here reads the machine or acts."""

    def __init__(self, config: GuardConfig, reserve: Reserve, before: Sample) -> None:
        self._on_pressure = OnPressure(config.on_pressure)
        self.monitor = Monitor(reserve.of, thresholds_for(self._on_pressure))
        self.monitor.forecast(before)
        self._fixed_interval_s = config.interval_s
        self._settings = LadderSettings(self._on_pressure, pause_timeout_s=config.pause_timeout_s)
        self.state = ActionState()
        self.is_on = True
        self.is_urgent = False
        self.confined: Confined | None = None  # as of the last sample
        self._debts: Mapping[str, int] = {}
        self._confined_warned_s = float("-inf")

    @property
    def can_shard(self) -> bool:
        return self._settings.can_shard

    def job_can_shard(self) -> None:
        """The job has reported that it can."""
        self._settings = replace(self._settings, can_shard=True)

    def switch(self, is_on: bool) -> None:
        """Off, it only warns; but what has been begun is brought to an end: a pause is undone, a stop is completed."""
        self.is_on = is_on
        on_pressure = self._on_pressure if is_on else OnPressure.WARN
        self._settings = replace(self._settings, on_pressure=on_pressure)
        self.monitor.use(thresholds_for(on_pressure))

    @property
    def can_confine(self) -> bool:
        return self._settings.can_confine

    def allow_confine(self, is_possible: bool) -> None:
        """Called when that changes: a scope, free swap, a refusal of systemd."""
        self._settings = replace(self._settings, can_confine=is_possible)

    def observe(self, sample: Sample, confined: Confined | None, debts: Mapping[str, int]) -> tuple[Forecast, Verdict]:
        """`sample` of a confined job is without the job's own swapping (Confinement.view); `debts` has what is free in
        each room only because the job was paged out."""
        if (confined is None) != (self.confined is None):
            self.monitor.forget()  # Counters of the whole machine and of a part of it do not compare.
        self.confined = confined
        self._debts = debts
        outlook, verdict = self.monitor.observe(sample, debts)
        outlook = self._without_debt(outlook)
        if confined is not None:
            verdict = self._lasting(confined_verdict(verdict, confined), outlook.clock_s)
        # While memory is being used up the job is read as often as its room: whose growth it is decides what is done.
        self.is_urgent = verdict.level >= Level.WARN or _ends_soon(outlook)
        self.state = observed(self.state, verdict.level, outlook, self._settings)
        return outlook, verdict

    def next_action(self, verdict: Verdict, outlook: Forecast, turn: Turn) -> Action | None:
        """What the ladder calls for now; None: nothing."""
        return next_action(self.state, self._settings, verdict, outlook, turn=turn, confined=self.confined)

    def confirms(self, action: Action, fresh: Sample) -> bool:
        """Whether a sample that was read again just before what cannot be undone says the same."""
        outlook = self._without_debt(self.monitor.forecast(fresh, self._debts))
        return is_confirmed(action, self.state, self._settings, outlook, confined=self.confined)

    def note_action(self, action: Action, by: By, now_s: float) -> None:
        """The action was carried out."""
        self.state = after(self.state, action, now_s, by, self._settings)

    def interval_s(self, outlook: Forecast) -> float:
        """How long to wait until the next sample."""
        if self.confined is not None and self.state.paused_s is None:
            return self._fixed_interval_s or CONFINED_INTERVAL_S
        return self._fixed_interval_s or ladder_interval_s(
            self.state, self._settings, outlook, next_interval_s(outlook)
        )

    def may_rest(self, verdict: Verdict, outlook: Forecast) -> bool:
        """Whether nothing is near enough to be sampled at every interval."""
        if self._fixed_interval_s is not None or self.state.hold_again_bytes is not None or self.confined is not None:
            return False
        return verdict.level < Level.WARN and not _ends_soon(outlook) and outlook.headroom_bytes is not None

    def _lasting(self, verdict: Verdict, now_s: float) -> Verdict:
        """Of a confined job, too, a warning lasts for a while: a forecast of swap goes up and down."""
        if verdict.level >= Level.WARN:
            self._confined_warned_s = now_s
        elif now_s - self._confined_warned_s < USUAL.dwell_s:
            return replace(verdict, level=Level.WARN, reason=subsiding(verdict.reason))
        return verdict

    def debt_bytes(self, outlook: Forecast) -> int:
        """What `outlook.headroom_bytes` is without, because the job will need it itself."""
        return self._debts.get(outlook.room, 0)

    def _without_debt(self, outlook: Forecast) -> Forecast:
        if outlook.headroom_bytes is None:
            return outlook
        return replace(outlook, headroom_bytes=outlook.headroom_bytes - self.debt_bytes(outlook))


def _ends_soon(outlook: Forecast) -> bool:
    """Whether headroom may end soon, with any confidence. A busy machine always moves memory that would last for
    minutes."""
    return outlook.seconds_left is not None and outlook.seconds_left <= USUAL.watch_s
