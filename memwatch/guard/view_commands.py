"""Commands that views send to the guard: messages that may hold anything, parsed into values."""

from dataclasses import dataclass
from typing import Any

from memwatch.decide.actions import Step


@dataclass(frozen=True, slots=True)
class SignalCommand:
    """A signal that the front was sent, or a view requests."""

    number: int
    to_group: bool


@dataclass(frozen=True, slots=True)
class SwitchCommand:
    """Switch the guard on or off."""

    is_on: bool


@dataclass(frozen=True, slots=True)
class ResizeCommand:
    """The pane that shows the job's output has another size."""

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class StepCommand:
    """An action that the user requests."""

    step: Step


def parse_command(message: dict[str, Any]) -> SignalCommand | SwitchCommand | ResizeCommand | StepCommand | None:
    """None: no command that this guard knows."""
    command = str(message.get("command"))
    if command == "signal":
        return SignalCommand(_whole(message.get("number"), 0), message.get("to_group") is True)
    if command in ("guard_on", "guard_off"):
        return SwitchCommand(command == "guard_on")
    if command == "resize":
        return ResizeCommand(_whole(message.get("rows"), 24), _whole(message.get("columns"), 80))
    return StepCommand(Step(command)) if command in set(Step) - {Step.WARN} else None


def _whole(value: object, otherwise: int) -> int:
    """A number that fits where commands have one; anything else would be the guard's end."""
    return value if isinstance(value, int) and 0 <= value < 1 << 16 else otherwise
