"""Makes a Timeline of samples, in one pass and in bounded space."""

from collections import deque

from memwatch.diagnose.timeline.growth import Growths
from memwatch.diagnose.timeline.model import Cut, Gap, Sleep, Stretch, Timeline
from memwatch.diagnose.timeline.strain import GpuSums, between
from memwatch.diagnose.timeline.stretches import OpenStretch
from memwatch.model.sample import Sample

INTERVAL_S = 2.0  # over which rates are read: PSI moves in steps, and samples come up to ten times a second
JOIN_S = 30.0  # strain that pauses for less is one stretch
SHORTEST_STRAIN_S = 6.0
GAP_S = 8.0
GAP_INTERVALS = 4.0  # times the usual interval
CLOCK_DRIFT_S = 3.0
MOST_KEPT = 200  # stretches, gaps, sleeps


class TimelineBuilder:
    """Takes samples in the order in which they were made."""

    def __init__(self, name: str, show_commands: bool = False) -> None:
        self._name = name
        self._growths = Growths(show_commands)
        self._gpus = GpuSums()
        self._first: Sample | None = None
        self._last: Sample | None = None
        self._anchor: Sample | None = None
        self._typical_s: float | None = None
        self._processes: dict[tuple[int, int], tuple[float, float]] = {}  # who -> cpu_s, clock_s
        self._open: OpenStretch | None = None
        self._stretches: deque[Stretch] = deque(maxlen=MOST_KEPT)
        self._gaps: deque[Gap] = deque(maxlen=MOST_KEPT)
        self._sleeps: deque[Sleep] = deque(maxlen=MOST_KEPT)
        self._cuts: deque[Cut] = deque(maxlen=MOST_KEPT)
        self._samples = 0
        self._ended = self._is_restarted = False
        self._least_disk: tuple[int, float] | None = None
        self._knows_pressure = self._knows_paging = False

    def add(self, sample: Sample, stands_for: int = 1) -> None:
        """`stands_for`: how many samples were made of which this one was kept."""
        last = self._last
        self._samples += 1
        self._first = self._first or sample
        self._note(sample)
        if last is None or self._ended:
            self._begin(sample)
        elif self._is_restarted or sample.clock_s < last.clock_s:
            # Since boot the monotonic clock never goes back.
            self._cut(last, rebooted=sample.clock_s < last.clock_s)
            self._begin(sample)
        elif sample.clock_s > last.clock_s:
            self._step(last, sample, stands_for)
        self._last = sample
        self._ended = self._is_restarted = False

    def end(self) -> None:
        """The recorder said that it ends: what follows, if anything, is another recording."""
        self._close_stretch()
        self._ended = True

    def restart(self) -> None:
        """Another recording begins. If the last one did not say that it ends, it was cut off."""
        if self._last is not None and not self._ended:
            self._is_restarted = True

    def finish(self, quiet_after_t: float = float("inf"), booted_t: float | None = None) -> Timeline:
        """A recording that says nothing since `quiet_after_t`, nor that it ended, was cut off."""
        last = self._last
        if last is not None and last.t < quiet_after_t < float("inf") and not self._ended:
            self._cut(last, rebooted=booted_t is not None and last.t < booted_t)
        self._close_stretch()
        return Timeline(
            name=self._name,
            start_t=None if self._first is None else self._first.t,
            end_t=None if self._last is None else self._last.t,
            samples=self._samples,
            stretches=tuple(self._stretches),
            gaps=tuple(self._gaps),
            sleeps=tuple(self._sleeps),
            cuts=tuple(self._cuts),
            gpus=self._gpus.uses(),
            knows_pressure=self._knows_pressure,
            knows_paging=self._knows_paging,
            least_disk_free_bytes=None if self._least_disk is None else self._least_disk[0],
            least_disk_free_t=None if self._least_disk is None else self._least_disk[1],
            growers=self._growths.growers(float("-inf")),
        )

    def _note(self, sample: Sample) -> None:
        self._growths.see((*sample.job, *(sample.others or ())), sample.t, hold=self._open is not None)
        self._gpus.see(sample.gpus, sample.t)
        self._knows_pressure |= sample.pressure is not None
        self._knows_paging |= sample.paging is not None
        if sample.disk_free_bytes is not None:
            now = (sample.disk_free_bytes, sample.t)
            self._least_disk = min(self._least_disk or now, now)

    def _begin(self, sample: Sample) -> None:
        self._anchor = sample
        self._processes.clear()
        self._busy_cores(sample)

    def _step(self, last: Sample, sample: Sample, stands_for: int) -> None:
        span_s = sample.clock_s - last.clock_s
        if (sample.t - last.t) - span_s > CLOCK_DRIFT_S:
            self._sleeps.append(Sleep(last.t, sample.t))
        interval_s = span_s / max(stands_for, 1)
        is_gap = self._typical_s is not None and interval_s > max(GAP_S, GAP_INTERVALS * self._typical_s)
        busy_cores = self._busy_cores(sample)
        if is_gap:
            self._gap(last, sample, busy_cores)
        else:
            self._typical_s = interval_s if self._typical_s is None else 0.9 * self._typical_s + 0.1 * interval_s
        anchor = self._anchor or last
        if is_gap or sample.clock_s - anchor.clock_s >= INTERVAL_S:
            # What came before a gap is not part of it.
            self._interval(last if is_gap else anchor, sample, is_gap)
            self._anchor = sample
        if self._open is not None:
            self._open.see(sample)

    def _gap(self, last: Sample, sample: Sample, busy_cores: float | None) -> None:
        span = between(last, sample)
        known = [each.memory.available_bytes for each in (last, sample) if each.memory is not None]
        gap = Gap(last.t, sample.t, span.memory_stalled, span.disk_stalled, busy_cores, min(known, default=None))
        self._gaps.append(gap)

    def _interval(self, earlier: Sample, later: Sample, is_gap: bool) -> None:
        interval = between(earlier, later)
        strain = interval.strain
        if strain is not None:
            if self._open is None:
                self._open = OpenStretch(interval.start_t, interval.end_t)
                self._open.see(earlier)
            self._open.take(interval, strain)
            if is_gap:
                self._open.longest_gap_s = max(self._open.longest_gap_s, interval.span_s)
        elif self._open is not None and later.t - self._open.end_t > JOIN_S:
            self._close_stretch()

    def _close_stretch(self, cut_off: bool = False) -> None:
        stretch, self._open = self._open, None
        if stretch is None:
            return
        if stretch.strained_s >= SHORTEST_STRAIN_S:
            self._stretches.append(stretch.closed(self._growths, cut_off))

    def _cut(self, last: Sample, rebooted: bool) -> None:
        memory = last.memory
        self._close_stretch(cut_off=True)
        available = None if memory is None else memory.available_bytes
        self._cuts.append(Cut(last.t, available, None if memory is None else memory.total_bytes, rebooted))

    def _busy_cores(self, sample: Sample) -> float | None:
        """How many cores the processes that are known kept busy since they were last looked at."""
        busy, known = 0.0, False
        if sample.others is None and not sample.job:
            return None
        seen = {}
        for process in (*sample.job, *(sample.others or ())):
            key = (process.pid, process.start_ticks)
            before = self._processes.get(key)
            if before is not None and sample.clock_s > before[1]:
                busy += max(process.cpu_s - before[0], 0.0) / (sample.clock_s - before[1])
                known = True
            seen[key] = (process.cpu_s, sample.clock_s)
        self._processes = seen if sample.others is not None else self._processes | seen
        return busy if known else None
