"""What a driver and its tasks on other machines exchange: an order, and a result of some hundred bytes."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """Everything else a task reads from the plan in the folder. `version` is the driver's memwatch."""

    out: str
    number: int
    engine: str
    budget_bytes: int
    version: str
    beat_s: float
    plan_sha256: str  # of plan.json: what was loaded for another plan is not used for this one
    changed_settings: str = "{}"  # JSON: what may differ from the plan


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of a segment. Without `tokens` it is not done, and `problem` says why.

    `machine` identifies the node, `host` is its name for people. `ends_run`: no other attempt on this node can succeed,
    for any segment.
    """

    number: int
    machine: str
    host: str
    tokens: int | None = None
    problem: str | None = None
    peak_bytes: int | None = None
    ends_run: bool = False


class TaskPool(Protocol):
    """Starts tasks somewhere. Repeats a task whose machine or process is lost by itself, without limit."""

    @property
    def slots(self) -> int:
        """How many tasks may be under way: those that run, and some that wait."""

    @property
    def most_running(self) -> int:
        """How many of them can run at a time."""

    def submit(self, number: int, avoid: Collection[str]) -> None:
        """`avoid` are machines on which this segment failed; they are used if there are no others."""

    def finished(self, timeout_s: float) -> list[TaskResult]:
        """Waits until a task is finished, or for the timeout."""

    def cancel(self) -> None:
        """End all tasks that are under way."""
