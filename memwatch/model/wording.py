"""The words that every view uses: how a job ended, the closing line, times of day.

Three kinds of shared words live elsewhere, because the model imports nothing: a verdict's reason beside the thresholds
that it names (decide/reasons.py), the name of an action beside its steps (decide/actions.py), and the line for an
event, which joins both (journal/event_words.py). Sizes, counts and durations are in units.py.
"""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from memwatch.model.units import format_duration, format_number, format_size


def clock_time(t: float, zone: tzinfo | None = None, with_date: bool = False) -> str:
    """'14:27:10', '2026-11-16 14:27:10'; in local time unless a zone is given."""
    try:
        moment = datetime.fromtimestamp(t, zone)
    except (OverflowError, ValueError, OSError):
        return "n/a"  # Nobody's clock shows that.
    return f"{moment:%Y-%m-%d %H:%M:%S}" if with_date else f"{moment:%H:%M:%S}"


def ending(event: Mapping[str, object]) -> str:
    """The sentence for an exit event, which may come from a journal and hold anything."""
    code, number = event.get("code"), event.get("signal")
    if event.get("by") == "guard":
        return "the guard stopped the job"
    if event.get("by") == "user":
        return "you stopped the job"
    if event.get("kernel_oom"):
        return f"the job {how_it_ended(code, number)} after an OOM kill by the kernel"
    if number is not None:
        return f"the job {how_it_ended(code, number)} (not sent by memwatch)"
    return "the job finished" if code == 0 else f"the job {how_it_ended(code)}"


def how_it_ended(code: object, number: object = None) -> str:
    """Of a process: 'was killed by SIGKILL', 'ended with code 3'. A negative code is a signal, as in subprocess."""
    if number is None and isinstance(code, int) and code < 0:
        number = -code
    return f"ended with code {code}" if number is None else f"was killed by {signal_name(number)}"


def signal_name(number: object) -> str:
    try:
        return signal.Signals(number).name if isinstance(number, int) else f"signal {number}"
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a view has seen of a run until its end. `exit` is the exit event; without it, only `code` is known."""

    code: int | None
    exit: Mapping[str, object] | None = None
    took_s: float | None = None
    peak_job_bytes: int | None = None
    warnings: int = 0
    reason: str | None = None  # of the guard's last stop or kill
    run: str | None = None  # what `memwatch diagnose` takes; None: there is no journal


def closing_line(summary: RunSummary) -> str:
    """How it ended, after how long, at which peak; then what is left to do."""
    event = {"code": summary.code} if summary.exit is None else summary.exit
    words = ending(event)
    if summary.took_s is not None:
        words += f" {'in' if event.get('code') == 0 else 'after'} {format_duration(summary.took_s)}"
    if event.get("by") == "guard" and summary.reason:
        words += f": {summary.reason}"
    parts = [words]
    if summary.peak_job_bytes is not None:
        parts.append(f"peak memory {format_size(summary.peak_job_bytes)}")
    if summary.warnings:
        parts.append(format_number(summary.warnings, "warning"))
    if left_behind := _count(event.get("left_behind")):
        parts.append(f"{left_behind} of its processes {'runs' if left_behind == 1 else 'run'} on without a guard")
    if _asks_why(event):
        parts.append(f"to see why: memwatch diagnose {summary.run or ''}".rstrip())
    return "; ".join(parts)


def needs_care(event: Mapping[str, object]) -> bool:
    """Whether the closing line is needed even if memwatch is to print as little as possible."""
    return _asks_why(event) or bool(_count(event.get("left_behind")))


def _asks_why(event: Mapping[str, object]) -> bool:
    """Whether memory may be the cause, so that `diagnose` can explain it."""
    if event.get("by") == "guard" or event.get("kernel_oom"):
        return True
    return event.get("by") is None and event.get("signal") == signal.SIGKILL


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 1 << 31 else 0
