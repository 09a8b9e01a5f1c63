"""A small Ray cluster for tests, and drivers on it. Nothing of it outlives the test, however that ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.cluster.rank_jobs import SETTINGS
from tests.helpers import HANG_S
from tests.leftovers import end_all, marked

MARK = "MEMWATCH_TEST_CLUSTER"
JOB = "memwatch.cluster.task_tokenizer"  # in the command line of a tokenizer


class RayCluster:
    """A head without CPUs, so that every task is on one of the nodes, which have one CPU each."""

    def __init__(self, process: "subprocess.Popen[str]", mark: str) -> None:
        self._process = process
        self.mark = mark
        self.address: str = self._answer()["address"]
        self.nodes: list[int] = []

    def add_node(self, cgroup: Path | None = None, core: int | None = None, is_like_a_machine: bool = False) -> int:
        """In this memory cgroup, on this core; else as the tests themselves. A node that is a machine has a log monitor
        of its own; the nodes of a test need none."""
        self._order(do="add", cgroup=None if cgroup is None else str(cgroup), core=core, log_monitor=is_like_a_machine)
        node: int = self._answer()["node"]
        self.nodes.append(node)
        return node

    def kill_node(self, node: int) -> None:
        self.nodes.remove(node)
        self._order(do="kill", node=node)
        self._answer()

    def processes(self, word: str) -> list[int]:
        """The pids on all nodes whose command line has this word."""
        found = []
        for pid in marked(self.mark.encode()):
            with suppress(OSError):
                if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return sorted(found)

    def _order(self, **order: object) -> None:
        assert self._process.stdin is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the cluster could not be started"
        return dict(json.loads(line))


@contextmanager
def ray_cluster(nodes: int, environment: Mapping[str, str] | None = None) -> Iterator[RayCluster]:
    """`environment` is that of the nodes: their credentials, for example."""
    mark = f"{MARK}={os.getpid()}-{os.urandom(4).hex()}"
    name, _, value = mark.partition("=")
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.cluster.ray_nodes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(environment or {}), name: value},
    )
    try:
        cluster = RayCluster(started, mark)
        for _ in range(nodes):
            cluster.add_node()
        yield cluster
    finally:
        # It shuts the nodes down when its input ends; then by pid, whatever happened.
        with suppress(subprocess.TimeoutExpired, BrokenPipeError, ValueError):
            started.communicate(timeout=HANG_S)
        started.kill()
        started.communicate()
        end_all(mark.encode())


def start_driver(
    cluster: RayCluster, text: object, out: object, *options: str, ui: str = "none"
) -> "subprocess.Popen[str]":
    on_ray = ["--on", "ray", "--ray-address", cluster.address]
    command = [sys.executable, "-m", "memwatch", "run", "--ui", ui, *on_ray, "tokenize", str(text)]
    return subprocess.Popen(
        [*command, "--out", str(out), *SETTINGS, "--workers", "auto", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + HANG_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def kill_driver(driver: "subprocess.Popen[str]") -> None:
    """The driver with its guard and its front, as a machine that loses power."""
    for pid in [driver.pid, *descendants(driver.pid)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    driver.communicate()


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found
