"""Progress as plain lines on standard error: on a terminal one line, rewritten; elsewhere a line now and then."""

import io
import shutil
import sys
import time
from typing import Any, TextIO

from memwatch.core.units import format_count, format_duration, format_size
from memwatch.errors import printable

# Elsewhere than on a terminal: every second at first, so that one sees it move; then less, for the sake of log files.
EVERY_SECOND_FOR_S = 30.0
LATER_EVERY_S = 10.0


class PlainView:
    def __init__(self, stream: TextIO | None = None) -> None:
        # Python has none where standard error was closed.
        self._stream = stream or sys.stderr or io.StringIO()
        self._rewrites = self._stream.isatty()
        self._started_s = time.monotonic()
        self._shown_s = 0.0
        self._line_is_open = False

    def show(self, event: dict[str, Any]) -> None:
        if event.get("event") == "progress":
            self._progress(progress_line(event))
        elif event.get("event") == "note":
            self._write_line(f"memwatch: {printable(event.get('text', ''))}")

    def close(self) -> None:
        if self._line_is_open:
            self._write("\n")
            self._line_is_open = False

    def _progress(self, line: str) -> None:
        now = time.monotonic()
        if self._rewrites:
            width = shutil.get_terminal_size().columns
            self._write("\r" + line[: width - 1].ljust(width - 1))
            self._line_is_open = True
        elif now - self._started_s < EVERY_SECOND_FOR_S or now - self._shown_s >= LATER_EVERY_S:
            self._shown_s = now
            self._write_line(line)

    def _write_line(self, line: str) -> None:
        self.close()
        self._write(line + "\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            pass  # Nobody sees it any more; the job matters, not the view.


def progress_line(event: dict[str, Any]) -> str:
    done, total = event["done"], event["total"]
    parts = []
    if total:
        parts.append(f"{100 * done / total:5.1f} %  {format_size(done)} of {format_size(total)}")
    else:
        parts.append(format_size(done))
    if event["rate"]:
        parts.append(f"{format_size(event['rate'])}/s")
    parts.append(_so_far(format_count, event["tokens"], event["projected_tokens"]) + " tokens")
    parts.append("out " + _so_far(format_size, event["output_bytes"], event["projected_output_bytes"]))
    if event["eta_s"] is not None:
        parts.append(f"ETA {format_duration(event['eta_s'])}")
    parts.append(f"RSS {format_size(event['rss_bytes'])}")
    return "  ".join(parts)


def _so_far(format_value: Any, value: float, projected: float | None) -> str:
    return format_value(value) if projected is None else f"{format_value(value)} of ~{format_value(projected)}"
