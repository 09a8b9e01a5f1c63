"""Timelines and runs, from journals and from what `memwatch record` kept. Each is read once and never held."""

import math
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memwatch.diagnose.evidence import Run
from memwatch.diagnose.timeline.build import TimelineBuilder
from memwatch.diagnose.timeline.model import Timeline
from memwatch.errors import printable
from memwatch.journal.codec import sample_from_json
from memwatch.journal.events import Event
from memwatch.journal.reader import read_events
from memwatch.journal.run_list import RunInfo, RunStatus
from memwatch.model.programs import program_name
from memwatch.model.sample import Sample

# Processes are most of a sample's line, and most of the work of reading it; so often is often enough to see who grows.
RUN_PROCESSES_S = 0.5
MACHINE_PROCESSES_S = 4.0
SILENT_S = 120.0  # far longer than a recorder is silent
MOST_ACTIONS = 20
MOST_WORDS = 160
MOST_PIDS = 10_000

_GPU_FULL = re.compile(r".*(?:(?:CUDA|HIP) out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation).*")
_DISK_FULL = re.compile(r".*(?:No space left on device|\bENOSPC\b).*")


def read_run(path: Path, show_commands: bool, booted_t: float | None = None) -> tuple[Timeline, Run]:
    """Raises OSError."""
    info = RunInfo.read(path)
    seen = _Seen()
    builder = TimelineBuilder(f"run {info.run_id}", show_commands)
    died = info.state == RunStatus.DIED
    _feed(builder, map(seen.look_at, read_events(path)), RUN_PROCESSES_S)
    timeline = builder.finish(time.time() if died else math.inf, booted_t)
    command = " ".join(info.command)
    return timeline, Run(
        run_id=info.run_id,
        name=(command if show_commands else program_name(command)) or "the job",
        started_t=info.started_t,
        ended_t=info.ended_t,
        signal=info.signal,
        by=info.by,
        pids=frozenset(seen.pids),
        peak_job_bytes=info.peak_job_bytes,
        stopped_t=seen.stopped_t,
        stop_reason=seen.stop_reason,
        first_reason=seen.first_reason,
        actions=tuple(seen.actions),
        forecast=seen.forecast,
        gpu_full_words=seen.gpu_full_words,
        disk_full_words=seen.disk_full_words,
    )


def read_machine(
    events: Iterable[Event], show_commands: bool, until_t: float, booted_t: float | None = None
) -> Timeline:
    """Raises OSError. What is being recorded until now has no end yet, and was not cut off."""
    builder = TimelineBuilder("memwatch record", show_commands)
    _feed(builder, events, MACHINE_PROCESSES_S)
    return builder.finish(until_t - SILENT_S, booted_t)


def _feed(builder: TimelineBuilder, events: Iterable[Event], processes_s: float) -> None:
    for sample, stands_for in _samples(builder, events, processes_s):
        builder.add(sample, stands_for)


def _samples(builder: TimelineBuilder, events: Iterable[Event], processes_s: float) -> Iterator[tuple[Sample, int]]:
    """The samples; from the other events the builder sees where a recording starts and ends."""
    processes_t = float("-inf")
    for event in events:
        kind = event["event"]
        if kind == "sample":
            t = float(str(event["t"]))
            if 0 <= t - processes_t < processes_s:
                event = {key: value for key, value in event.items() if key not in ("job", "others")}
            elif "job" in event or "others" in event:
                processes_t = t
            every = event.get("every")
            try:
                yield sample_from_json(event), every if isinstance(every, int) else 1
            except ValueError:
                continue  # From a memwatch that knows another kind of sample.
        elif kind == "exit":
            builder.end()
        elif kind == "start" and not event.get("continued"):
            builder.restart()


@dataclass(slots=True)
class _Seen:
    """What the journal of a run holds besides its samples, as far as it has been read."""

    pids: set[int] = field(default_factory=set)
    actions: list[tuple[str, float]] = field(default_factory=list)
    stopped_t: float | None = None
    stop_reason: str | None = None
    first_reason: str | None = None
    forecast: tuple[float, str] | None = None
    gpu_full_words: str | None = None
    disk_full_words: str | None = None

    def look_at(self, event: Event) -> Event:
        kind = event["event"]
        if kind == "sample":
            self._processes(event.get("job"))
        elif kind == "action":
            self._action(event)
        elif kind == "need" and self.forecast is None and isinstance(event.get("warning"), str):
            # The command that explains it is among the advice.
            self.forecast = float(str(event["t"])), printable(str(event["warning"])).partition("; `memwatch")[0]
        elif kind == "output":
            self._output(str(event.get("text")))
        return event

    def _processes(self, job: object) -> None:
        if isinstance(job, list) and len(self.pids) < MOST_PIDS:
            pids = [process.get("pid") for process in job if isinstance(process, dict)]
            self.pids.update(pid for pid in pids if isinstance(pid, int))

    def _action(self, event: Event) -> None:
        name, t = str(event.get("action")), float(str(event["t"]))
        if len(self.actions) < MOST_ACTIONS:
            self.actions.append((name, t))
        if self.first_reason is None and event.get("by") == "guard" and event.get("reason"):
            self.first_reason = str(event["reason"])[: 2 * MOST_WORDS]
        if name in ("stop", "kill") and event.get("by") == "guard":
            self.stopped_t = t
            self.stop_reason = self.stop_reason or str(event.get("reason") or "")[: 2 * MOST_WORDS]

    def _output(self, text: str) -> None:
        for line in text.splitlines():
            if _GPU_FULL.match(line):
                self.gpu_full_words = line.strip()[:MOST_WORDS]
            elif _DISK_FULL.match(line):
                self.disk_full_words = line.strip()[:MOST_WORDS]
