"""Confine: a job larger than memory goes on inside the memory it has. The kernel swaps its pages and nobody else's.

The job's scope gets a limit near what the job holds (`confined_limit_bytes`). Then the machine's own counters (PSI,
swap traffic, refaults) show mainly the job's swapping and say nothing about the others: `rest_of_machine` takes them
out of a sample. What ends the confinement is decided here, from readings of the scope and of the other cgroups:

    swap runs out               what is left of it is used up within moments          pause, then stop
    the job does not progress   it waits for its pages nearly all of the time         pause, then stop
    memory is lost all the same half of the reserve is gone (others took it, or zram) pause, until enough was reclaimed
                                                                                      from the job; then stop
    the others suffer           they wait for memory or for the disk                  pause for 10 s; the third time
                                                                                      pause, then stop
    the job fits again          hardly anything of it is in swap and there is room    release

If the others suffer as much while the job is paused, it is not the job's doing, and their pressure counts no more.
"""

from collections import deque
from dataclasses import dataclass, replace

from memwatch.decide.actions import Action, ActionState, By, LadderSettings, OnPressure, Step
from memwatch.decide.forecast import Forecast
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
SMALLEST_STEP_BYTES = 8 * MIB
# Of what a job holds: room for the page cache of what it reads and runs from.
CACHE_SHARE = 1 / 64
# From a sample to a paused job, with the pages that go out meanwhile.
SWAP_MARGIN_S = 2.0
SWAP_MARGIN_BYTES = 32 * MIB
WARN_S = 60.0
SURELY_WARN_S = 20.0
WINDOW_S = 60.0
LEAST_LEFT_S = 10.0  # until the end: less is not said of a confined job
STEP_S = 0.5
GROWTH_S = (3.0, 10.0)
STUCK_STALL_FRACTION = 0.8
# A job that reads its list back from a disk of 40 MB/s computes 3 % of the time, one that faults at random far less.
STUCK_CPU_FRACTION = 0.005
STUCK_GROWTH_SHARE = 0.01
SUFFERS_S = 5.0
SUFFERS_MEMORY_FRACTION = 0.25
SUFFERS_IO_FRACTION = 0.6
REST_PAUSES = 2
SETTLED_S = 10.0
FITS_SHARE = 1 / 32
LOST_SHARE = 1 / 2
LOST_S = 3.0


@dataclass(frozen=True, slots=True)
class ConfineReading:
    """The job's scope and the rest of the machine at one instant. Counters run on; unknown is None.

    `swap_bytes` is in swap only; `swap_left_bytes` is what the job may still put there; `rest` is the time that other
    cgroups were stalled, at each moment that of the one that suffers most. `done` and `total` are the job's progress,
    in `unit`.
    """

    clock_s: float
    limit_bytes: int
    held_bytes: int
    swap_bytes: int
    swap_left_bytes: int
    user_cpu_s: float | None = None
    stall_full_us: int | None = None
    rest: Pressure | None = None
    done: float | None = None
    total: float | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Confined:
    """What the readings say. `rest_suffers` is in words; `rate_before` is the job's progress before it was confined."""

    limit_bytes: int
    held_bytes: int
    swap_bytes: int
    swap_left_bytes: int
    swap_growth_bytes_s: float = 0.0
    is_stuck: bool = False
    rest_suffers: str | None = None
    has_settled: bool = False
    since_s: float = 0.0  # when the limit was first in force
    rate: float | None = None
    rate_before: float | None = None
    left: float | None = None  # of the job's progress, in its unit
    unit: str | None = None

    @property
    def swap_full_in_s(self) -> float | None:
        return self.swap_left_bytes / self.swap_growth_bytes_s if self.swap_growth_bytes_s > 0 else None

    @property
    def is_swap_out(self) -> bool:
        """Nothing more may go to swap: at its limit, the kernel would kill the job."""
        margin = max(self.swap_growth_bytes_s * SWAP_MARGIN_S, SWAP_MARGIN_BYTES)
        return self.swap_left_bytes <= margin

    @property
    def left_s(self) -> float | None:
        return self.left / self.rate if self.left is not None and self.rate else None


class ConfineHistory:
    """Readings of the last minute, in bounded space. One for each confinement."""

    def __init__(self, rate_before: float | None = None) -> None:
        self._rate_before = rate_before
        self._readings: deque[ConfineReading] = deque()
        self._since_s: float | None = None

    def add(self, reading: ConfineReading) -> Confined:
        kept = self._readings
        self._since_s = reading.clock_s if self._since_s is None else self._since_s
        if len(kept) >= 2 and kept[-1].clock_s - kept[-2].clock_s < STEP_S:
            kept.pop()
        kept.append(reading)
        while kept[-1].clock_s - kept[0].clock_s > WINDOW_S + STEP_S:
            kept.popleft()
        return Confined(
            reading.limit_bytes,
            reading.held_bytes,
            reading.swap_bytes,
            reading.swap_left_bytes,
            swap_growth_bytes_s=max((self._growth(span_s) for span_s in GROWTH_S), default=0.0),
            is_stuck=self._is_stuck(),
            rest_suffers=self._rest_suffers(),
            has_settled=self._has_settled(),
            since_s=self._since_s,
            rate=self._progress_rate(),
            rate_before=self._rate_before,
            left=None if reading.done is None or reading.total is None else max(reading.total - reading.done, 0),
            unit=reading.unit,
        )

    def _before(self, span_s: float) -> ConfineReading | None:
        """The newest reading at least so old."""
        last_s = self._readings[-1].clock_s
        return next((r for r in reversed(self._readings) if last_s - r.clock_s >= span_s), None)

    def _growth(self, span_s: float) -> float:
        earlier, latest = self._before(span_s), self._readings[-1]
        if earlier is None:
            return 0.0
        return max(latest.swap_bytes - earlier.swap_bytes, 0) / (latest.clock_s - earlier.clock_s)

    def _is_stuck(self) -> bool:
        """For a minute it has waited for its pages, computed next to nothing, and neither grown nor reported."""
        earlier, latest = self._before(WINDOW_S), self._readings[-1]
        if earlier is None or latest.user_cpu_s is None or earlier.user_cpu_s is None:
            return False
        if latest.stall_full_us is None or earlier.stall_full_us is None:
            return False
        span_s = latest.clock_s - earlier.clock_s
        size, grown = latest.held_bytes + latest.swap_bytes, abs(_size(latest) - _size(earlier))
        return (
            (latest.stall_full_us - earlier.stall_full_us) / 1e6 / span_s >= STUCK_STALL_FRACTION
            and (latest.user_cpu_s - earlier.user_cpu_s) / span_s <= STUCK_CPU_FRACTION
            and grown <= size * STUCK_GROWTH_SHARE
            and latest.done == earlier.done
        )

    def _rest_suffers(self) -> str | None:
        earlier, latest = self._before(SUFFERS_S), self._readings[-1]
        if earlier is None or earlier.rest is None or latest.rest is None:
            return None
        span_us = (latest.clock_s - earlier.clock_s) * 1e6
        memory = (latest.rest.memory_some_us - earlier.rest.memory_some_us) / span_us
        io = ((latest.rest.io_full_us or 0) - (earlier.rest.io_full_us or 0)) / span_us
        if memory >= SUFFERS_MEMORY_FRACTION:
            return f"other programs stalled on memory {min(memory, 1):.0%} of the last 5 s".replace("%", " %")
        if io >= SUFFERS_IO_FRACTION:
            return f"other programs waited for the disk {min(io, 1):.0%} of the last 5 s".replace("%", " %")
        return None

    def _has_settled(self) -> bool:
        """It has held less than it may for a while, and hardly anything of it is in swap."""
        earlier = self._before(SETTLED_S)
        if earlier is None:
            return False
        recent = [r for r in self._readings if r.clock_s >= earlier.clock_s]
        return all(r.swap_bytes <= max(_size(r) * FITS_SHARE, SMALLEST_STEP_BYTES) for r in recent)

    def _progress_rate(self) -> float | None:
        known = [r for r in self._readings if r.done is not None]
        if not known or known[-1].clock_s - known[0].clock_s < SUFFERS_S:
            return None
        return ((known[-1].done or 0) - (known[0].done or 0)) / (known[-1].clock_s - known[0].clock_s)


def _size(reading: ConfineReading) -> int:
    return reading.held_bytes + reading.swap_bytes


def swap_left_bytes(memory: Memory) -> int:
    """How much more of the job may go to swap.

    Swap in zram is RAM: what goes there comes out of what is available, and the limit follows that down.
    """
    kept = max(int(memory.swap_total_bytes * KEPT_SWAP_SHARE), LEAST_KEPT_SWAP_BYTES)
    return max(memory.swap_free_bytes - kept, 0)


def is_swap_enough(memory: Memory, reserve_bytes: int) -> bool:
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
    resume_bytes = forecast.reserve_bytes / 4
    if state.confined_by == By.GUARD and confined.has_settled and (forecast.headroom_bytes or 0) >= resume_bytes:
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
    enough = forecast.reserve_bytes / 4 if state.is_blamed else -forecast.reserve_bytes * MOVE_SHARE
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
