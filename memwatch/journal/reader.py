"""Reads journals: whole ones, growing ones, and what is left of them after a crash or a power cut.

A line that is not an event (torn, empty, overwritten with zeros, absurdly long) is passed over, never guessed at.
"""

import json
import os
import sys
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
    """Lines that can be held; longer ones are passed over."""
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
