"""RunStory: the content of a run or a record for the page, from one pass over its events, in bounded memory.

The axis is `x`: Unix time, but never going back. A clock that was set back would fold the chart over itself; so from
there on `x` runs ahead of what the clock says, and the page says so.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

from memwatch.journal.codec import BEYOND, is_plausible_time, plausible_sample
from memwatch.journal.events import Event
from memwatch.model.rates import change_between
from memwatch.model.sample import Gpu, Limit, Sample
from memwatch.report.axes import Mark, mark_of, rank
from memwatch.report.columns import Columns
from memwatch.report.program_names import Programs

RATE_S = 1.0  # rates are read over at least that: PSI moves in steps, and samples come up to ten times a second
# A line is broken where samples are missing: for this many times what is usual, which is the median of the last
# intervals, but no less than what the recorder set out to do, and at least so many seconds.
GAP_INTERVALS = 2.5
SHORTEST_GAP_S = 3.0
LAST_INTERVALS = 9
USUAL_INTERVAL_S = 1.0  # the guard's slowest interval, for journals that do not record it
FIRST_INTERVAL_S = 5.0
LONGEST_INTERVAL_S = 1e7  # longer ones are not plausible
OUT_OF_ORDER_S = 1.0  # events of one moment may be written in another order; more than that is a clock set back
MOST_EVERY = 10_000  # a journal leaves out at most a hundred samples in a row
MOST_MARKS = 200
MOST_GAPS = 200


class GapKind(StrEnum):
    """Why there are no samples, in the words of the page. The first may be a freeze; the others are none."""

    NO_SAMPLES = "no samples"
    RESTART = "no samples: the machine was restarted"
    ASLEEP = "suspended, or the clock was set"
    NOT_RECORDING = "not recording"


@dataclass(frozen=True, slots=True)
class RecordGap:
    begin_x: float
    end_x: float
    kind: GapKind

    @property
    def seconds(self) -> float:
        return self.end_x - self.begin_x


@dataclass(slots=True)
class RunStory:
    """Levels: used, job, swap, job_swap, limit, level, gpu0_use, gpu0_memory. Rates: some, full, io, in, out."""

    programs: Programs
    levels: Columns = field(default_factory=Columns)
    rates: Columns = field(default_factory=Columns)
    start: Event | None = None
    exit: Event | None = None
    begin_x: float | None = None
    end_x: float | None = None
    samples: int = 0
    total_bytes: int | None = None
    swap_total_bytes: int | None = None
    least_available_bytes: int | None = None
    least_available_t: float | None = None
    peak_job_bytes: int | None = None
    limit: Limit | None = None  # the tightest that is below the machine's RAM
    gpus: dict[int, Gpu] = field(default_factory=dict)
    knows_gpus: bool = False
    marks: list[Mark] = field(default_factory=list)
    lost_marks: int = 0
    gaps: list[RecordGap] = field(default_factory=list)
    worst_level: str = "calm"
    set_back_s: float = 0.0

    @property
    def is_of_a_job(self) -> bool:
        return self.peak_job_bytes is not None

    @property
    def spans_days(self) -> bool:
        """Whether times of day need a date."""
        return self.span_s > 86400

    @property
    def span_s(self) -> float:
        return (self.end_x or 0.0) - (self.begin_x or 0.0)


def read_story(events: Iterable[Event], show_commands: bool = False) -> RunStory:
    reader = _Reader(RunStory(Programs(show_commands)))
    for event in events:
        reader.take(event)
    return reader.story


class _Reader:
    def __init__(self, story: RunStory) -> None:
        self.story = story
        self._last: Sample | None = None
        self._last_x = float("-inf")
        self._anchor: Sample | None = None
        self._anchor_x = 0.0
        self._intervals_s: deque[float] = deque(maxlen=LAST_INTERVALS)
        self._set_interval_s = USUAL_INTERVAL_S
        self._level = "calm"
        self._shift_s = 0.0
        self._has_ended = False

    def take(self, event: Event) -> None:
        kind, t = event["event"], float(str(event["t"]))
        if not is_plausible_time(t):
            return
        if kind == "sample":
            if (sample := plausible_sample(event)) is not None:
                self._sample(sample, every=event.get("every"))
        elif kind == "start":
            self._start(event, self._x(t))
        elif kind == "verdict":
            self._mark(mark_of(self._x(t), event, self._level))
            self._level = str(event.get("level"))
            self.story.worst_level = max(self.story.worst_level, self._level, key=rank)
        elif kind in ("action", "gap"):
            self._mark(mark_of(self._x(t), event, self._level))
        elif kind == "exit":
            self.story.exit = event
            self._has_ended = True
            self._know_peak(event.get("peak_job_bytes"))
            self._mark(mark_of(self._x(t), event, self._level))

    def _start(self, event: Event, x: float) -> None:
        story = self.story
        if story.start is None:
            story.start = event
        elif not event.get("continued"):
            again = "the machine was restarted" if _boot(event) != _boot(story.start) else "the recorder was restarted"
            self._mark(Mark(x, float(str(event["t"])), "start", f"recording starts again: {again}"))
            story.start = event
        story.exit = None
        limits = event.get("limits")
        noted = limits.get("interval_s") if isinstance(limits, dict) else None
        self._set_interval_s = (
            noted if isinstance(noted, float) and 0 < noted < LONGEST_INTERVAL_S else USUAL_INTERVAL_S
        )

    def _sample(self, sample: Sample, every: object) -> None:
        story, last = self.story, self._last
        passed_s = 0.0 if last is None else max(sample.clock_s - last.clock_s, 0.0)
        x = self._x(sample.t, self._last_x + passed_s)
        if last is not None:
            self._look_for_gap(last, sample, x, every if isinstance(every, int) and 0 < every < MOST_EVERY else 1)
        story.samples += 1
        story.levels.add(x, self._levels(sample))
        self._rates(sample, x)
        story.programs.see(sample)
        self._last, self._last_x, self._has_ended = sample, x, False

    def _x(self, t: float, expected_x: float = float("-inf")) -> float:
        """Where `t` is on the axis; `expected_x` is where the monotonic clock would have it, if that is known."""
        story = self.story
        if story.begin_x is None or story.end_x is None:
            story.begin_x = story.end_x = t
        x = t + self._shift_s
        if x < story.end_x - OUT_OF_ORDER_S:
            back_s = max(story.end_x, expected_x) - x
            self._shift_s += back_s
            story.set_back_s += back_s
            x += back_s
        story.end_x = max(x, story.end_x)
        return x

    def _look_for_gap(self, last: Sample, sample: Sample, x: float, every: int) -> None:
        last_x = self._last_x
        passed_s, clock_s = x - last_x, sample.clock_s - last.clock_s
        usual_s = median(self._intervals_s) if self._intervals_s else FIRST_INTERVAL_S
        longest_s = max(GAP_INTERVALS * max(usual_s, self._set_interval_s) * every, SHORTEST_GAP_S)
        self._intervals_s.append(passed_s / every)
        rebooted = clock_s < 0
        if passed_s <= longest_s and not rebooted:
            return
        kind = self._kind_of_gap(rebooted, clock_s < passed_s / 2)
        self.story.levels.break_all()
        self.story.gaps.append(RecordGap(last_x, x, kind))
        if len(self.story.gaps) > MOST_GAPS:
            self.story.gaps.remove(min(self.story.gaps, key=lambda gap: gap.seconds))
        if kind != GapKind.NO_SAMPLES:  # Then the counters do not cover it either.
            self._anchor = None
            self.story.rates.break_all()

    def _kind_of_gap(self, rebooted: bool, clock_stood_still: bool) -> GapKind:
        if self._has_ended:
            return GapKind.NOT_RECORDING
        if rebooted:
            return GapKind.RESTART
        return GapKind.ASLEEP if clock_stood_still else GapKind.NO_SAMPLES

    def _levels(self, sample: Sample) -> dict[str, float | None]:
        story, memory = self.story, sample.memory
        values: dict[str, float | None] = {"level": float(rank(self._level))}
        if memory is not None:
            story.total_bytes = memory.total_bytes
            story.swap_total_bytes = max(memory.swap_total_bytes, story.swap_total_bytes or 0)
            if story.least_available_bytes is None or memory.available_bytes < story.least_available_bytes:
                story.least_available_bytes, story.least_available_t = memory.available_bytes, sample.t
            values["swap"] = memory.swap_total_bytes - memory.swap_free_bytes
        values["used"] = None if memory is None else memory.total_bytes - memory.available_bytes
        if sample.job:
            self._know_peak(sample.job_bytes)
            values["job_swap"] = sample.job_swap_bytes
        values["job"] = sample.job_ram_bytes if sample.job else None
        values["limit"] = self._limit(sample)
        return values | self._gpus(sample.gpus)

    def _know_peak(self, job_bytes: object) -> None:
        if isinstance(job_bytes, int) and 0 <= job_bytes < BEYOND:
            self.story.peak_job_bytes = max(job_bytes, self.story.peak_job_bytes or 0)

    def _limit(self, sample: Sample) -> float | None:
        story = self.story
        for limit in sample.limits:
            below_ram = story.total_bytes is None or limit.limit_bytes < story.total_bytes
            if below_ram and (story.limit is None or limit.limit_bytes < story.limit.limit_bytes):
                story.limit = limit
        of = story.limit
        return next((limit.used_bytes for limit in sample.limits if of is not None and limit.path == of.path), None)

    def _gpus(self, gpus: tuple[Gpu, ...] | None) -> dict[str, float | None]:
        if gpus is None:
            return {f"gpu{index}_{what}": None for index in self.story.gpus for what in ("use", "memory")}
        self.story.knows_gpus = True
        values: dict[str, float | None] = {}
        for gpu in gpus:
            self.story.gpus[gpu.index] = gpu
            values[f"gpu{gpu.index}_use"] = gpu.used_fraction
            values[f"gpu{gpu.index}_memory"] = gpu.memory_used_bytes
        return values

    def _rates(self, sample: Sample, x: float) -> None:
        """What was counted between two samples holds for all the time between them, also in a gap."""
        anchor = self._anchor
        if anchor is not None:
            span_s = sample.clock_s - anchor.clock_s
            if 0 <= span_s < RATE_S:
                return
            self.story.rates.add_span(self._anchor_x, x, _between(anchor, sample))
        self._anchor, self._anchor_x = sample, x

    def _mark(self, mark: Mark | None) -> None:
        if mark is None:
            return
        self.story.marks.append(mark)
        if len(self.story.marks) > MOST_MARKS:
            del self.story.marks[0]
            self.story.lost_marks += 1


def _between(earlier: Sample, later: Sample) -> dict[str, float | None]:
    change = change_between(earlier, later)
    return {
        "some": change.stall_some_fraction,
        "full": change.stall_full_fraction,
        "io": change.io_stall_some_fraction,
        "in": change.swap_in_bytes_s,
        "out": change.swap_out_bytes_s,
    }


def _boot(start: Event) -> object:
    guard = start.get("guard")
    return guard.get("boot_id") if isinstance(guard, dict) else None
