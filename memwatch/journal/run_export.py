"""A journal for other programs: as a table with one row per sample, and as JSON. Both hold one event at a time.

Command lines, where people put passwords and names of their files, are left out by default; so are the job's
folder and its output.

Columns are added at the end, never renamed. Unknown is empty, never 0. Rates are those since the row before, so the
first row has none. Text that a spreadsheet would run as a formula has an apostrophe before it.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TextIO

from memwatch.errors import printable
from memwatch.journal.codec import plausible_sample
from memwatch.journal.events import Event
from memwatch.model.programs import program_name
from memwatch.model.rates import change_between
from memwatch.model.sample import Process, Sample

Cell = int | float | str | None

COLUMNS: dict[str, str] = {
    "time_utc": "time of the sample, as 2026-11-16T05:30:12.345Z",
    "t_s": "the same in Unix seconds",
    "clock_s": "monotonic clock in seconds, for time differences",
    "level": "calm, watch, warn or act, as last decided",
    "job_processes": "number of processes of the job",
    "job_rss_bytes": "memory of the job in RAM (RSS)",
    "job_swap_bytes": "memory of the job in swap",
    "total_bytes": "RAM of the machine",
    "available_bytes": "RAM available without swapping (MemAvailable)",
    "swap_total_bytes": "size of the swap",
    "swap_used_bytes": "swap used",
    "limit_path": "cgroup above the job with the least memory left",
    "limit_bytes": "its limit",
    "limit_used_bytes": "memory it uses, without page cache",
    "stall_some_fraction": "share of the time in which some program was stalled for memory (PSI some)",
    "stall_full_fraction": "share of the time in which all programs were stalled for memory (PSI full)",
    "io_stall_some_fraction": "share of the time in which some program was stalled for the disk (PSI some)",
    "swap_in_bytes_s": "bytes read from swap per second",
    "swap_out_bytes_s": "bytes written to swap per second",
    "major_faults_s": "major page faults per second",
    "refaults_s": "refaults per second: pages read again soon after they were dropped",
    "disk_free_bytes": "free space on the disk of the output or the record",
    "gpus": "number of GPUs",
    "gpu_used_fraction": "utilization of the busiest GPU",
    "gpu_memory_used_bytes": "memory used, of all GPUs",
    "gpu_memory_total_bytes": "memory size, of all GPUs",
    "biggest_other_pid": "largest process outside the job, if it was looked up",
    "biggest_other_name": "its program",
    "biggest_other_bytes": "its memory in RAM and swap",
    "stands_for": "number of samples that this row represents",
    "job_peak_bytes": "peak memory of the job so far, in RAM and swap; in the last row that of the whole run",
}


def write_table(events: Iterable[Event], file: TextIO) -> int:
    """Gives back how many rows there are. Holds one row at a time."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    level: str | None = None
    before: Sample | None = None
    row: dict[str, object] = {}  # the last one, which the exit completes
    peak_bytes: int | None = None
    rows = 0

    def write_row() -> None:
        if row:
            writer.writerow([_cell(row.get(name)) for name in COLUMNS])

    for event in events:
        if event["event"] == "verdict":
            level = str(event.get("level"))
        elif event["event"] == "sample" and (sample := plausible_sample(event)) is not None:
            write_row()
            if sample.job:
                peak_bytes = max(sample.job_bytes, peak_bytes or 0)
            row = _readings(sample) | _rates(before, sample)
            row |= {"level": level, "stands_for": event.get("every", 1), "job_peak_bytes": peak_bytes}
            before = sample
            rows += 1
        elif event["event"] == "exit" and row:
            row["job_peak_bytes"] = event.get("peak_job_bytes") or peak_bytes
    write_row()
    return rows


def _cell(value: object) -> Cell:
    if isinstance(value, str):
        return _harmless(printable(value))
    return value if isinstance(value, int | float) else None


def _harmless(text: str) -> str:
    """Program names come from outside, and a spreadsheet runs what begins with one of these."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _readings(sample: Sample) -> dict[str, object]:
    memory, limit = sample.memory, min(sample.limits, key=lambda limit: limit.available_bytes, default=None)
    row: dict[str, object] = {
        "time_utc": _utc(sample.t),
        "t_s": sample.t,
        "clock_s": sample.clock_s,
        "disk_free_bytes": sample.disk_free_bytes,
    }
    if sample.job:
        row["job_processes"] = sample.job_processes
        row["job_rss_bytes"] = sample.job_rss_bytes
        row["job_swap_bytes"] = sample.job_swap_bytes
    if memory is not None:
        row |= {"total_bytes": memory.total_bytes, "available_bytes": memory.available_bytes}
        row["swap_total_bytes"] = memory.swap_total_bytes
        row["swap_used_bytes"] = memory.swap_total_bytes - memory.swap_free_bytes
    if limit is not None:
        row |= {"limit_path": limit.path, "limit_bytes": limit.limit_bytes, "limit_used_bytes": limit.used_bytes}
    return row | _gpus(sample) | _biggest_other(sample.others)


def _gpus(sample: Sample) -> dict[str, object]:
    if sample.gpus is None:
        return {}
    return {
        "gpus": len(sample.gpus),
        "gpu_used_fraction": _of_known(max, [gpu.used_fraction for gpu in sample.gpus]),
        "gpu_memory_used_bytes": _of_known(sum, [gpu.memory_used_bytes for gpu in sample.gpus]),
        "gpu_memory_total_bytes": _of_known(sum, [gpu.memory_total_bytes for gpu in sample.gpus]),
    }


def _of_known(function: Callable[[list[float]], float], values: list[int | None] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return function(known) if known else None


def _biggest_other(others: tuple[Process, ...] | None) -> dict[str, object]:
    if not others:
        return {}
    biggest = max(others, key=lambda process: process.taken_bytes)
    return {
        "biggest_other_pid": biggest.pid,
        "biggest_other_name": program_name(biggest.command),
        "biggest_other_bytes": biggest.taken_bytes,
    }


def _rates(before: Sample | None, now: Sample) -> dict[str, object]:
    if before is None:
        return {}
    known = asdict(change_between(before, now))
    return {name: round(value, 6) for name, value in known.items() if value is not None}


def _utc(t: float) -> str | None:
    try:
        return datetime.fromtimestamp(t, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    except (OverflowError, ValueError, OSError):
        return None  # Nobody's clock shows that.


def write_json(events: Iterable[Event], file: TextIO) -> None:
    """One object with a list of events, one event per line, so that it can also be read by lines."""
    file.write('{"schema": 1, "events": [')
    separator = "\n"
    for event in events:
        file.write(separator + json.dumps(event, separators=(",", ":")))
        separator = ",\n"
    file.write("\n]}\n")


def without_commands(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        match event["event"]:
            case "start":
                event = event | {"command": [_program(event.get("command"))]}
                event.pop("cwd", None)
            case "sample":
                event = event | {name: _named(event[name]) for name in ("job", "others") if name in event}
            case "output":
                event = {key: value for key, value in event.items() if key != "text"}
        yield event


def _program(command: object) -> str:
    return program_name(" ".join(map(str, command))) if isinstance(command, list) else ""


def _named(processes: object) -> object:
    if not isinstance(processes, list):
        return []
    return [
        {**process, "command": program_name(str(process.get("command", "")))}
        for process in processes
        if isinstance(process, Mapping)
    ]
