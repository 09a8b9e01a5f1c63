"""How much faster two Ray nodes are than one: each has one CPU, and is kept on a core of its own.

python -m tests.benchmarks.nodes TEXT

Text and output are in RAM: two machines have two disks, and this one has one. Measured is the
time from the first segment of each node to the last one: every task counts with its start, and the start of the driver
and of Ray's workers for it does not.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.measure import NotMeasured
from tests.cluster.ray_cluster import RayCluster, ray_cluster
from tests.helpers import HANG_S

RAM = Path("/dev/shm")
SEGMENTS = 16
ROUNDS = 3
TO_REACH = 1.8


def segments_a_second(cluster: RayCluster, text: Path, out: Path, nodes: int) -> float:
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "--on", "ray", "--ray-address", cluster.address]
    size = -(-text.stat().st_size // SEGMENTS)
    options = ["--out", str(out), "--segment-size", str(size), "--val-ratio", "0"]
    driver = subprocess.Popen([*command, "tokenize", str(text), *options], stdout=subprocess.DEVNULL)
    try:
        began_s = _when_done(out, nodes, driver)
        took_s = _when_done(out, SEGMENTS, driver) - began_s
        if driver.wait(HANG_S) != 0:
            raise NotMeasured(f"the run ended with code {driver.returncode}")
    finally:
        driver.kill()
        driver.wait()
    return (SEGMENTS - nodes) / took_s


def _when_done(out: Path, segments: int, driver: "subprocess.Popen[bytes]") -> float:
    """When so many shards have their names, which they get when they are complete."""
    while len(list(out.glob("train_shard_*.bin"))) < segments:
        if driver.poll() is not None:
            raise NotMeasured(f"the run ended with code {driver.returncode}")
        time.sleep(0.01)
    return time.monotonic()


def report(text: Path, folder: Path) -> list[str]:
    try:
        import ray
    except ImportError as error:
        raise NotMeasured("Ray is not installed") from error
    found: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else folder) as there, ray_cluster(nodes=0) as cluster:
        copy = Path(shutil.copy(text, Path(there) / "text.txt"))
        for nodes, rates in found.items():
            cluster.add_node(core=nodes - 1)
            rates += [segments_a_second(cluster, copy, Path(there) / "out", nodes) for _ in range(ROUNDS)]
    one, two = statistics.median(found[1]), statistics.median(found[2])
    megabytes = text.stat().st_size / 1e6 / SEGMENTS
    rounds = "; ".join(", ".join(f"{megabytes * rate:.0f}" for rate in rates) for rates in found.values())
    return [
        f"Segments of {megabytes:.0f} MB, Ray {ray.__version__}, tasks with their start: one node with one CPU makes "
        f"{megabytes * one:.0f} MB/s, two make {megabytes * two:.0f} MB/s: **{two / one:.2f}** times as much (to "
        f"reach: {TO_REACH}). The driver and Ray's head share these cores. All rounds: {rounds} MB/s.",
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/tmp") as there:
        print("\n".join(report(Path(sys.argv[1]), Path(there))))
