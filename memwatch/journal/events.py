"""The events of a run, as the journal and every view know them (docs/ARCHITECTURE.md shows who reads them).

Each is a dictionary that begins with `t` (Unix seconds) and `event`. Keys are added, never renamed.

    start     schema, version, run, guard, command, cwd, limits, containment
    sample    job_bytes, and a Sample (codec.py) with the biggest processes and job_rest; every=10: it stands for ten
    progress  whatever the job says: done, total, unit, ...
    nodes     nodes: the machines of a run on many of them (model/node_rows.py)
    need      what the whole run will need (model/run_need.py), with `warning` in words when it does not fit
    verdict   level, reason, seconds_left, signals; the forecast and the thresholds behind it (decide/monitor.py);
              waits_for (run, command, pid, reason) while another run goes first
    action    action, pids, by, result
    output    text: the tail of the job's own
    gap       lost_lines, reason: the journal could not be written for a while
    exit      code, signal, by, peak_job_bytes, kernel_oom: killed at the time of an OOM kill by the kernel;
              work_total, input: the progress at 100 % and the file it is of, for later runs of the same command
"""

import json
import math
import os
from collections.abc import Mapping, Sequence

from memwatch import __version__
from memwatch.journal.codec import sample_to_json
from memwatch.journal.liveness import GuardId
from memwatch.model.sample import Sample

SCHEMA = 1
# Command lines can be megabytes long, and jobs say what they like; a reader must be able to hold every line.
MOST_COMMAND_CHARACTERS = 65536
MOST_OUTPUT_CHARACTERS = 8192
MOST_PROGRESS_BYTES = 16384
# A screen shows no more, and a job may have thousands.
MOST_PROCESSES = 32

# What a job may report of its progress that is a number.
PROGRESS_NUMBERS = frozenset(
    (
        "done",
        "total",
        "rate",
        "eta_s",
        "tokens",
        "projected_tokens",
        "output_bytes",
        "projected_output_bytes",
        "rss_bytes",
    )
)
_BEYOND = 1 << 63

Event = dict[str, object]


def start_event(
    t: float,
    run_id: str,
    guard: GuardId,
    command: Sequence[str],
    limits: Mapping[str, object],
    containment: Mapping[str, object],
) -> Event:
    """The command line is kept; the environment, where people put their secrets, never."""
    shown = _shortened(command)
    event = _event(t, "start", schema=SCHEMA, version=__version__, run=run_id, guard=guard.as_json(), command=shown)
    if len(shown) < len(command) or shown[-1:] != list(command[-1:]):
        event["command_shortened"] = True
    return event | {"cwd": _cwd(), "limits": dict(limits), "containment": dict(containment)}


def sample_event(sample: Sample, most_processes: int = MOST_PROCESSES) -> Event:
    listed = sample.listing(most_processes)
    return {"t": sample.t, "event": "sample", "job_bytes": sample.job_bytes} | sample_to_json(listed)


def progress_event(t: float, message: Mapping[str, object]) -> Event:
    """`message` comes from the job, and may hold anything; numbers and words are kept, within reason."""
    plain = plausible_progress(message)
    event = _event(t, "progress", **plain)
    if len(encode(event)) <= MOST_PROGRESS_BYTES:
        return event
    numbers = {key: plain[key] for key in ("done", "total") if isinstance(plain.get(key), int | float)}
    return _event(t, "progress", **numbers)


def nodes_event(t: float, message: Mapping[str, object]) -> Event:
    """The nodes of a run on many machines, as its job reports them."""
    from memwatch.model.node_rows import rows_of  # Few jobs have nodes, and the guard is small.

    return _event(t, "nodes", nodes=[row.as_json() for row in rows_of(message)])


def need_event(t: float, facts: Mapping[str, object]) -> Event:
    return _event(t, "need", **facts)


def verdict_event(t: float, level: str, reason: str, seconds_left: float | None, **more: object) -> Event:
    return _event(t, "verdict", level=level, reason=reason, seconds_left=seconds_left, **more)


def waits_for_reason(event: Mapping[str, object]) -> str | None:
    """Of a verdict: for which other run this one waits, in words; None if for none, or if the event is forged."""
    waits_for = event.get("waits_for")
    reason = waits_for.get("reason") if isinstance(waits_for, Mapping) else None
    return reason if isinstance(reason, str) and reason else None


def waits_for_pid(event: Mapping[str, object]) -> int | None:
    """The pid of the guard whose run goes first, from a verdict; None if none does."""
    waits_for = event.get("waits_for")
    pid = waits_for.get("pid") if isinstance(waits_for, Mapping) else None
    return pid if isinstance(pid, int) and waits_for_reason(event) is not None else None


def action_event(t: float, action: str, pids: Sequence[int], by: str, result: str, **more: object) -> Event:
    return _event(t, "action", action=action, pids=list(pids), by=by, result=result, **more)


def output_event(t: float, text: str | bytes, **more: object) -> Event:
    shown = text[-4 * MOST_OUTPUT_CHARACTERS :]
    if isinstance(shown, bytes):
        shown = shown.decode(errors="replace")
    return _event(t, "output", text=shown[-MOST_OUTPUT_CHARACTERS:], **more)


def gap_event(t: float, lost_lines: int, reason: str | None) -> Event:
    return _event(t, "gap", lost_lines=lost_lines, reason=reason)


def exit_event(t: float, code: int | None, signal: int | None, by: str | None, **more: object) -> Event:
    return _event(t, "exit", code=code, signal=signal, by=by, **more)


def encode(event: Mapping[str, object]) -> bytes:
    """The event as a line of the journal."""
    try:
        text = _encode(event)
    except ValueError:
        text = _encode(_finite(event))
    return text.encode("ascii") + b"\n"


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=str).encode


def _event(t: float, event: str, /, **values: object) -> Event:
    return {"t": t, "event": event} | {key: value for key, value in values.items() if key not in ("t", "event")}


def _finite(value: object) -> object:
    """JSON has no infinity: it becomes None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _shortened(command: Sequence[str]) -> list[str]:
    left = MOST_COMMAND_CHARACTERS
    shown = []
    for word in command:
        if left <= 0:
            break
        shown.append(str(word)[:left])
        left -= len(word) + 1
    return shown


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None  # It was removed under us.


def plausible_progress(message: Mapping[str, object]) -> dict[str, object]:
    """What can be shown of the progress that a job reports: numbers that can be counted with and, where no number is
    expected, words. A job may report anything, and a journal may be forged."""
    return {
        key: value
        for key, value in message.items()
        if value is None or _is_countable(value) or (isinstance(value, str) and key not in PROGRESS_NUMBERS)
    }


def _is_countable(value: object) -> bool:
    """An int may have more digits than a float can hold, and a comparison with NaN is false."""
    return isinstance(value, int | float) and abs(value) < _BEYOND
