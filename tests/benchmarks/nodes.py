"""How much faster two Ray nodes are than one: each has one CPU, and is kept on a core of its own.

python -m tests.benchmarks.nodes TEXT

Text and output are in RAM: two machines have two disks, and this one has one. Measured is the time from the plan to the
manifest, so every task counts with its start, and the start of the driver and of its connection to Ray does not.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.measure import NotMeasured
from tests.cluster.ray_cluster import RayCluster, ray_cluster
from tests.helpers import HANG_S

RAM = Path("/dev/shm")
SEGMENTS = 8
ROUNDS = 2
TO_REACH = 1.8


def seconds_on(cluster: RayCluster, text: Path, out: Path) -> float:
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "--on", "ray", "--ray-address", cluster.address]
    size = -(-text.stat().st_size // SEGMENTS)
    options = ["--out", str(out), "--segment-size", str(size), "--val-ratio", "0"]
    driver = subprocess.Popen([*command, "tokenize", str(text), *options], stdout=subprocess.DEVNULL)
    try:
        began_s = _when_there(out / ".memwatch-partial" / "plan.json", driver)
        ended_s = _when_there(out / "manifest.json", driver)
        if driver.wait(HANG_S) != 0:
            raise NotMeasured(f"the run ended with code {driver.returncode}")
    finally:
        driver.kill()
        driver.wait()
    return ended_s - began_s


def _when_there(path: Path, driver: "subprocess.Popen[bytes]") -> float:
    while not path.exists():
        if driver.poll() not in (None, 0):
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
        for nodes, times in found.items():
            cluster.add_node(core=nodes - 1)
            seconds_on(cluster, copy, Path(there) / "out")  # The first tasks of a node start Ray's workers.
            times += [seconds_on(cluster, copy, Path(there) / "out") for _ in range(ROUNDS)]
    one_s, two_s = min(found[1]), min(found[2])
    size = text.stat().st_size / 1e6
    return [
        f"{size:.0f} MB of text in {SEGMENTS} segments, Ray {ray.__version__}, tasks with their start: one node with "
        f"one CPU takes {one_s:.1f} s ({size / one_s:.0f} MB/s), two take {two_s:.1f} s ({size / two_s:.0f} MB/s): "
        f"**{one_s / two_s:.2f}** times as fast (to reach: {TO_REACH}). The driver and Ray's head share these cores. "
        f"All rounds: {', '.join(f'{s:.1f}' for s in found[1])}; {', '.join(f'{s:.1f}' for s in found[2])} s.",
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/tmp") as there:
        print("\n".join(report(Path(sys.argv[1]), Path(there))))
