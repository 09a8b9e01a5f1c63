"""Which processes of a run on Ray take how much CPU time: the cluster's, and those of memwatch on its nodes.

A process belongs to the first kind of which its command line has a word. The order matters: the command line of a
task's front has that of its tokenizer in it, and that of a raylet those of its agents.
"""

import os
from contextlib import suppress
from pathlib import Path

from tests.cluster.ray_cluster import descendants
from tests.leftovers import marked

TOKENIZER = "tokenizer"
DRIVER = "driver, its front and guard"
KINDS = (
    ("front, guard and watchers of a task", (b"guarded_run", b"memwatch.guard", b"keeper-of-job")),
    (TOKENIZER, (b"task_tokenizer",)),
    ("Ray's raylets of nodes", (b"CPU,1",)),
    (
        "Ray's head: raylet, GCS, autoscaler, dashboard",
        (b"raylet/raylet", b"gcs_server", b"/monitor.py", b"dashboard.py"),
    ),
    ("Ray's dashboard and runtime-env agents", (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent", b"agent.py")),
    ("Ray's log monitors", (b"log_monitor.py",)),
    ("Ray's workers", (b"ray::", b"default_worker")),
)
OTHERS = "others"
TICKS_S = os.sysconf("SC_CLK_TCK")


def spent_s(mark: str, driver_pid: int) -> dict[str, float]:
    """CPU time of the driver's processes, of all that have this mark in their environment, and of their children, by
    kind. Ray's agents write their titles over their environment."""
    spent = dict.fromkeys([*(kind for kind, _ in KINDS), DRIVER, OTHERS], 0.0)
    ours = {driver_pid, *descendants(driver_pid)}
    cluster = {pid for parent in marked(mark.encode()) for pid in (parent, *_children(parent))}
    for pid in cluster | ours:
        with suppress(OSError):
            spent[DRIVER if pid in ours else _kind(pid)] += cpu_s(pid)
    return spent


def cpu_s(pid: int) -> float:
    """Of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_S


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return descendants(pid)
    return []


def _kind(pid: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return next((kind for kind, words in KINDS if any(word in command for word in words)), OTHERS)
