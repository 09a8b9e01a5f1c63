"""Which events people should hear of, in words."""

from typing import Any

from memwatch.core.units import format_duration
from memwatch.decide.actions import IN_WORDS
from memwatch.tui.model.picture import Happening

_NEXT = {"stop": "stopped", "kill": "killed", "pause": "paused", "resume": "resumed"}


def happening(event: dict[str, Any], level_before: str) -> Happening | None:
    """None if it is nothing to talk about. Of verdicts only a change is told."""
    t = float(event["t"])
    match event["event"]:
        case "start":
            return Happening(t, "info", "the job was started")
        case "note":
            return Happening(t, "info", str(event.get("text", "")))
        case "verdict" if event.get("level") != level_before:
            return _change(t, str(event.get("level")), level_before, str(event.get("reason", "")))
        case "action" if event.get("action") in IN_WORDS:
            return _done(t, event)
        case "gap":
            return Happening(t, "warn", f"{event.get('lost_lines')} lines of the journal were lost")
        case "exit":
            return Happening(t, "info", ended(event))
    return None


def ended(event: dict[str, Any]) -> str:
    code, number = event.get("code"), event.get("signal")
    if event.get("by") == "guard":
        return "the job was stopped for want of memory"
    if event.get("by") == "user":
        return "the job was ended, as you asked"
    if number is not None:
        return f"the job was ended by signal {number}"
    return "the job is done" if code == 0 else f"the job ended with code {code}"


def _change(t: float, level: str, level_before: str, reason: str) -> Happening | None:
    if level in ("warn", "act"):
        return Happening(t, level, reason)
    if level_before in ("warn", "act"):
        return Happening(t, "info", f"the danger is over: {reason}")
    return None


def _done(t: float, event: dict[str, Any]) -> Happening:
    step = event["action"]
    if event.get("result") not in (None, "done"):
        return Happening(t, "warn", f"{step}: {event['result']}")
    if event.get("by") == "user":
        return Happening(t, "info", f"you {IN_WORDS[step]}")
    words = f"{IN_WORDS[step]}: {event.get('reason', '')}"
    if event.get("deadline_in_s") is not None and event.get("next") in _NEXT:
        words += f"; {_NEXT[event['next']]} in {format_duration(event['deadline_in_s'])} unless memory is freed"
    return Happening(t, "info" if step == "resume" else "act", words)
