"""Pieces of an input: how one is cut out, counted, and what is said of an input in the end."""

import random
from dataclasses import dataclass

from memwatch.core.cells import Range
from memwatch.core.units import format_size
from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import Layout
from memwatch.tokenize.cuts import TextCuts
from memwatch.tokenize.encoding import BadBytes, BadRecord
from memwatch.tokenize.gauge import Gauge
from memwatch.tokenize.inputs import LONGEST_RECORD_BYTES, Input
from memwatch.tokenize.settings import Settings
from memwatch.tokenize.vocabulary import Encoding


@dataclass(frozen=True, slots=True)
class Found:
    """What was found out about one input."""

    tokens: Range
    text_bytes: Range  # when unpacked
    pieces: int = 0
    read_bytes: int = 0
    seen_share: float = 1.0  # less where only a beginning could be read in time; 0 where nothing was
    token_count: int | None = None  # the sum of a column of this name, where a parquet file has one


@dataclass(frozen=True, slots=True)
class Means:
    """What all ways of sampling need."""

    gauge: Gauge
    settings: Settings
    encoding: Encoding
    rng: random.Random


def counted(data: bytes, layout: Layout, source: Input, offset: int, means: Means) -> int:
    """Tokens of a piece that begins about here in an input."""
    try:
        return means.gauge.count(data, layout)
    except (BadRecord, BadBytes) as error:
        what = "a record of " if isinstance(error, BadRecord) else ""
        raise MemwatchError(f"{what}{source.name} near byte {offset} {error}") from error


def cut_out(window: bytes, cuts: TextCuts, at_start: bool, at_end: bool) -> bytes:
    """From the first safe cut to the last; all of the window, where it has none: that tears a word or two."""
    start = 0 if at_start else cuts.unit_end(window, 1)
    cut = cuts.block_end(window, 0, len(window), at_end)
    if start is None or cut is None or cut.at <= start:
        return _whole_characters(window)
    return window[start : cut.at]


def records_in(window: bytes, at_start: bool, size: int) -> tuple[int | None, int | None]:
    """Where the records begin and end that begin in the first `size` bytes; if none does, the next one. None is not in
    this window."""
    start = 0 if at_start else window.find(b"\n") + 1 or None
    if start is None:
        return None, None
    return start, window.find(b"\n", max(size - 1, start)) + 1 or None


def too_long(source: Input, offset: int) -> MemwatchError:
    longest = format_size(LONGEST_RECORD_BYTES)
    return MemwatchError(f"{source.name} has a record of more than {longest} near byte {offset}")


def _whole_characters(window: bytes) -> bytes:
    """Without what is left of the characters that the window's ends tear apart."""
    start = next((i for i in range(min(4, len(window))) if window[i] & 0xC0 != 0x80), 0)
    tail = next((i for i in range(1, min(4, len(window)) + 1) if window[-i] & 0xC0 == 0xC0), 0)
    return window[start : len(window) - tail]
