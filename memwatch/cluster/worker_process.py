"""A worker process as the rank sees it, and the messages between them."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from multiprocessing.connection import Pipe
from typing import Any

from memwatch.model.wording import how_it_ended


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


class WorkerProcess:
    def __init__(self, order: WorkerOrder) -> None:
        self.connection, theirs = Pipe()
        self.ready = False
        self.segment: int | None = None
        # One thread a worker: there is a worker for every core.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        with theirs:
            command = [sys.executable, "-m", "memwatch.cluster.segment_worker", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment
            )
        self.connection.send(order)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, number: int) -> None:
        self.segment = number
        self.connection.send(number)

    def receive(self) -> FromWorker | None:
        """The next message; None if the process has exited."""
        try:
            message: FromWorker = self.connection.recv()
        except (EOFError, ConnectionError):
            return None
        return message

    def how_it_ended(self) -> str:
        return how_it_ended(self._process.wait())

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.connection.close()
