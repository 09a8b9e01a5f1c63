"""Reads journals: whole ones, growing ones, and what is left of them after a crash or a power cut.

A line that is not an event (torn, empty, overwritten with zeros, absurdly long) is passed over, never guessed at.
"""

import json
import os
import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import BinaryIO

from memwatch.journal.events import Event
from memwatch.model.units import KIB, MIB

# A sample of ten thousand processes, or five times the longest command line that is kept.
MOST_LINE_BYTES = 4 * MIB
BUFFER_BYTES = 64 * KIB


def read_events(path: str | os.PathLike[str]) -> Iterator[Event]:
    """The events of a journal, in the order they were written. Those of kinds unknown here are among them."""
    with open(path, "rb", BUFFER_BYTES) as file:
        for line in lines_of(file):
            if (event := parse_event(line)) is not None:
                yield event


def first_event(path: str | os.PathLike[str]) -> Event | None:
    return next(read_events(path), None)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, without those that are too long to be held in memory."""
    while line := file.readline(MOST_LINE_BYTES):
        if line.endswith(b"\n") or len(line) < MOST_LINE_BYTES:
            yield line
            continue
        while (rest := file.readline(BUFFER_BYTES)) and not rest.endswith(b"\n"):
            pass


def parse_event(line: bytes) -> Event | None:
    try:
        # After a power cut, blocks that never reached the disk are zeros.
        event = json.loads(line.strip(b"\0 \r\n").decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    t = None if isinstance(event.get("t"), bool) else event.get("t")
    # Whole numbers may be larger than any float; a NaN is not within anything.
    return event if isinstance(t, int | float) and abs(t) <= sys.float_info.max else None


# The start of a line has its time and kind; only few lines need to be parsed.
_START = re.compile(rb'\{"t":(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?),"event":"(\w+)"(?:,"job_bytes":([0-9]+))?')
# Events that come often and are soon out of date.
FREQUENT = ("sample", "progress", "nodes", "verdict", "output")


class JournalIndex:
    """Where each event is in a journal, so that a replay can go to any moment of a long run without holding all of it.

    `times` never fall, even where the clock was set back. The file stays open: an old journal may be pruned."""

    def __init__(self, path: str | os.PathLike[str], most_bytes: int | None = None) -> None:
        """The first `most_bytes` of it, or all. Raises OSError."""
        self._file = open(path, "rb", BUFFER_BYTES)  # noqa: SIM115
        self.times: array[float] = array("d")
        self.kinds: list[str] = []
        self._offsets: array[int] = array("Q")
        self._peaks: array[int] = array("q")  # the most that the job has taken so far
        self._read(float("inf") if most_bytes is None else most_bytes)

    def __len__(self) -> int:
        return len(self.times)

    def close(self) -> None:
        self._file.close()

    def count_until(self, t: float) -> int:
        """How many events had happened by then."""
        return bisect_right(self.times, t)

    def event(self, number: int) -> Event | None:
        self._file.seek(self._offsets[number])
        return parse_event(self._file.readline(MOST_LINE_BYTES))

    def peak_job_bytes(self, count: int) -> int | None:
        """The job's peak memory over the first `count` events."""
        peak = self._peaks[count - 1] if count else -1
        return None if peak < 0 else peak

    def seldom(self) -> Iterator[Event]:
        """The events that are not frequent, and the verdicts, which show how the level changed."""
        for number, kind in enumerate(self.kinds):
            if (kind not in FREQUENT or kind == "verdict") and (event := self.event(number)) is not None:
                yield event

    def _read(self, most_bytes: float) -> None:
        latest_t, peak, offset = float("-inf"), -1, 0
        while line := self._file.readline(MOST_LINE_BYTES):
            here, offset = offset, offset + len(line)
            if offset > most_bytes:
                break
            found = _START.match(line)
            if found is None or not line.endswith(b"\n"):
                continue
            latest_t = max(latest_t, float(found[1]))
            peak = max(peak, int(found[3] or -1))
            self.times.append(latest_t)
            self.kinds.append(found[2].decode())
            self._offsets.append(here)
            self._peaks.append(peak)
