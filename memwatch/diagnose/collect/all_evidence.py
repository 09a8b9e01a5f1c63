"""All evidence there is: of one run, or of the last days."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from memwatch.diagnose.collect.from_journals import read_machine, read_run
from memwatch.diagnose.collect.machine_state import read_state, state_source
from memwatch.diagnose.collect.system_logs import USUAL_PLACES, LogPlaces, read_logs
from memwatch.diagnose.evidence import Evidence, Run
from memwatch.diagnose.findings import Source
from memwatch.diagnose.timeline.model import Timeline
from memwatch.errors import MemwatchError
from memwatch.journal.events import Event
from memwatch.journal.folder import runs_path
from memwatch.journal.record_files import read_machine_events
from memwatch.journal.run_list import RunInfo, journal_of, journals
from memwatch.model.units import format_number

# What led to a run's trouble, and what came of it: a kernel may take minutes to say so.
BEFORE_RUN_S = 60.0
AFTER_RUN_S = 180.0
# Of the runs that memwatch stopped: a journal may have megabytes, and all are read before anything is said.
MOST_JOURNALS = 100
SHOWN_STOPPED_RUNS = 5

ReadMachine = Callable[[float, float], Iterable[Event]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked about: a run by its name, or else all since `since_t`."""

    now_t: float
    since_t: float
    run: str | None = None
    show_commands: bool = False


def collect(
    wanted: Wanted, places: LogPlaces = USUAL_PLACES, read_events: ReadMachine = read_machine_events
) -> Evidence:
    """Raises MemwatchError where the run that was asked for cannot be read; everything else is optional."""
    booted_t = wanted.now_t - time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    sources: list[Source] = []
    timelines: list[Timeline] = []
    runs: list[Run] = []
    for timeline, run in _runs(wanted, booted_t, sources):
        timelines.append(timeline)
        runs.append(run)
    for timeline, run in _stopped_runs(wanted, booted_t, runs):
        timelines.append(timeline)
        runs.append(run)
        found = format_number(timeline.samples, "sample")
        sources.append(Source(f"run {run.run_id}", found=found, start_t=timeline.start_t, end_t=timeline.end_t))
    since_t, until_t = _window(wanted, runs)
    timelines += _machine(wanted, since_t, until_t, booted_t, read_events, sources)
    log, log_sources = read_logs(wanted.now_t, since_t, places)
    state = read_state(wanted.now_t, _folders(), wanted.show_commands)
    return Evidence(
        now_t=wanted.now_t,
        state=state,
        log=log,
        timelines=tuple(timelines),
        runs=tuple(runs),
        sources=(*sources, *log_sources, state_source(state)),
        start_t=since_t,
        end_t=until_t,
        is_of_run=wanted.run is not None,
    )


def _runs(wanted: Wanted, booted_t: float, sources: list[Source]) -> list[tuple[Timeline, Run]]:
    path = journal_of(wanted.run) if wanted.run is not None else _last_journal(wanted, sources)
    if path is None:
        return []
    try:
        timeline, run = read_run(path, wanted.show_commands, booted_t)
    except OSError as error:
        if wanted.run is not None:
            raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
        sources.append(Source("the last run", missing=f"{path}: {error.strerror}"))
        return []
    found = format_number(timeline.samples, "sample")
    sources.append(Source(f"run {run.run_id}", found=found, start_t=timeline.start_t, end_t=timeline.end_t))
    return [(timeline, run)]


def _stopped_runs(wanted: Wanted, booted_t: float, known: list[Run]) -> list[tuple[Timeline, Run]]:
    """Runs that memwatch stopped since then, beside those that are known: who asks may not know the run's id."""
    if wanted.run is not None:
        return []
    seen = {run.run_id for run in known}
    found: list[tuple[Timeline, Run]] = []
    try:
        recent = [path for path in journals(Path(runs_path())) if path.stat().st_mtime >= wanted.since_t]
    except OSError:
        return []  # Said already, of the last run.
    for path in reversed(recent[-MOST_JOURNALS:]):
        try:
            info = RunInfo.read(path)
            if info.by == "guard" and info.run_id not in seen:
                found.append(read_run(path, wanted.show_commands, booted_t))
        except OSError:
            continue
        if len(found) >= SHOWN_STOPPED_RUNS:
            break
    return found


def _last_journal(wanted: Wanted, sources: list[Source]) -> Path | None:
    try:
        found = journals(Path(runs_path()))
        if found and found[-1].stat().st_mtime >= wanted.since_t:
            return found[-1]
        missing = "no run in this period" if found else "no run yet"
    except OSError as error:
        missing = str(error.strerror)
    sources.append(Source("the last run", missing=missing))
    return None


def _window(wanted: Wanted, runs: list[Run]) -> tuple[float, float]:
    if wanted.run is None or not runs or runs[0].started_t is None:
        return wanted.since_t, wanted.now_t
    ended_t = wanted.now_t if runs[0].ended_t is None else runs[0].ended_t
    return runs[0].started_t - BEFORE_RUN_S, ended_t + AFTER_RUN_S


def _machine(
    wanted: Wanted, since_t: float, until_t: float, booted_t: float, read_events: ReadMachine, sources: list[Source]
) -> list[Timeline]:
    try:
        timeline = read_machine(read_events(since_t, until_t), wanted.show_commands, until_t, booted_t)
    except OSError as error:
        sources.append(Source("memwatch record", missing=f"{error.filename or 'its files'}: {error.strerror}"))
        return []
    if not timeline.samples:
        why = "it was not running; `memwatch record`, if it always runs, shows which program grew before a freeze"
        sources.append(Source("memwatch record", missing=why))
        return []
    found = format_number(timeline.samples, "sample")
    sources.append(Source("memwatch record", found=found, start_t=timeline.start_t, end_t=timeline.end_t))
    return [timeline]


def _folders() -> list[str]:
    """Where a full disk would be felt."""
    return ["/", os.path.expanduser("~"), tempfile.gettempdir(), "/var", os.getcwd()]
