"""Which events are worth a line in the event list, and its words."""

from typing import Any

from memwatch.decide.actions import IN_WORDS, outcome, was_carried_out
from memwatch.model.ending import ending
from memwatch.model.units import format_duration
from memwatch.tui.model.picture import Happening

_NEXT = {"stop": "stopped", "kill": "killed", "pause": "paused", "resume": "resumed"}


def happening(event: dict[str, Any], level_before: str) -> Happening | None:
    """None if it is nothing to talk about. Of verdicts only a change is told."""
    t = float(event["t"])
    match event["event"]:
        case "start":
            return Happening(t, "info", "the job started")
        case "note":
            return Happening(t, "info", str(event.get("text", "")))
        case "need" if event.get("warning"):
            return Happening(t, "warn", str(event["warning"]))
        case "verdict" if event.get("level") != level_before:
            return _change(t, str(event.get("level")), level_before, str(event.get("reason", "")))
        case "action" if event.get("action") in IN_WORDS:
            return _done(t, event)
        case "gap":
            return Happening(t, "warn", f"{event.get('lost_lines')} lines of the journal were lost")
        case "exit":
            return Happening(t, "info", ending(event))
    return None


def _change(t: float, level: str, level_before: str, reason: str) -> Happening | None:
    if level in ("warn", "act"):
        return Happening(t, level, reason)
    if level_before in ("warn", "act"):
        return Happening(t, "info", f"back to normal: {reason}")
    return None


def _done(t: float, event: dict[str, Any]) -> Happening:
    step, words = event["action"], outcome(event)
    if not was_carried_out(event):
        return Happening(t, "warn", words)
    if event.get("by") == "user":
        return Happening(t, "info", f"you {words}")
    words += f": {event.get('reason', '')}"
    if event.get("deadline_in_s") is not None and event.get("next") in _NEXT:
        unless = " unless memory is freed" if event["next"] == "stop" else ""
        words += f"; {_NEXT[event['next']]} in {format_duration(event['deadline_in_s'])}{unless}"
    return Happening(t, "info" if step == "resume" else "act", words)
