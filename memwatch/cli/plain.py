"""Progress as plain lines on standard error: on a terminal one line, rewritten; elsewhere a line now and then."""

import io
import os
import sys
import time
from contextlib import suppress
from typing import Any, TextIO

from memwatch.errors import printable
from memwatch.journal.codec import BEYOND, plausible_sample
from memwatch.journal.event_words import event_line
from memwatch.journal.events import plausible_progress, waits_for_pid, waits_for_reason
from memwatch.model.node_rows import node_line, rows_of, segments_text
from memwatch.model.programs import program_name
from memwatch.model.units import format_count, format_duration, format_size
from memwatch.model.wording import RunSummary, closing_line, needs_care

# Not on a terminal: every second at first, to show that it moves; then less often, to keep log files short.
EVERY_SECOND_FOR_S = 30.0
LATER_EVERY_S = 10.0
CONFINED_EVERY_S = 30.0  # how a confined job goes on
# A shorter run about which memwatch had nothing to say leaves standard error to the job: scripts compare it.
LONG_RUN_S = 10.0


class PlainView:
    """`is_jobs_terminal`: what the job writes is meant for it, escape sequences and all; elsewhere it is only shown."""

    def __init__(self, stream: TextIO | None = None, is_jobs_terminal: bool = True) -> None:
        self._is_jobs_terminal = is_jobs_terminal
        # Python has none where standard error was closed.
        self._stream = stream or sys.stderr or io.StringIO()
        self._rewrites = self._stream.isatty()
        self._started_s = time.monotonic()
        self._shown_s = 0.0
        self._nodes_shown_s = float("-inf")
        self._line_is_open = False
        self._has_written = False
        self._level: str | None = None
        self._waits_for_pid: int | None = None  # of the other run; each is named once, because the figures change
        self._run: str | None = None
        self._warnings = 0
        self._run_started_t: float | None = None
        self._job_bytes: int | None = None  # in the guard's last sample
        self._peak_job_bytes: int | None = None
        self._last_verdict: dict[str, Any] = {}
        self._biggest: tuple[str, int] | None = None  # program outside the job, and its bytes
        self._confined_t: float | None = None  # when the last line about it was written

    def show(self, event: dict[str, Any]) -> None:
        self._note(event)
        self._say_confined(event)
        match event.get("event"):
            case "output":
                self._pass_on(str(event.get("text", "")))
            case "progress":
                is_last = bool(event.get("total")) and event.get("done") == event.get("total")
                self._progress(progress_line(event, self._job_bytes), is_last)
            case "nodes":
                self._nodes(event)
            case "verdict" if (pid := waits_for_pid(event)) is not None and pid != self._waits_for_pid:
                self._waits_for_pid = pid
                self._write_line(f"memwatch: waiting: {printable(waits_for_reason(event))}")
            case "verdict" if event.get("level") == self._level:
                self._waits_for_pid = waits_for_pid(event)  # It goes on, and was said.
            case "exit":
                summary = self._summary(event)
                if self._rewrites or self._is_worth_a_word(event, summary):
                    self._write_line(f"memwatch: {printable(closing_line(summary))}")
            case kind:
                self._level = event.get("level", self._level)
                if (line := line_for(event, self._freed())) is not None:
                    self._warnings += kind == "verdict" and event.get("level") == "warn"
                    self._write_line(f"memwatch: {printable(line)}")

    def _nodes(self, event: dict[str, Any]) -> None:
        """A table does not fit into a line that is rewritten; elsewhere it comes now and then. One node is no news."""
        now, rows = time.monotonic(), rows_of(event)
        if self._rewrites or len(rows) < 2 or now - self._nodes_shown_s < LATER_EVERY_S:
            return
        self._nodes_shown_s = now
        for row in rows:
            self._write_line(f"  {printable(node_line(row))}")

    def _say_confined(self, event: dict[str, Any]) -> None:
        t = event.get("t")
        if event.get("event") != "verdict" or not isinstance(t, int | float):
            return
        if "confined_bytes" not in event:
            self._confined_t = None
        elif self._confined_t is None:
            self._confined_t = t  # The action has said so.
        elif t - self._confined_t >= CONFINED_EVERY_S and event.get("level") == self._level:
            self._confined_t = t
            self._write_line(f"memwatch: {printable(str(event.get('reason')))}")

    def _is_worth_a_word(self, event: dict[str, Any], summary: RunSummary) -> bool:
        """Whether the closing line is printed where standard error is no terminal. A job that failed by itself has
        printed why, and that stays the last line."""
        if (summary.took_s or 0) >= LONG_RUN_S or needs_care(event):
            return True
        return self._has_written and (event.get("code") == 0 or event.get("by") is not None)

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what the closing line says of the whole run, and what a pause waits for."""
        match event:
            case {"event": "start", "t": int() | float() as t}:
                self._run_started_t = t
                self._run = event.get("diagnose_as") or event.get("run") or None
            case {"event": "sample", "job_bytes": int() as job_bytes}:
                self._job_bytes = job_bytes
                self._peak_job_bytes = max(self._peak_job_bytes or 0, job_bytes)
                if "others" in event and (sample := plausible_sample(event)) is not None:
                    others = sample.others or ()
                    sizes = [(program_name(each.command), each.taken_bytes) for each in others]
                    self._biggest = max(sizes, key=lambda each: each[1], default=None)
            case {"event": "verdict"}:
                self._last_verdict = event

    def _freed(self) -> str:
        """What must happen before a paused job is resumed, as the full screen's banner says it."""
        needed = self._last_verdict.get("resume_needs_bytes")
        if not isinstance(needed, int) or not 0 < needed < BEYOND:
            return "memory is freed"
        words = f"{format_size(needed)} more are free"
        # Below a limit, what programs outside of it take makes no difference.
        if self._biggest is not None and "limit_path" not in self._last_verdict:
            words += f" ({self._biggest[0]} uses {format_size(self._biggest[1])})"
        return words

    def _summary(self, event: dict[str, Any]) -> RunSummary:
        """What the closing line shows, without the guard's reason for a stop: that is on the line before."""
        started_t, ended_t = self._run_started_t, event.get("t")
        took_s = None
        if started_t is not None and isinstance(ended_t, int | float):
            took_s = max(ended_t - started_t, 0.0)
        return RunSummary(
            code=event.get("code"),
            exit=event,
            took_s=took_s,
            peak_job_bytes=event.get("peak_job_bytes") or self._peak_job_bytes,
            warnings=self._warnings,
            run=self._run,
        )

    def _pass_on(self, text: str) -> None:
        """The job wrote it to a terminal of the guard's, for a screen that is no more."""
        self.close()
        with suppress(OSError, ValueError):
            sys.stdout.write(text if self._is_jobs_terminal else _harmless(text))
            sys.stdout.flush()

    def close(self) -> None:
        if self._line_is_open:
            self._write("\n")
            self._line_is_open = False

    def _progress(self, line: str, is_last: bool) -> None:
        now = time.monotonic()
        if self._rewrites:
            # Back to the line's start, so that what the job itself writes does not begin at its end.
            width = _width(self._stream)
            self._write(line[: width - 1].ljust(width - 1) + ("\n" if is_last else "\r"))
            self._line_is_open = not is_last
        elif now - self._started_s < EVERY_SECOND_FOR_S or now - self._shown_s >= LATER_EVERY_S:
            self._shown_s = now
            self._write_line(line)

    def _write_line(self, line: str) -> None:
        self.close()
        self._write(line + "\n")

    def _write(self, text: str) -> None:
        self._has_written = True
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            pass  # Nobody sees it any more; the job matters, not the view.


def _harmless(text: str) -> str:
    return "".join(c if c in "\n\t" else printable(c) for c in text.replace("\r\n", "\n"))


def line_for(event: dict[str, Any], freed: str = "memory is freed") -> str | None:
    """The line for an event, or None if it needs none. It may be from a journal, and hold anything."""
    if event.get("event") in ("start", "gap", "exit"):
        return None  # The first two need no line here, and the last has the closing line.
    if (line := event_line(event, freed=freed)) is None:
        return None
    return f"{line.level.upper()}  {line.text}" if event.get("event") in ("verdict", "need") else line.text


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def progress_line(event: dict[str, Any], job_bytes: int | None = None) -> str:
    """What a job reports: `done` at least, and whatever else it knows. `job_bytes` is its memory as the guard reads it,
    of which the closing line shows the peak; a job that adds up the RSS of its processes counts shared pages twice."""
    event = {key: value for key, value in plausible_progress(event).items() if value is not None}
    done, total = event.get("done", 0), event.get("total")
    show = format_size if event.get("unit") == "bytes" else format_count
    amount = f"{show(done)} of {show(total)}" if total else show(done)
    unit = "" if event.get("unit") in ("bytes", None) else f" {printable(event['unit'])}"
    parts = [f"{100 * done / total:5.1f} %" if total else "", amount + unit]
    if event.get("rate"):
        parts.append(f"{show(event['rate'])}/s")
    if "eta_s" in event:
        parts.append(f"ETA {format_duration(event['eta_s'])}")
    if "tokens" in event:
        parts.append(_so_far(format_count, event["tokens"], event.get("projected_tokens")) + " tokens")
    if "output_bytes" in event:
        parts.append("out " + _so_far(format_size, event["output_bytes"], event.get("projected_output_bytes")))
    if "segments" in event:
        parts.append(segments_text(event))
        parts.append(f"{event['nodes']} nodes" if event.get("nodes", 1) > 1 else "")
    if job_bytes is not None:
        parts.append(f"memory {format_size(job_bytes)}")
    return "  ".join(part for part in parts if part)


def _so_far(format_value: Any, value: float, projected: float | None) -> str:
    return format_value(value) if projected is None else f"{format_value(value)} of ~{format_value(projected)}"
