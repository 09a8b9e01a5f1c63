"""RunModel: takes the events of a run one by one, and holds the picture that the screen shows."""

import math
from collections import deque
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from memwatch.decide.actions import was_carried_out
from memwatch.journal.codec import sample_from_json
from memwatch.journal.event_words import EventLine, event_line
from memwatch.journal.events import waits_for_reason
from memwatch.model.node_rows import rows_of
from memwatch.model.programs import as_given, is_memwatch_itself, is_tokenizer
from memwatch.model.rates import UNKNOWN_CHANGE, Change, change_between
from memwatch.model.run_need import RunNeed
from memwatch.model.sample import Process, Sample
from memwatch.tui.model.eta import Eta, ProgressPace
from memwatch.tui.model.picture import (
    JobState,
    Judged,
    MemoryRoom,
    Pause,
    Picture,
    ProcessRow,
    Progress,
    ViewKind,
)
from memwatch.tui.model.process_rows import process_rows
from memwatch.tui.model.series import Series, SeriesPoint, Trends
from memwatch.tui.model.terminal_text import TerminalText

MOST_HAPPENINGS = 500
RATES_S = 2.0  # over which counters are turned into rates
RECENT_SAMPLES = 40  # samples, at 10 Hz more than RATES_S
MOST_NUMBER = 1e18
BELIEVED = ("medium", "high", "certain")  # what the guard acts on; a low confidence is a guess

Event = dict[str, Any]


class RunModel:
    def __init__(self, kind: ViewKind, has_job: bool = True) -> None:
        self._has_job = has_job
        self._now = Picture(kind=kind, state=JobState.STARTING if has_job else JobState.WATCHING, has_job=has_job)
        self._series = Series()
        self._trends = Trends()
        self._node_trends = Trends()
        self._recent: deque[Sample] = deque(maxlen=RECENT_SAMPLES)
        self._pace = ProgressPace()
        self._happenings: deque[EventLine] = deque(maxlen=MOST_HAPPENINGS)
        self._text = TerminalText()

    def picture(self, now_t: float) -> Picture:
        points = self._series.points
        output = self._text.lines()
        return replace(self._now, now_t=now_t, points=points, happenings=tuple(self._happenings), output=output)

    def know_peak(self, job_bytes: int | None) -> None:
        """The peak of the job so far, where not every sample was taken."""
        if job_bytes is not None:
            self._now = replace(self._now, peak_job_bytes=max(self._now.peak_job_bytes or 0, job_bytes))

    def take(self, event: Event) -> None:
        """An invalid event is skipped: a view must not fail because of what it shows."""
        if isinstance(event.get("t"), int | float) and isinstance(event.get("event"), str):
            with suppress(TypeError, ValueError, KeyError, AttributeError):
                self._take(event, event["t"])

    def _take(self, event: Event, t: float) -> None:
        if event.get("brief"):
            return  # Over before anybody could read it.
        line = event_line(event, "calm" if self._now.judged is None else self._now.judged.level)
        if line is not None and self._has_job:
            self._happenings.append(line)
        match event["event"]:
            case "start":
                self._start(event)
            case "sample":
                self._sample(event)
            case "verdict":
                self._now = replace(self._now, judged=_judged(event, t))
            case "action":
                self._action(event)
            case "progress":
                self._progress(event)
            case "nodes":
                self._nodes(event, t)
            case "need":
                self._need(event)
            case "output":
                self._output(event)
            case "guard":
                can_shard = "shard" in event.get("can", ()) or self._now.can_shard
                can_confine = "confine" in event.get("can", ())
                is_on = bool(event.get("is_on"))
                self._now = replace(self._now, is_guard_on=is_on, can_shard=can_shard, can_confine=can_confine)
            case "exit":
                self._now = replace(
                    self._now, state=JobState.ENDED, exit_code=event.get("code"), exit=event, pause=None
                )
                self.know_peak(_whole(event.get("peak_job_bytes")))

    def _start(self, event: Event) -> None:
        run = str(event.get("run") or "")
        title, is_tokenizer = title_of(event.get("command") or ())
        self._now = replace(
            self._now,
            run_id=run,
            diagnosed_as=str(event.get("diagnose_as") or run) or None,
            title=title,
            state=JobState.RUNNING,
            can_shard=is_tokenizer,
            is_recorded=bool(run),
            started_t=float(event["t"]),
        )

    def _sample(self, event: Event) -> None:
        try:
            sample = sample_from_json(event)
        except ValueError:
            return  # From a memwatch that knows another kind of sample.
        if self._recent and sample.clock_s <= self._recent[-1].clock_s:
            return
        self._recent.append(sample)
        earlier = self._earlier(sample)
        rates = UNKNOWN_CHANGE if earlier is None else change_between(earlier, sample)
        room = room_of(sample)
        self._now = replace(
            self._now,
            started_t=sample.t if self._now.started_t is None else self._now.started_t,
            sample=sample if sample.gpus is not None else replace(sample, gpus=self._known_gpus()),
            room=room,
            rates=rates,
            peak_job_bytes=self._peak(sample),
            processes=self._process_rows(sample, earlier),
            others=self._others(sample),
        )
        self._series.add(_point(sample, room, rates))

    def _process_rows(self, latest: Sample, earlier: Sample | None) -> tuple[ProcessRow, ...]:
        """The rows of the job's processes; without a job, of the biggest processes."""
        span_s = None if earlier is None else latest.clock_s - earlier.clock_s
        if self._has_job:
            shown, before = latest.job, () if earlier is None else earlier.job
        elif latest.others is None:
            return self._now.processes
        else:
            shown, before = latest.others, () if earlier is None else earlier.others or ()
        self._trends.add(latest.t, [(_key(process), process.taken_bytes) for process in shown])
        rows = process_rows(shown, before, span_s)
        return tuple(replace(row, trend=self._trends.of(_key(row.process))) for row in rows)

    def _peak(self, sample: Sample) -> int | None:
        before = self._now.peak_job_bytes
        return max(before or 0, sample.job_bytes) if sample.job else before

    def _others(self, sample: Sample) -> tuple[Process, ...] | None:
        """Not every sample has them, so the last ones are kept. memwatch's own processes are left out."""
        if sample.others is None:
            return self._now.others
        return tuple(process for process in sample.others if not is_memwatch_itself(process.command))

    def _known_gpus(self) -> Any:
        return None if self._now.sample is None else self._now.sample.gpus

    def _earlier(self, latest: Sample) -> Sample | None:
        """A sample about two seconds old, or the oldest there is."""
        older = [sample for sample in self._recent if latest.clock_s - sample.clock_s >= RATES_S]
        if older:
            return older[-1]
        return self._recent[0] if len(self._recent) > 1 else None

    def _action(self, event: Event) -> None:
        if not was_carried_out(event):
            return
        match event.get("action"):
            case "pause":
                in_s = event.get("deadline_in_s")
                deadline_t = None if in_s is None else event["t"] + in_s
                pause = Pause(str(event.get("by")), event["t"], deadline_t, event.get("next"))
                self._now = replace(self._now, state=JobState.PAUSED, pause=pause)
                self._pace.restart()
            case "resume":
                self._now = replace(self._now, state=JobState.RUNNING, pause=None)
                self._pace.restart()
            case "shard":
                self._now = replace(self._now, is_sharded=True)
            case "stop" | "kill":
                reason = str(event.get("reason", "")) if event.get("by") == "guard" else self._now.stop_reason
                self._now = replace(self._now, state=JobState.STOPPING, pause=None, stop_reason=reason)

    def _progress(self, event: Event) -> None:
        before = self._now.progress
        if before is not None and before.source is None and event.get("source") is not None:
            return  # The job itself knows better.
        done, total = _number(event.get("done")), _number(event.get("total"))
        if done is None:
            return
        if before is not None and (before.source, before.name) != (event.get("source"), event.get("name")):
            self._pace.restart()
        self._pace.add(float(event["t"]), done)
        known = {key: event[key] for key in _PROGRESS_KEYS if event.get(key) is not None}
        self._now = replace(
            self._now,
            progress=Progress(**{**known, "done": done, "total": total, "eta": self._eta(event, total)}),
            is_sharded=self._now.is_sharded or event.get("sharded") is True,
        )

    def _eta(self, event: Event, total: float | None) -> Eta | None:
        """The ETA. A progress bar's own is taken where it shows one: it knows more than the steps that are drawn."""
        eta, told_s = self._pace.eta(total), _number(event.get("eta_s"))
        if told_s is None or event.get("source") is None:
            return eta
        return Eta(0.0 if eta is None else eta.rate_s, told_s)

    def _nodes(self, event: Event, t: float) -> None:
        rows = rows_of(event)
        self._node_trends.add(t, [(row.name, int(row.rate_bytes_s or 0)) for row in rows])
        shown = (replace(row, trend=self._node_trends.of(row.name)) for row in rows)
        self._now = replace(self._now, nodes=tuple(shown))

    def _need(self, event: Event) -> None:
        need = RunNeed.from_json(event)
        warning = str(event.get("warning") or "") or self._now.need_warning
        if need is not None and warning is not None and not event.get("warning"):
            # With the figures of now, and with the advice that the guard gave.
            warning = "; ".join([need.warning(()), *warning.split("; ")[1:]])
        fits = need is None or (need.full_at is None and not need.is_sure)
        self._now = replace(self._now, need=need, need_warning=None if fits else warning)

    def _output(self, event: Event) -> None:
        if event.get("tail"):  # A journal keeps ends, not everything.
            self._text = TerminalText()
        self._text.write(str(event.get("text", "")))


_FORECAST_KEYS = {field.name for field in fields(Judged)} - {"t", "level", "reason", "is_credible", "waits_for"}
_PROGRESS_KEYS = {field.name for field in fields(Progress)} - {"done", "total", "eta"}


def _key(process: Process) -> tuple[int, int]:
    return process.pid, process.start_ticks


def title_of(command: Any) -> tuple[str, bool]:
    """What the user calls it, and whether it is the tokenizer."""
    words = [str(word) for word in command]
    return as_given(words), is_tokenizer(words)


def room_of(sample: Sample) -> MemoryRoom | None:
    rooms = [MemoryRoom(limit.limit_bytes, limit.used_bytes, is_limit=True) for limit in sample.limits]
    if sample.memory is not None:
        memory = sample.memory
        rooms.append(MemoryRoom(memory.total_bytes, memory.total_bytes - memory.available_bytes))
    return min(rooms, key=lambda room: room.capacity_bytes, default=None)


def _judged(event: Event, t: float) -> Judged:
    return Judged(
        t,
        str(event.get("level")),
        str(event.get("reason", "")),
        is_credible=event.get("confidence") in BELIEVED,
        waits_for=waits_for_reason(event),
        **{name: _number(event.get(name)) for name in _FORECAST_KEYS},
    )


def _point(sample: Sample, room: MemoryRoom | None, rates: Change) -> SeriesPoint:
    memory = sample.memory
    gpus = [gpu.used_fraction for gpu in sample.gpus or () if gpu.used_fraction is not None]
    return SeriesPoint(
        sample.t,
        used_bytes=None if room is None else room.used_bytes,
        job_bytes=sample.job_ram_bytes if sample.job else None,
        swap_used_bytes=None if memory is None else memory.swap_total_bytes - memory.swap_free_bytes,
        swap_in_bytes_s=rates.swap_in_bytes_s,
        swap_out_bytes_s=rates.swap_out_bytes_s,
        stall_some_fraction=rates.stall_some_fraction,
        stall_full_fraction=rates.stall_full_fraction,
        gpu_fraction=max(gpus, default=None),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < MOST_NUMBER else None


def _number(value: object) -> float | None:
    """A journal may hold anything; infinity and numbers with hundreds of digits cannot be drawn."""
    return value if isinstance(value, int | float) and abs(value) < MOST_NUMBER and math.isfinite(value) else None
