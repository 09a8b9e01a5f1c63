"""What a Ray task does on its node: have one segment made by a tokenizer under a guard of its own. Stateless.

Ray kills tasks when the memory of the node is used to 95 % (RAY_memory_usage_threshold). The guard keeps a larger
reserve than that, so the segment gives back memory or waits before Ray would kill it. The guards of a node take turns.
"""

import os
import socket
from contextlib import suppress
from typing import Any

from memwatch import __version__
from memwatch.cluster.guarded_tokenizer import TAIL_CHARACTERS, GuardedTokenizer
from memwatch.cluster.segment_tasks import SegmentTask, TaskResult
from memwatch.cluster.task_status import TaskStatus, node_name

RAY_THRESHOLD = 0.95
RAY_THRESHOLD_VARIABLE = "RAY_memory_usage_threshold"
# Between the guard's reserve and Ray's threshold: what others on the node may take before the guard has reacted.
BELOW_RAY = 0.03
# A segment waits for memory as long as this; then it is tried on another node.
PAUSE_TIMEOUT_S = 1800

_tokenizer: GuardedTokenizer | None = None  # of the task before this one


def run_segment(task: SegmentTask) -> TaskResult:
    machine, host = _machine(), socket.gethostname()
    if task.version != __version__:
        problem = f"node {host} has memwatch {__version__} and the driver {task.version}; install the same version"
        return TaskResult(task.number, machine, host, problem=problem, ends_run=True)
    answer: dict[str, Any] | None = None
    while answer is None:
        tokenizer = _tokenizer_for(task, node_name(host, machine))
        status = TaskStatus(task, machine, host, tokenizer)
        answer = tokenizer.made(task.number, status.step)
        status.end(answer is not None and "tokens" in answer)
    if "problem" in answer:
        return TaskResult(task.number, machine, host, problem=str(answer["problem"])[:TAIL_CHARACTERS])
    return TaskResult(task.number, machine, host, tokens=int(answer["tokens"]), peak_bytes=answer.get("peak_bytes"))


def _tokenizer_for(task: SegmentTask, node: str) -> GuardedTokenizer:
    global _tokenizer
    if _tokenizer is None or not _tokenizer.fits(task):
        if _tokenizer is not None:
            _tokenizer.end()
        _tokenizer = GuardedTokenizer(task, node, guard_options(os.environ.get(RAY_THRESHOLD_VARIABLE)))
    return _tokenizer


def guard_options(threshold: str | None) -> list[str]:
    reserve = f"{100 * reserve_fraction(threshold):.2f}%"
    return ["--ui", "none", "--reserve", reserve, "--pause-timeout", str(PAUSE_TIMEOUT_S)]


def reserve_fraction(threshold: str | None) -> float:
    """Of the node's memory, for a node whose Ray has this RAY_memory_usage_threshold."""
    share = RAY_THRESHOLD
    with suppress(TypeError, ValueError):
        share = float(threshold)  # type: ignore[arg-type]
    return min(max(1 - share, 0.0) + BELOW_RAY, 0.9)


def _machine() -> str:
    """Ray's id of the node: several may have the same host name."""
    with suppress(Exception):
        import ray

        return str(ray.get_runtime_context().get_node_id())
    return socket.gethostname()
