"""Reads what `memwatch record` kept of the whole machine: the same events as a run's, in files, oldest first.

A file is a journal of its own: `000042-20261116-053012.jsonl` while it is written, `.jsonl.gz` once it is full. The
number gives the order, because clocks are set back; the time is for people. What a crash left is read as far as it
goes.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from memwatch.journal.events import Event
from memwatch.journal.folder import SUFFIX, machine_path
from memwatch.journal.reader import BUFFER_BYTES, lines_of, parse_event

PACKED_SUFFIX = SUFFIX + ".gz"
# How far a clock may have been set back while a file was written, for it still to be looked into.
CLOCK_SLACK_S = 86400.0

_NAME = re.compile(r"([0-9]{6,})-[0-9]{8}-[0-9]{6}\.jsonl(\.gz)?")
# What a line begins with: of seven days, only the lines that are needed are parsed.
_TIME = re.compile(rb'\{"t":(-?[0-9]+(?:\.[0-9]+)?),')


@dataclass(frozen=True, slots=True)
class RecordFile:
    number: int
    path: str
    is_packed: bool
    size_bytes: int
    written_t: float  # when it was last written, as the file system has it


def read_machine_events(since_t: float | None = None, until_t: float | None = None) -> Iterator[Event]:
    """The events from `since_t` to `until_t`, in the order they were written; none where nothing was ever recorded.

    Raises OSError where there is a record that may not be read.
    """
    for record_file in record_files(machine_path()):
        if since_t is None or record_file.written_t + CLOCK_SLACK_S >= since_t:
            for line in _lines(record_file):
                if (event := _wanted(line, since_t, until_t)) is not None:
                    yield event


def record_files(folder: str) -> list[RecordFile]:
    """The oldest first. Of one that is there twice, because a crash came between packing and removing, the packed."""
    try:
        with os.scandir(folder) as entries:
            found = [record_file for entry in entries if (record_file := _record_file(entry)) is not None]
    except FileNotFoundError:
        return []
    found.sort(key=lambda record_file: (record_file.number, record_file.is_packed))
    return list({record_file.number: record_file for record_file in found}.values())


def number_of(name: str) -> int | None:
    """None if the entry is not a file of the record."""
    match = _NAME.fullmatch(name)
    return None if match is None else int(match[1])


def _record_file(entry: os.DirEntry[str]) -> RecordFile | None:
    number = number_of(entry.name)
    if number is None or not entry.is_file(follow_symlinks=False):
        return None
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # Removed while we looked.
    return RecordFile(number, entry.path, entry.name.endswith(PACKED_SUFFIX), status.st_size, status.st_mtime)


def _lines(record_file: RecordFile) -> Iterator[bytes]:
    import gzip
    import zlib

    try:
        with _opened(record_file) as file:
            yield from lines_of(file)
    except FileNotFoundError:
        return  # It has made room for newer ones.
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return  # The disk has lost the rest of it.


def _opened(record_file: RecordFile) -> BinaryIO:
    import gzip

    path = record_file.path
    if not record_file.is_packed:
        try:
            return open(path, "rb", BUFFER_BYTES)
        except FileNotFoundError:
            path += PACKED_SUFFIX.removeprefix(SUFFIX)  # Packed since the folder was read.
    return gzip.open(path, "rb")  # type: ignore[return-value]


def _wanted(line: bytes, since_t: float | None, until_t: float | None) -> Event | None:
    begins = _TIME.match(line)
    if begins is not None and not _is_within(float(begins[1]), since_t, until_t):
        return None
    event = parse_event(line)
    return event if event is not None and _is_within(float(str(event["t"])), since_t, until_t) else None


def _is_within(t: float, since_t: float | None, until_t: float | None) -> bool:
    return (since_t is None or t >= since_t) and (until_t is None or t <= until_t)
