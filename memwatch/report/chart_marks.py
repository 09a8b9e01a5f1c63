"""Marks: what happened at a moment, in words; the page shows each as a line through all charts and in a list."""

from dataclasses import dataclass

from memwatch.decide.actions import IN_WORDS
from memwatch.decide.thresholds import LEVEL_NAMES
from memwatch.journal.event_words import event_line
from memwatch.journal.events import Event

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
    """None if it needs none; of verdicts, only those that are worse than the last one do."""
    line, level = event_line(event, level_before), str(event.get("level"))
    if line is None or (event["event"] == "verdict" and rank(level) < rank(level_before)):
        return None
    kind = {"verdict": level, "action": str(event.get("action"))}.get(str(event["event"]), str(event["event"]))
    return Mark(x, line.t, kind, line.text)


def rank(level: str) -> int:
    return LEVEL_NAMES.index(level) if level in LEVEL_NAMES else 0
