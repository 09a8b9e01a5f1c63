"""How far the job is, from the best source there is, and what memory the whole run will need.

The job's own report (job.py) is best, then the position in the file that it reads, then a bar that it draws. A bar can
be read only where the job's output passes through the guard: on the full screen.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memwatch.decide.earlier_runs import EarlierRun, need_of
from memwatch.decide.peak import Persistence, WholeRun
from memwatch.guard.event_stream import EventStream
from memwatch.guard.output_relay import OutputRelay
from memwatch.journal.same_command import earlier_runs
from memwatch.model.run_need import RunNeed
from memwatch.model.sample import Sample
from memwatch.model.units import MIB
from memwatch.probe.background import Background
from memwatch.probe.position import InputPosition

if TYPE_CHECKING:
    from memwatch.model.progress_bar import Bar, BarReader

READ_BAR_INTERVAL_S = 1.0
POSITION_COUNTS_S = 15.0  # As long as that, a file that is not read for a moment is still the better source.
# A forecast takes 3 ms: a long run has time.
NEED_INTERVAL_S = 2.0
LONGEST_NEED_INTERVAL_S = 10.0
NEEDS_PER_RUN = 60
REPEAT_NEED_S = 5.0  # The time until memory is full is on the screen.
SMALL_JOB_BYTES = 64 * MIB  # What such a job needs is no news.
NOTABLE_CHANGE = 0.02

Note = Callable[[object, object, object], None]


class JobProgress:
    """`note` also gets done, total and unit of every progress."""

    def __init__(self, command: Sequence[str], events: EventStream, output: OutputRelay, note: Note) -> None:
        self._command = list(command)
        self._events = events
        self._output = output
        self._note = note
        self._position: InputPosition | None = InputPosition(in_background=True)  # None: the job reports its progress.
        self._position_s = self._bar_due_s = self._need_due_s = self._told_s = float("-inf")
        self._bars = _bar_reader() if output.is_captured else None
        self._bar: Bar | None = None
        self._work: tuple[str | None, float] | None = None  # the input's name, and the progress at 100 %
        self._run = WholeRun()
        self._fraction: float | None = None  # since the last forecast
        self._peak_bytes = 0
        self._persistence = Persistence()
        self._journals = Background("earlier runs", True)
        self._earlier: list[EarlierRun] = []
        self._told: RunNeed | None = None
        self._began_s: float | None = None
        self._has_warned = False

    def report(self, message: dict[str, object]) -> None:
        """From the job itself, through its channel."""
        self._position = None
        self._show(message)
        done, total = message.get("done"), message.get("total")
        if isinstance(done, int | float) and isinstance(total, int | float):
            self._reach(None, done, total)

    def look(self, sample: Sample, headroom_bytes: int | None, swap_bytes: int = 0) -> str | None:
        """Called with every sample. `swap_bytes` is what the job has and may have in swap, where it is confined.
        Returns the warning that the run will not fit, once."""
        if sample.job:
            self._run.sample(sample.job_bytes)
            self._peak_bytes = max(self._peak_bytes, sample.job_bytes)
        self._look_at_position(sample)
        self._look_at_bars(sample)
        if self._fraction is None:
            return None
        self._run.progress(sample.clock_s, self._fraction)
        if sample.clock_s < self._need_due_s:
            return None
        self._began_s = sample.clock_s if self._began_s is None else self._began_s
        interval_s = (sample.clock_s - self._began_s) / NEEDS_PER_RUN
        self._need_due_s = sample.clock_s + min(max(interval_s, NEED_INTERVAL_S), LONGEST_NEED_INTERVAL_S)
        there = None if headroom_bytes is None else max(sample.job_ram_bytes + headroom_bytes + swap_bytes, 0)
        return self._tell(self._need(self._fraction, there), sample.clock_s)

    def exit_facts(self) -> dict[str, object]:
        """For the journal's last event: what a later run of the same command can learn from."""
        if self._work is None:
            return {}
        name, total = self._work
        facts = {"work_total": total, "curve": [[fraction * total, used] for fraction, used in self._run.curve()]}
        return facts | ({} if name is None else {"input": name})

    def _look_at_position(self, sample: Sample) -> None:
        position = None if self._position is None else self._position.look(sample.job, sample.clock_s)
        if position is None:
            return
        self._position_s = sample.clock_s
        size = {"done": position.done_bytes, "total": position.total_bytes, "unit": "bytes"}
        self._show(size | {"source": "open file", "name": position.name})
        self._reach(position.name, position.done_bytes, position.total_bytes)

    def _look_at_bars(self, sample: Sample) -> None:
        if self._bars is None or sample.clock_s < self._bar_due_s:
            return
        self._bar_due_s = sample.clock_s + READ_BAR_INTERVAL_S
        text, is_cut = self._output.unread()
        is_known = self._position is None or sample.clock_s - self._position_s < POSITION_COUNTS_S
        bar = None if is_known else self._bars.feed(text, is_cut)
        if bar is not None and bar != self._bar:
            self._bar = bar
            self._show(_bar_facts(bar))
            if bar.fraction is not None:
                self._reach(None, bar.fraction, 1.0)

    def _show(self, facts: dict[str, object]) -> None:
        self._events.progress(facts)
        self._note(facts.get("done"), facts.get("total"), facts.get("unit"))

    def _reach(self, name: str | None, done: float, total: float) -> None:
        if not (total > 0 and done >= 0):
            return
        if self._work != (name, total):
            is_larger = self._work is None or total > self._work[1]
            if is_larger:
                self._work = (name, total)
                self._journals.start(self._read_journals)
            elif self._work is not None and name != self._work[0]:
                return  # A smaller file beside the input.
            self._run = WholeRun()
        self._fraction = min(done / total, 1.0)

    def _read_journals(self) -> None:
        if self._work is not None and self._work[1] > 1:
            self._earlier = earlier_runs(self._command, self._work[0])

    def _need(self, fraction: float, there_bytes: int | None) -> RunNeed | None:
        self._fraction = None
        total = 0.0 if self._work is None else self._work[1]
        outlook = self._run.outlook()
        need = need_of(outlook, self._earlier, total, fraction, self._peak_bytes, there_bytes)
        return need if need is not None and need.high_bytes >= SMALL_JOB_BYTES else None

    def _tell(self, need: RunNeed | None, clock_s: float) -> str | None:
        is_warning = self._persistence.is_warning(need) and not self._has_warned
        is_news = _differs(need, self._told) or (need is not None and clock_s - self._told_s >= REPEAT_NEED_S)
        if not is_news and not is_warning:
            return None
        self._told, self._told_s = need, clock_s
        facts = {} if need is None else need.as_json()
        if not is_warning or need is None:
            self._events.need(facts)
            return None
        self._has_warned = True
        warning = need.warning(self._command)
        self._events.need(facts | {"warning": warning})
        return warning


def _bar_reader() -> "BarReader":
    """Its patterns take milliseconds to compile, at a time when the job waits for its guard."""
    from memwatch.model.progress_bar import BarReader

    return BarReader()


def _bar_facts(bar: "Bar") -> dict[str, object]:
    source: dict[str, object] = {"source": "its output", "name": bar.name or None}
    if bar.fraction is None:
        return {"done": bar.done_bytes, "unit": "bytes"} | source
    left = {} if bar.left_s is None else {"eta_s": bar.left_s}
    return {"done": round(100 * bar.fraction, 1), "total": 100, "unit": "%"} | left | source


def _differs(need: RunNeed | None, before: RunNeed | None) -> bool:
    if need is None or before is None:
        return need is not before
    change = abs(need.need_bytes - before.need_bytes) / before.need_bytes
    return change >= NOTABLE_CHANGE or (need.full_at is None) != (before.full_at is None)
