"""A machine made of numbers: RAM, swap, page cache, a desktop and a job. No real memory is used.

It knows what matters to a guard: anonymous memory beyond RAM goes to swap as long as there is some; what does not fit
squeezes the page cache that programs run from, and they read it back, over and over, and stall.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from memwatch.decide.action_state import ActionState, after, observed
from memwatch.decide.actions import Action, By, LadderSettings, OnPressure, Step, thresholds_for
from memwatch.decide.forecast import Forecast, next_interval_s
from memwatch.decide.ladder import interval_s, is_confirmed, next_action
from memwatch.decide.monitor import Monitor
from memwatch.decide.reserve import default_reserve_bytes
from memwatch.decide.thresholds import Level
from memwatch.decide.verdict import Verdict
from memwatch.model.sample import JobCounters, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB

PAGE_BYTES = 4096
WATERMARK_BYTES = 128 * MIB  # below this the kernel reclaims
STEP_S = 0.02

Shape = Callable[[float], float]  # seconds since the start -> bytes


@dataclass
class Machine:
    """`job_rate` counts while it runs; `shape` is the job's size over the time that it has run; `desktop` and `cache`
    are sizes over time."""

    total_bytes: float = 16 * GIB
    swap_total_bytes: float = 8 * GIB
    desktop: Shape = lambda t: 4 * GIB
    cache: Shape = lambda t: 2 * GIB
    job_rate: float = 0.0
    shape: Shape | None = None
    starts_s: float = 5.0
    clock_s: float = 0.0
    ran_s: float = 0.0
    job_bytes: float = 0.0
    running: bool = True
    ended: bool = False
    swapped_bytes: float = 0.0
    swap_out_pages: float = 0.0
    swap_in_pages: float = 0.0
    stalled_us: float = 0.0
    refaults: float = 0.0

    @property
    def available_bytes(self) -> float:
        return max(self.total_bytes - self._anonymous_bytes, 0)

    @property
    def _anonymous_bytes(self) -> float:
        return self.desktop(self.clock_s) + self.job_bytes - self.swapped_bytes

    def advance(self, seconds: float) -> None:
        until_s = self.clock_s + seconds
        while self.clock_s < until_s - 1e-9:
            step_s = min(STEP_S if self.job_rate or self.shape else seconds, until_s - self.clock_s)
            self.clock_s += step_s
            self._grow(step_s)
            self._reclaim(step_s)

    def _grow(self, step_s: float) -> None:
        if not self.running or self.clock_s < self.starts_s:
            return
        self.ran_s += step_s
        if self.shape is not None:
            self.job_bytes = self.shape(self.ran_s)
        else:
            self.job_bytes += self.job_rate * step_s

    def _reclaim(self, step_s: float) -> None:
        short = self._anonymous_bytes - (self.total_bytes - WATERMARK_BYTES)
        if short <= 0:
            return
        out = min(short, self.swap_total_bytes - self.swapped_bytes)
        self.swapped_bytes += out
        self.swap_out_pages += out / PAGE_BYTES
        # What was pushed out is wanted back: half of it comes in again, and something else goes out for it.
        self.swap_in_pages += out / 2 / PAGE_BYTES
        self.swap_out_pages += out / 2 / PAGE_BYTES
        self.stalled_us += 0.6 * step_s * 1e6
        self.refaults += 20_000 * step_s

    def sample(self) -> Sample:
        swap_free = self.swap_total_bytes - self.swapped_bytes
        memory = Memory(
            int(self.total_bytes), int(self.available_bytes), int(self.swap_total_bytes), int(max(swap_free, 0))
        )
        stalled_us = int(self.stalled_us)
        paging = Paging(int(self.swap_in_pages), int(self.swap_out_pages), int(self.refaults / 2), int(self.refaults))
        job = Process(7, 7, 1, "R", int(self.job_bytes), 0, self.clock_s, None, None, "hog")
        counters = JobCounters(major_faults=int(self.refaults / 2) if self.running else 0)
        return Sample(
            t=self.clock_s,
            clock_s=self.clock_s,
            memory=memory,
            pressure=Pressure(stalled_us, stalled_us // 2),
            paging=paging,
            job=(job,),
            job_counters=counters,
        )


class Climber:
    """A ladder that carries out what it proposes: forecasts and verdicts in, what was done out."""

    def __init__(self, settings: LadderSettings) -> None:
        self.settings = settings
        self.state = ActionState()

    def step(self, verdict: Verdict, look: Forecast) -> Action | None:
        self.state = observed(self.state, verdict.level, look, self.settings)
        action = next_action(self.state, self.settings, verdict, look)
        if action is None or not is_confirmed(action, self.state, self.settings, look):
            return None
        self.done(action, look.clock_s)
        return action

    def done(self, action: Action, clock_s: float, by: By = By.GUARD) -> None:
        self.state = after(self.state, action, clock_s, by, self.settings)


@dataclass
class Run:
    """The guard's loop over a model machine: sample, forecast, decide, act."""

    machine: Machine
    on_pressure: OnPressure = OnPressure.PAUSE
    can_shard: bool = False
    settings: LadderSettings | None = None
    obeys_sigterm: bool = True
    reserve_bytes: int | None = None
    levels: list[tuple[float, Level]] = field(default_factory=list)
    actions: list[tuple[float, Step, str, int]] = field(default_factory=list)  # when, what, why, headroom then
    first_held_s: float | None = None  # however briefly
    held_s: float = 0.0  # in brief pauses
    paused_s: float = 0.0  # in all
    gone_s: float | None = None  # when headroom was gone
    least_bytes: float = float("inf")  # available
    short_s: float | None = None  # when the kernel began to reclaim: with swap, the first page goes out
    swapped_s: float | None = None  # when the first page was swapped out

    def __post_init__(self) -> None:
        total_bytes = int(self.machine.total_bytes)
        self.reserve = default_reserve_bytes(total_bytes) if self.reserve_bytes is None else self.reserve_bytes
        self.climber = Climber(self.settings or LadderSettings(self.on_pressure, self.can_shard))
        self.monitor = Monitor(lambda _: self.reserve, thresholds_for(self.climber.settings.on_pressure))

    def until(self, end_s: float) -> "Run":
        for _ in self.verdicts(end_s):
            pass
        return self

    def verdicts(self, end_s: float) -> Iterator[Verdict]:
        while self.machine.clock_s < end_s and not self.machine.ended:
            look, verdict = self.monitor.observe(self.machine.sample())
            if not self.levels or self.levels[-1][1] != verdict.level:
                self.levels.append((look.clock_s, verdict.level))
            action = self.climber.step(verdict, look)
            if action is not None:
                if action.step == Step.PAUSE and self.first_held_s is None:
                    self.first_held_s = look.clock_s
                if not action.is_brief:
                    self.actions.append((look.clock_s, action.step, action.reason, look.headroom_bytes or 0))
                self._carry_out(action.step)
            yield verdict
            self._pass(interval_s(self.climber.state, self.climber.settings, look, next_interval_s(look)))

    def first(self, step: Step) -> float | None:
        return next((when for when, done, *_ in self.actions if done == step), None)

    def reached(self, level: Level) -> float | None:
        return next((when for when, reached in self.levels if reached >= level), None)

    @property
    def steps(self) -> list[Step]:
        """Brief pauses do not count, and a pause in which the job was tried counts once."""
        steps = [step for _, step, *_ in self.actions]
        return [step for before, step in zip([None, *steps], steps, strict=False) if step != before]

    def _pass(self, seconds: float) -> None:
        before_s = self.machine.clock_s
        self.machine.advance(seconds)
        now_s = self.machine.clock_s
        if not self.machine.running:
            self.paused_s += now_s - before_s
            self.held_s += (now_s - before_s) * (self.climber.state.short_since_s is None)
        self.least_bytes = min(self.least_bytes, self.machine.available_bytes)
        if self.gone_s is None and self.machine.available_bytes <= self.reserve:
            self.gone_s = now_s
        if self.short_s is None and self.machine.available_bytes <= WATERMARK_BYTES:
            self.short_s = now_s
        if self.swapped_s is None and self.machine.swap_out_pages:
            self.swapped_s = now_s

    def _carry_out(self, step: Step) -> None:
        machine = self.machine
        if step == Step.PAUSE:
            machine.running = False
        elif step == Step.RESUME or (step == Step.STOP and not self.obeys_sigterm):
            machine.running = True
        elif step in (Step.STOP, Step.KILL):
            machine.ended = True
