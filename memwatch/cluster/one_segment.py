"""Encodes one segment in a process of its own: the job that a task runs under its node's guard.

    python -m memwatch.cluster.one_segment OUT NODE ENGINE BUDGET_BYTES NUMBER CHANGED_SETTINGS

It prints one JSON line: {"tokens": ...} or {"problem": ...}.
"""

import json
import sys
from typing import Any

from memwatch import job
from memwatch.cluster.run_folder import RunFolder
from memwatch.cluster.segment_worker import SegmentWorker
from memwatch.cluster.worker_messages import SegmentDone, WorkerOrder
from memwatch.errors import MemwatchError


def made(order: WorkerOrder, number: int) -> dict[str, Any]:
    folder = RunFolder(order.out)
    if folder.is_done(number):
        # By a task whose machine was lost before it could report, or by another process.
        return {"tokens": folder.mark(number).tokens}
    worker = SegmentWorker(order)
    job.on_pressure(lambda _: worker.shrink())
    result = worker.done(number, report=job.progress)
    return {"tokens": result.tokens} if isinstance(result, SegmentDone) else {"problem": result.problem}


def main() -> None:
    out, node, engine, budget, number, changed_settings = sys.argv[1:7]
    try:
        result = made(WorkerOrder(out, node, engine, int(budget), json.loads(changed_settings)), int(number))
    except MemwatchError as error:
        result = {"problem": str(error)}
    except Exception as error:
        result = {"problem": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
