"""Scales and ticks, such as a person would draw them, and the marks of what happened on the time axis."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from memwatch.decide.actions import IN_WORDS
from memwatch.decide.thresholds import LEVEL_NAMES
from memwatch.journal.event_words import event_line
from memwatch.journal.events import Event
from memwatch.model.units import GIB, KIB, MIB, TIB

_KINDS = frozenset({"warn", "act", "exit", "gap", "start", *IN_WORDS})


@dataclass(frozen=True, slots=True)
class Mark:
    """`kind` is one word, for the symbol and the colour: warn, act, shard, pause, resume, stop, kill, exit, ..."""

    x: float
    t: float
    kind: str
    text: str

    @property
    def css(self) -> str:
        """A name of its own only for what is known: kinds come from the journal, and may hold anything."""
        return self.kind if self.kind in _KINDS else "other"


def mark_of(x: float, event: Event, level_before: str) -> Mark | None:
    """The mark of an event; None if it needs none. Of verdicts, only those worse than the last one have a mark."""
    line, level = event_line(event, level_before), str(event.get("level"))
    if line is None or (event["event"] == "verdict" and rank(level) < rank(level_before)):
        return None
    kind = {"verdict": level, "action": str(event.get("action"))}.get(str(event["event"]), str(event["event"]))
    return Mark(x, line.t, kind, line.text)


def rank(level: str) -> int:
    return LEVEL_NAMES.index(level) if level in LEVEL_NAMES else 0


TIME_TICKS = 8
# A tick this near to the end of the axis, as a share of it, would have its label run into that of the end.
_CROWDED = 0.14

_STEPS_S = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800)


@dataclass(frozen=True, slots=True)
class Tick:
    value: float
    label: str


def size_ticks(top_bytes: float, most: int = 4) -> list[Tick]:
    """From 0 to a top that is the machine's own and rarely a round number: '0', '10 GiB', '20 GiB', '62.6 GiB'."""
    unit_bytes, unit = _unit(top_bytes)
    step = nice_step(top_bytes / unit_bytes / most) * unit_bytes
    round_values = [step * i for i in range(int(top_bytes / step) + 1) if step * i <= top_bytes * (1 - _CROWDED)]
    return [Tick(value, f"{value / unit_bytes:g} {unit}" if value else "0") for value in round_values] + [
        Tick(top_bytes, short_size(top_bytes))
    ]


def nice_step(at_least: float) -> float:
    """The distance between ticks: 1, 2 or 5 times a power of ten."""
    if at_least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= at_least * (1 - 1e-9))


def short_size(size_bytes: float) -> str:
    """'23.5 GiB', '8 GiB', '512 MiB'."""
    unit_bytes, unit = _unit(size_bytes)
    number = f"{size_bytes / unit_bytes:.1f}".removesuffix(".0")
    return f"{number} {unit}"


def time_ticks(begin_x: float, end_x: float, zone: tzinfo | None, most: int = TIME_TICKS) -> list[Tick]:
    """At round times of the wall clock where the reader is; the first of a day has its date."""
    span_s = end_x - begin_x
    whole_days_s = 86400.0 * math.ceil(span_s / 86400 / most)
    step_s = next((step for step in _STEPS_S if span_s / step <= most), whole_days_s)
    try:
        begin, end = datetime.fromtimestamp(begin_x, zone), datetime.fromtimestamp(end_x, zone)
    except (OverflowError, ValueError, OSError):
        return []  # Nobody's clock shows that.
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    first = math.ceil((begin - midnight).total_seconds() / step_s)
    ticks, day = [], begin.date()
    for number in range(first, first + most + 2):
        moment = midnight + timedelta(seconds=number * step_s)
        if moment > end:
            break
        ticks.append(Tick(moment.timestamp(), _clock_label(moment, step_s, is_new_day=moment.date() != day)))
        day = moment.date()
    return ticks


def _clock_label(moment: datetime, step_s: float, is_new_day: bool) -> str:
    if is_new_day or step_s >= 86400:
        return f"{moment:%a} {moment.day} {moment:%b}"
    if step_s < 1:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 100000}"
    return f"{moment:%H:%M:%S}" if step_s < 60 else f"{moment:%H:%M}"


def _unit(size_bytes: float) -> tuple[int, str]:
    for factor, unit in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size_bytes >= factor:
            return factor, unit
    return 1, "B"
