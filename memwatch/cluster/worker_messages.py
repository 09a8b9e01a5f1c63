"""The messages between a rank and its worker processes."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """The first message to a worker. Everything else it reads from the plan in the folder."""

    out: str
    node: str
    engine: str
    budget_bytes: int
    changed_settings: dict[str, Any] = field(default_factory=dict)  # that may differ from those of the plan
    vocabulary: str | None = None  # the file, where it lies on this machine
    plan_sha256: str | None = None  # of the plan that is expected


@dataclass(frozen=True, slots=True)
class WorkerReady:
    engine: str
    note: str | None


@dataclass(frozen=True, slots=True)
class SegmentDone:
    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SegmentFailed:
    """`may_pass`: the store failed, so another attempt may succeed."""

    number: int
    problem: str
    may_pass: bool


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """The worker cannot work at all."""

    problem: str


FromWorker = WorkerReady | SegmentDone | SegmentFailed | WorkerFailed
