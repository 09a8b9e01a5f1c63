"""A Ray cluster on this machine in a process of its own, which takes commands: a JSON line in, a JSON line out.

    {"do": "add", "cgroup": PATH or null, "core": N or null, "log_monitor": BOOL}
                                             start a node with one CPU; answers {"node": N}
    {"do": "kill", "node": N}                kill all processes of a node, as a machine that loses power

Not in the process of the tests: Ray leaves processes and sockets for the garbage collector.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

STORE_BYTES = 80 << 20


def main() -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Ray prints.
    # Short, because a socket's path has 107 bytes.
    folder = tempfile.mkdtemp(prefix="mwr", dir="/tmp")
    os.environ["TMPDIR"] = folder
    os.mkdir(f"{folder}/ray")
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes: dict[int, Any] = {}
    try:
        print(json.dumps({"address": cluster.address}), file=answers, flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            if order["do"] == "add":
                nodes[len(nodes)] = _added(cluster, order["cgroup"], order["core"], order["log_monitor"])
                answer = {"node": len(nodes) - 1}
            else:
                cluster.remove_node(nodes[order["node"]], allow_graceful=False)
                answer = {}
            print(json.dumps(answer), file=answers, flush=True)
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _added(cluster: Any, cgroup: str | None, core: int | None, log_monitor: bool) -> Any:
    """Whatever is started while this process is in the cgroup and on the core stays there."""
    cores = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    inside = None if cgroup is None else Path(cgroup) / "cgroup.procs"
    if inside is not None:
        inside.write_text(str(os.getpid()))
    try:
        return cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES, include_log_monitor=log_monitor)
    finally:
        os.sched_setaffinity(0, cores)
        if inside is not None:
            (inside.parent.parent / "cgroup.procs").write_text(str(os.getpid()))


if __name__ == "__main__":
    main()
