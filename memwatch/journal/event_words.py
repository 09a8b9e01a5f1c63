"""Which events of a run are worth a line, and that line: the same words in plain lines, in the screen's event list and
on the page."""

from collections.abc import Mapping
from dataclasses import dataclass

from memwatch.decide.actions import IN_WORDS, outcome, was_carried_out
from memwatch.model.units import format_duration
from memwatch.model.wording import ending

_NEXT = {"stop": "stopped", "kill": "killed", "pause": "paused", "resume": "resumed"}


@dataclass(frozen=True, slots=True)
class EventLine:
    t: float
    level: str  # info, warn or act
    text: str


def event_line(
    event: Mapping[str, object], level_before: str = "calm", freed: str = "memory is freed"
) -> EventLine | None:
    """None if it needs no line. The event may be from a journal, and hold anything.

    `level_before` is the level before a verdict, of which only changes count; `freed` is what keeps a paused job from
    being stopped.
    """
    found = _words(event, level_before, freed)
    t = event.get("t")
    return None if found is None else EventLine(t if isinstance(t, int | float) else 0.0, *found)


def _words(event: Mapping[str, object], level_before: str, freed: str) -> tuple[str, str] | None:
    match event:
        case {"event": "start"}:
            return "info", "the job started"
        case {"event": "note" | "refused" | "failed", "text": str(text)}:
            return "info", text
        case {"event": "need", "warning": str(warning)}:
            return "warn", warning
        case {"event": "verdict", "level": str(level)} if level != level_before:
            return _change(level, level_before, str(event.get("reason") or "no reason recorded"))
        case {"event": "action", "action": str(step)} if step in IN_WORDS and not event.get("brief"):
            return _action(event, step, freed)
        case {"event": "gap"}:
            return "warn", f"{event.get('lost_lines')} lines of the journal were lost"
        case {"event": "exit"}:
            return "info", ending(event)
    return None


def _change(level: str, level_before: str, reason: str) -> tuple[str, str] | None:
    if level in ("warn", "act"):
        return level, reason
    return ("info", f"back to normal: {reason}") if level_before in ("warn", "act") else None


def _action(event: Mapping[str, object], step: str, freed: str) -> tuple[str, str]:
    words = outcome(event)
    if not was_carried_out(event):
        return "warn", words
    if event.get("by") == "user":
        return "info", f"you {words}"
    words += f": {event['reason']}" if event.get("reason") else ""
    match event:
        case {"deadline_in_s": int() | float() as seconds, "next": str(next_step)} if next_step in _NEXT:
            unless = f" unless {freed}" if next_step == "stop" else ""
            words += f"; it will be {_NEXT[next_step]} in {format_duration(seconds)}{unless}"
    return "info" if step == "resume" else "act", words
