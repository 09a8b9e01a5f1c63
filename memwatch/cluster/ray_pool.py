"""Ray tasks, a segment each. Ray repeats what was lost with a node or a worker process, without limit."""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from memwatch.cluster.ray_task import run_segment
from memwatch.cluster.segment_tasks import SegmentTask, TaskResult
from memwatch.errors import MemwatchError

# A task for each CPU, and as many waiting, so that no CPU waits for the driver.
TASKS_A_CPU = 2
# With fewer, an autoscaler would have no reason to start the first nodes.
LEAST_TASKS = 8
# With Ray's default strategy and tasks that wait, driver, head and a busy node exchange requests without a pause: each
# is sent to a node that rejects it, and repeated. Measured: 0.2 of a core with two nodes, 0.7 with four.
STRATEGY = "SPREAD"
RESOURCES_EVERY_S = 5.0
CANCEL_WAIT_S = 20.0


class RayPool:
    def __init__(self, ray: Any, task: SegmentTask, memory_bytes: int, most_tasks: int | None = None) -> None:
        """`task` is the order for every segment but for its number. `most_tasks` run at a time."""
        self._ray = ray
        self._task = task
        self._remote = ray.remote(
            num_cpus=1, memory=memory_bytes, max_retries=-1, retry_exceptions=False, scheduling_strategy=STRATEGY
        )(run_segment)
        self._numbers: dict[Any, int] = {}
        self._most_tasks = most_tasks
        self._cpus = 0
        self._looked_s = float("-inf")

    @property
    def slots(self) -> int:
        return self._limited(max(TASKS_A_CPU * self._cpus_now(), LEAST_TASKS))

    @property
    def most_running(self) -> int:
        return self._limited(self._cpus_now())

    def _limited(self, tasks: int) -> int:
        return tasks if self._most_tasks is None else min(tasks, self._most_tasks)

    def _cpus_now(self) -> int:
        now = time.monotonic()
        if now >= self._looked_s + RESOURCES_EVERY_S:
            self._looked_s = now
            self._cpus = int(self._ray.cluster_resources().get("CPU", 0))
        return self._cpus

    def submit(self, number: int, avoid: Collection[str]) -> None:
        options: dict[str, Any] = {"name": f"segment {number}"}
        if avoid and (strategy := self._elsewhere(avoid)) is not None:
            options["scheduling_strategy"] = strategy
        reference = self._remote.options(**options).remote(replace(self._task, number=number))
        self._numbers[reference] = number

    def finished(self, timeout_s: float) -> list[TaskResult]:
        if not self._numbers:
            return []
        ready, _ = self._ray.wait(list(self._numbers), num_returns=len(self._numbers), timeout=0, fetch_local=False)
        if not ready:
            ready, _ = self._ray.wait(list(self._numbers), num_returns=1, timeout=timeout_s, fetch_local=False)
        return [self._result(reference, self._numbers.pop(reference)) for reference in ready]

    def cancel(self) -> None:
        """Kills the worker processes; what they have started ends with them (ray_task.py). Waits until Ray has done it,
        because what this process has asked for and Ray has not read is lost when it exits."""
        references = list(self._numbers)
        self._numbers.clear()
        with suppress(Exception):  # The cluster may be gone, and with it everything to cancel.
            for reference in references:
                self._ray.cancel(reference, force=True)
            self._ray.wait(references, num_returns=len(references), timeout=CANCEL_WAIT_S, fetch_local=False)

    def _result(self, reference: Any, number: int) -> TaskResult:
        exceptions = self._ray.exceptions
        try:
            result: TaskResult = self._ray.get(reference)
            return result
        except (exceptions.RaySystemError, exceptions.RuntimeEnvSetupError, exceptions.RayTaskError) as error:
            if "No module named 'memwatch" in str(error):
                raise MemwatchError("a node of the cluster has no memwatch; install it on every node") from error
            return TaskResult(
                number, "", "unknown", problem=f"Ray reports {type(error).__name__}: {_first_line(error)}"
            )
        except exceptions.RayError as error:
            return TaskResult(number, "", "unknown", problem=f"Ray reports {type(error).__name__}")

    def _elsewhere(self, avoid: Collection[str]) -> Any:
        """Prefer other nodes. Ray has had two names for the label with a node's id."""
        labels = {
            label
            for node in self._ray.nodes()
            for label, value in (node.get("Labels") or {}).items()
            if value == node.get("NodeID")
        }
        known = [machine for machine in avoid if machine]
        if not labels or not known:
            return None
        from ray.util.scheduling_strategies import NodeLabelSchedulingStrategy, NotIn

        return NodeLabelSchedulingStrategy(hard={}, soft={min(labels): NotIn(*known)})


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1][:200] if lines else ""
