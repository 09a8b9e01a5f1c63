"""memwatch runs: a list of the runs and how they ended.

RUN                    STARTED           TOOK        STATE    CODE  PEAK      LEVEL  ACTIONS         COMMAND
20261116-053012-12345  2026-11-16 05:30  3 h 05 min  stopped  124   10.4 GiB  act    pause:1 stop:1  python train.py
"""

import json
import shutil
import sys
import time
from typing import Any

import click

from memwatch.errors import ExitCode, MemwatchError, printable
from memwatch.journal.folder import runs_path
from memwatch.journal.run_list import RunInfo, RunStatus, list_runs
from memwatch.model.programs import as_given
from memwatch.model.units import format_duration, format_size
from memwatch.model.wording import clock_time

UNKNOWN = "-"
# On a narrow terminal, to leave space for the command; the start time is also in the id.
DROPPED_FIRST = ("STARTED", "ACTIONS", "LEVEL", "CODE")
LEAST_COMMAND = 28
HEADS = ("RUN", "STARTED", "TOOK", "STATE", "CODE", "PEAK", "LEVEL", "ACTIONS", "COMMAND")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with a list of runs.")
def runs(as_json: bool) -> int:
    """List runs, the newest last.

    STATE is running, confined (to the memory it has; how it goes on is shown after its command), paused, done, failed
    (the job's exit code is not 0), stopped (by memwatch, or by you with x or K), killed (by a signal that memwatch did
    not send) or died (the guard ended before the job). PEAK is the peak memory of the job, LEVEL the highest level:
    calm, watch, warn or act.
    """
    try:
        found, problems = list_runs()
    except OSError as error:
        raise MemwatchError(f"cannot read {error.filename or runs_path()}: {error.strerror}") from error
    for problem in problems:
        click.echo(f"memwatch: cannot read {printable(problem.filename)}: {problem.strerror}", err=True)
    if as_json:
        click.echo(json.dumps({"schema": 1, "runs": [as_object(run) for run in found]}, indent=2))
    elif found:
        click.echo("\n".join(table(found, time.time(), _width())))
    elif not problems:
        click.echo(f"no runs yet: {printable(runs_path())} has no journals")
    return ExitCode.ERROR if problems else ExitCode.OK


def table(found: list[RunInfo], now_t: float, width: int | None) -> list[str]:
    rows = [HEADS, *(_row(run, now_t) for run in found)]
    for head in DROPPED_FIRST:
        if width is not None and sum(_widths(rows)) + 2 * len(_widths(rows)) > width - LEAST_COMMAND:
            rows = _without(rows, head)
    widths = _widths(rows)
    lines = []
    for row in rows:
        cells = [cell.ljust(size) for cell, size in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]])[:width].rstrip())
    return lines


def _widths(rows: list[tuple[str, ...]]) -> list[int]:
    """The widths of all columns but the last, which is not padded."""
    *columns, _ = zip(*rows, strict=True)
    return [max(map(len, column)) for column in columns]


def _without(rows: list[tuple[str, ...]], head: str) -> list[tuple[str, ...]]:
    at = rows[0].index(head)
    return [(*row[:at], *row[at + 1 :]) for row in rows]


def as_object(run: RunInfo) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "state": run.state.value,
        "command": run.command,
        "started_t": run.started_t,
        "ended_t": run.ended_t,
        "exit_code": run.exit_code,
        "signal": run.signal,
        "by": run.by,
        "peak_job_bytes": run.peak_job_bytes,
        "worst_level": run.worst_level,
        "actions": dict(run.actions),
        "path": str(run.path),
        "size_bytes": run.size_bytes,
        "containment": dict(run.containment),
        "confined": run.confined,
    }


def _row(run: RunInfo, now_t: float) -> tuple[str, ...]:
    return (
        printable(run.run_id),
        UNKNOWN if run.started_t is None else clock_time(run.started_t, with_date=True)[:16],
        _took(run, now_t),
        run.state.value,
        UNKNOWN if run.exit_code is None else str(run.exit_code),
        UNKNOWN if run.peak_job_bytes is None else format_size(run.peak_job_bytes),
        run.worst_level or UNKNOWN,
        " ".join(f"{printable(name)}:{count}" for name, count in run.actions) or UNKNOWN,
        _command(run),
    )


def _command(run: RunInfo) -> str:
    words = printable(as_given(run.command)) or UNKNOWN
    return f"{words} ({printable(run.confined)})" if run.state == RunStatus.CONFINED and run.confined else words


def _took(run: RunInfo, now_t: float) -> str:
    ended_t = now_t if run.ended_t is None else run.ended_t
    if run.started_t is None or ended_t < run.started_t:
        return UNKNOWN
    return format_duration(ended_t - run.started_t)


def _width() -> int | None:
    """On a terminal a run is one line; elsewhere nothing is cut off."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
