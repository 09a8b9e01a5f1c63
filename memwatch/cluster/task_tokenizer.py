"""The tokenizer of tasks: a process under its node's guard that encodes the segments whose numbers it reads.

    python -m memwatch.cluster.task_tokenizer OUT NODE ENGINE BUDGET_BYTES PLAN_SHA256 CHANGED_SETTINGS

For each line with a number on standard input it prints two JSON lines: {"began": 12}, then {"tokens": ...} or
{"problem": ...}. It knows nothing of other segments; that it stays for the next task only saves its start, which takes
longer than the encoding of 64 MiB. It exits when no number comes for a while, or when whoever started it has exited.
"""

import json
import os
import resource
import select
import sys
from collections.abc import Iterator
from typing import Any

from memwatch import job
from memwatch.cluster.run_folder import RunFolder
from memwatch.cluster.segment_worker import SegmentWorker
from memwatch.cluster.worker_process import SegmentDone, WorkerOrder
from memwatch.errors import MemwatchError

# Between two tasks of a run pass some milliseconds. When it is over, the memory is soon free again.
IDLE_S = 3.0


class TaskTokenizer:
    """Loads vocabulary and engine for the first segment that is not done, and keeps them."""

    def __init__(self, order: WorkerOrder) -> None:
        self._order = order
        self._folder = RunFolder(order.out)
        self._worker: SegmentWorker | None = None
        self._done_bytes = 0
        job.on_pressure(lambda _: self._shrink())

    def made(self, number: int) -> dict[str, Any]:
        try:
            return self._made(number)
        except MemwatchError as error:
            return {"problem": str(error)}
        except Exception as error:
            return {"problem": f"{type(error).__name__}: {error}"}

    def _made(self, number: int) -> dict[str, Any]:
        if self._folder.is_finished:
            # By another command on this folder; the marks are gone, and nothing is made here.
            return {"tokens": 0}
        if self._folder.is_done(number):
            # By a task whose machine was lost before it could report, or by another process.
            return {"tokens": self._folder.mark(number).tokens}
        if self._worker is None:
            self._worker = SegmentWorker(self._order)
        before = self._done_bytes
        result = self._worker.done(number, report=lambda text_bytes: self._report(before + int(text_bytes)))
        self._worker.grow()
        if isinstance(result, SegmentDone):
            peak_bytes = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return {"tokens": result.tokens, "text_bytes": self._done_bytes - before, "peak_bytes": peak_bytes}
        return {"problem": result.problem}

    def _report(self, done_bytes: int) -> None:
        self._done_bytes = done_bytes
        job.progress(done_bytes)

    def _shrink(self) -> None:
        if self._worker is not None:
            self._worker.shrink()


def numbers() -> Iterator[int]:
    """Lines of standard input, as they come. The task waits for each result, so there is never a second line."""
    while select.select([0], [], [], IDLE_S)[0]:
        line = os.read(0, 64)
        if not line:
            return
        yield int(line)


def main() -> None:
    out, node, engine, budget, plan_sha256, changed_settings = sys.argv[1:7]
    order = WorkerOrder(out, node, engine, int(budget), json.loads(changed_settings), plan_sha256=plan_sha256)
    tokenizer = TaskTokenizer(order)
    for number in numbers():
        print(json.dumps({"began": number}), flush=True)
        print(json.dumps(tokenizer.made(number)), flush=True)


if __name__ == "__main__":
    main()
