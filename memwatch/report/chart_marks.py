"""Marks: what happened at a moment, in words; the page shows each as a line through all charts and in a list."""

from collections.abc import Mapping
from dataclasses import dataclass

from memwatch.decide.actions import IN_WORDS, Step
from memwatch.decide.thresholds import LEVEL_NAMES

_KINDS = frozenset({"warn", "act", "exit", "lost", "start", *IN_WORDS})


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


def verdict_mark(x: float, event: Mapping[str, object], level_before: str) -> Mark | None:
    """Only what got worse, and is worth a warning."""
    level = str(event.get("level"))
    if level not in ("warn", "act") or rank(level) <= rank(level_before):
        return None
    return Mark(x, _t(event), level, str(event.get("reason") or "no reason recorded"))


def action_mark(x: float, event: Mapping[str, object]) -> Mark | None:
    """None for a warning: the verdict it came from says more."""
    action = str(event.get("action"))
    if action == "warn":
        return None
    who = "you" if event.get("by") == "user" else "memwatch"
    text = f"{who} {IN_WORDS[Step(action)] if action in IN_WORDS else f'did: {action}'}"
    if event.get("reason"):
        text += f": {event['reason']}"
    if event.get("result") not in (None, "done"):
        text += f" ({event['result']})"
    return Mark(x, _t(event), action, text)


def exit_mark(x: float, event: Mapping[str, object]) -> Mark:
    return Mark(x, _t(event), "exit", ending(event))


def lost_mark(x: float, event: Mapping[str, object]) -> Mark:
    return Mark(x, _t(event), "lost", f"{event.get('lost_lines')} lines could not be written: {event.get('reason')}")


def ending(event: Mapping[str, object]) -> str:
    """How it ended, from its exit event."""
    if event.get("by") == "guard":
        return f"stopped by memwatch (exit code {event.get('code')})"
    if event.get("by") == "user":
        return "stopped by you"
    if event.get("signal") is not None:
        return f"killed by signal {event['signal']} (not sent by memwatch)"
    return f"ended with exit code {event.get('code')}"


def rank(level: str) -> int:
    return LEVEL_NAMES.index(level) if level in LEVEL_NAMES else 0


def _t(event: Mapping[str, object]) -> float:
    t = event["t"]
    assert isinstance(t, int | float)
    return float(t)
