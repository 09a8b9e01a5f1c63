"""Story: takes the events of a run one by one, and can tell at any moment what there is to see."""

from collections import deque
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from memwatch.core.programs import as_given, is_tokenizer
from memwatch.core.reserve import default_reserve_bytes
from memwatch.core.sample import Process, Sample
from memwatch.decide.forecast import RATES_S, Forecast, forecast
from memwatch.decide.history import History
from memwatch.record.codec import sample_from_json
from memwatch.tui.model.eta import Pace
from memwatch.tui.model.happenings import ended, happening
from memwatch.tui.model.picture import Happening, Judged, Kind, Pause, Picture, ProcessRow, Progress, Room, State
from memwatch.tui.model.processes import process_rows
from memwatch.tui.model.series import Point, Series
from memwatch.tui.model.terminal_text import TerminalText
from memwatch.tui.model.trends import Trends

MOST_HAPPENINGS = 500
MOST_RECENT = 40  # samples, at 10 Hz more than the two seconds over which rates are told

Event = dict[str, Any]


class Story:
    def __init__(self, kind: Kind, has_job: bool = True) -> None:
        self._has_job = has_job
        self._now = Picture(kind=kind, state=State.STARTING if has_job else State.WATCHING, has_job=has_job)
        self._history = History()
        self._series = Series()
        self._trends = Trends()
        self._recent: deque[Sample] = deque(maxlen=MOST_RECENT)
        self._pace = Pace()
        self._happenings: deque[Happening] = deque(maxlen=MOST_HAPPENINGS)
        self._text = TerminalText()

    def picture(self, now_t: float) -> Picture:
        points = self._series.points
        output = self._text.lines()
        return replace(self._now, now_t=now_t, points=points, happenings=tuple(self._happenings), output=output)

    def know_peak(self, job_bytes: int | None) -> None:
        """The most the job has taken, where not every sample was told."""
        if job_bytes is not None:
            self._now = replace(self._now, peak_job_bytes=max(self._now.peak_job_bytes or 0, job_bytes))

    def take(self, event: Event) -> None:
        """An event that makes no sense is passed over: a view must not fail for what it shows."""
        if isinstance(event.get("t"), int | float) and isinstance(event.get("event"), str):
            with suppress(TypeError, ValueError, KeyError, AttributeError):
                self._take(event, event["t"])

    def _take(self, event: Event, t: float) -> None:
        if event.get("brief"):
            return  # Over before anybody could read it.
        told = happening(event, "calm" if self._now.judged is None else self._now.judged.level)
        if told is not None and self._has_job:
            self._happenings.append(told)
        match event["event"]:
            case "start":
                self._start(event)
            case "sample":
                self._sample(event)
            case "verdict":
                seconds_left = event.get("seconds_left")
                judged = Judged(t, str(event.get("level")), str(event.get("reason", "")), seconds_left)
                self._now = replace(self._now, judged=judged)
            case "action":
                self._action(event)
            case "progress":
                self._progress(event)
            case "output":
                self._output(event)
            case "guard":
                can_shard = "shard" in event.get("can", ()) or self._now.can_shard
                self._now = replace(self._now, is_guard_on=bool(event.get("is_on")), can_shard=can_shard)
            case "exit":
                code, words = event.get("code"), ended(event)
                self._now = replace(self._now, state=State.ENDED, exit_code=code, ended=words, pause=None)

    def _start(self, event: Event) -> None:
        limits = event.get("limits") or {}
        reserve = limits.get("reserve_bytes")
        title, is_tokenizer = title_of(event.get("command") or ())
        self._now = replace(
            self._now,
            run_id=str(event.get("run") or ""),
            title=title,
            state=State.RUNNING,
            can_shard=is_tokenizer,
            is_recorded=bool(event.get("run")),
            started_t=float(event["t"]),
            reserve_bytes=reserve if isinstance(reserve, int) else None,
        )

    def _sample(self, event: Event) -> None:
        try:
            sample = sample_from_json(event)
        except ValueError:
            return  # From a memwatch that knows another kind of sample.
        if self._recent and sample.clock_s <= self._recent[-1].clock_s:
            return
        self._history.add(sample)
        self._recent.append(sample)
        earlier = self._earlier(sample)
        reserve = self._now.reserve_bytes
        outlook = forecast(self._history, default_reserve_bytes if reserve is None else lambda _: reserve)
        room = room_of(sample)
        io_some, io_full = _io_stalls(sample, earlier)
        self._now = replace(
            self._now,
            started_t=sample.t if self._now.started_t is None else self._now.started_t,
            reserve_bytes=outlook.reserve_bytes if reserve is None else reserve,
            sample=sample if sample.gpus is not None else replace(sample, gpus=self._known_gpus()),
            room=room,
            forecast=outlook,
            io_some_fraction=io_some,
            io_full_fraction=io_full,
            peak_job_bytes=self._peak(sample),
            processes=self._process_rows(sample, earlier),
            others=self._others(sample),
        )
        self._series.add(_point(sample, room, outlook))

    def _process_rows(self, latest: Sample, earlier: Sample | None) -> tuple[ProcessRow, ...]:
        """The job's; of a machine without one, the biggest."""
        span_s = None if earlier is None else latest.clock_s - earlier.clock_s
        if self._has_job:
            shown, before = latest.job, () if earlier is None else earlier.job
        elif latest.others is None:
            return self._now.processes
        else:
            shown, before = latest.others, () if earlier is None else earlier.others or ()
        self._trends.add(latest.t, shown)
        rows = process_rows(shown, before, span_s)
        return tuple(replace(row, trend=self._trends.of(row.process)) for row in rows)

    def _peak(self, sample: Sample) -> int | None:
        before = self._now.peak_job_bytes
        return max(before or 0, sample.job_bytes) if sample.job else before

    def _others(self, sample: Sample) -> tuple[Process, ...] | None:
        """Nobody looks every time; what was seen last stands."""
        return self._now.others if sample.others is None else sample.others

    def _known_gpus(self) -> Any:
        return None if self._now.sample is None else self._now.sample.gpus

    def _earlier(self, latest: Sample) -> Sample | None:
        """A sample about two seconds old, or the oldest there is."""
        older = [sample for sample in self._recent if latest.clock_s - sample.clock_s >= RATES_S]
        if older:
            return older[-1]
        return self._recent[0] if len(self._recent) > 1 else None

    def _action(self, event: Event) -> None:
        if event.get("result") not in (None, "done") and not event.get("pids"):
            return
        match event.get("action"):
            case "pause":
                in_s = event.get("deadline_in_s")
                deadline_t = None if in_s is None else event["t"] + in_s
                pause = Pause(str(event.get("by")), deadline_t, event.get("next"))
                self._now = replace(self._now, state=State.PAUSED, pause=pause)
                self._pace.restart()
            case "resume":
                self._now = replace(self._now, state=State.RUNNING, pause=None)
                self._pace.restart()
            case "shard":
                self._now = replace(self._now, is_sharded=True)
            case "stop" | "kill":
                self._now = replace(self._now, state=State.STOPPING, pause=None)

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
            progress=Progress(**{**known, "done": done, "total": total, "eta": self._pace.eta(total)}),
            is_sharded=self._now.is_sharded or event.get("mode") == "shard",
        )

    def _output(self, event: Event) -> None:
        if event.get("tail"):  # A journal keeps ends, not everything.
            self._text = TerminalText()
        self._text.write(str(event.get("text", "")))


_PROGRESS_KEYS = {field.name for field in fields(Progress)} - {"done", "total", "eta"}


def title_of(command: Any) -> tuple[str, bool]:
    """What the user calls it, and whether it is the tokenizer."""
    words = [str(word) for word in command]
    return as_given(words), is_tokenizer(words)


def room_of(sample: Sample) -> Room | None:
    rooms = [Room(limit.limit_bytes, limit.used_bytes, is_limit=True) for limit in sample.limits]
    if sample.memory is not None:
        memory = sample.memory
        rooms.append(Room(memory.total_bytes, memory.total_bytes - memory.available_bytes))
    return min(rooms, key=lambda room: room.capacity_bytes, default=None)


def _io_stalls(latest: Sample, earlier: Sample | None) -> tuple[float | None, float | None]:
    if earlier is None or latest.pressure is None or earlier.pressure is None:
        return None, None
    span_us = (latest.clock_s - earlier.clock_s) * 1e6

    def share(later_us: int | None, earlier_us: int | None) -> float | None:
        if later_us is None or earlier_us is None:
            return None
        return min(max(later_us - earlier_us, 0) / span_us, 1.0)

    return (
        share(latest.pressure.io_some_us, earlier.pressure.io_some_us),
        share(latest.pressure.io_full_us, earlier.pressure.io_full_us),
    )


def _point(sample: Sample, room: Room | None, outlook: Forecast) -> Point:
    memory, rates = sample.memory, outlook.rates
    gpus = [gpu.used_fraction for gpu in sample.gpus or () if gpu.used_fraction is not None]
    return Point(
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


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None
