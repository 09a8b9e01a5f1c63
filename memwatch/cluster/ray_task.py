"""What a Ray task does on its node: run one segment as a job of its own, under a guard of its own. Stateless.

Ray kills tasks when the memory of the node is used to 95 % (RAY_memory_usage_threshold). The guard keeps a larger
reserve than that, so the segment gives back memory or waits before Ray would kill it. The guards of a node take turns.
"""

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Any

from memwatch import __version__
from memwatch.cluster.guard_readings import GuardReadings
from memwatch.cluster.segment_tasks import SegmentTask, TaskResult
from memwatch.cluster.task_folder import task_folder
from memwatch.cluster.task_status import TaskStatus
from memwatch.errors import ExitCode
from memwatch.model.wording import how_it_ended

RAY_THRESHOLD = 0.95
RAY_THRESHOLD_VARIABLE = "RAY_memory_usage_threshold"
# Between the guard's reserve and Ray's threshold: what others on the node may take before the guard has reacted.
BELOW_RAY = 0.03
# A segment waits for memory as long as this; then it is tried on another node.
PAUSE_TIMEOUT_S = 1800
LOOK_EVERY_S = 1.0
TAIL_CHARACTERS = 300


def run_segment(task: SegmentTask) -> TaskResult:
    machine, host = _machine(), socket.gethostname()
    if task.version != __version__:
        problem = f"node {host} has memwatch {__version__} and the driver {task.version}; install the same version"
        return TaskResult(task.number, machine, host, problem=problem, ends_run=True)
    with task_folder() as folder:
        journal = os.path.join(folder, "journal.jsonl")
        readings = GuardReadings(journal)
        status = TaskStatus(task, machine, host, readings)
        code, out, err = _run(_command(task, journal, status.node), folder, status)
        readings.refresh()
        result = _result(code, out, err, readings)
        status.end(is_done="tokens" in result)
    return TaskResult(task.number, machine, host, peak_bytes=readings.peak_bytes, **result)


def reserve_fraction(threshold: str | None) -> float:
    """Of the node's memory, for a node whose Ray has this RAY_memory_usage_threshold."""
    share = RAY_THRESHOLD
    with suppress(TypeError, ValueError):
        share = float(threshold)  # type: ignore[arg-type]
    return min(max(1 - share, 0.0) + BELOW_RAY, 0.9)


def _command(task: SegmentTask, journal: str, node: str) -> list[str]:
    reserve = f"{100 * reserve_fraction(os.environ.get(RAY_THRESHOLD_VARIABLE)):.2f}%"
    options = ["--ui", "none", "--reserve", reserve, "--pause-timeout", str(PAUSE_TIMEOUT_S), "--record", journal]
    job = [task.out, node, task.engine, str(task.budget_bytes), str(task.number), task.changed_settings]
    guarded = [sys.executable, "-m", "memwatch.cluster.guarded_segment", str(os.getpid()), "run", *options, "--"]
    return [*guarded, sys.executable, "-m", "memwatch.cluster.one_segment", *job]


def _run(command: list[str], folder: str, status: TaskStatus) -> tuple[int, str, str]:
    out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
    # One thread: Ray starts a task for every CPU.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    with open(out, "wb") as to_out, open(err, "wb") as to_err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=to_out, stderr=to_err, env=environment)
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_EVERY_S)
                break
            status.step()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode, _tail(out), _tail(err)


def _result(code: int, out: str, err: str, readings: GuardReadings) -> dict[str, Any]:
    if code == ExitCode.STOPPED:
        return {"problem": f"stopped for memory: {readings.stop_reason}"[:TAIL_CHARACTERS]}
    with suppress(IndexError, ValueError):
        result: dict[str, Any] = json.loads(out.splitlines()[-1])
        if "problem" in result:
            return {"problem": str(result["problem"])[:TAIL_CHARACTERS]}
        return {"tokens": int(result["tokens"])}
    how = how_it_ended(code, code - 128 if code > 128 else None)
    return {"problem": f"its process {how} {' '.join(err.split())[-TAIL_CHARACTERS:]}".strip()}


def _tail(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")[-2000:]


def _machine() -> str:
    """Ray's id of the node: several may have the same host name."""
    with suppress(Exception):
        import ray

        return str(ray.get_runtime_context().get_node_id())
    return socket.gethostname()
