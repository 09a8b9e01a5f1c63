"""How much faster two Ray nodes are than one: each is a machine of one CPU, and is kept on a core of its own.

python -m tests.benchmarks.nodes TEXT

The driver and Ray's head run on the first of these machines, whether there is a second one or not. Also measured is a
driver and a head that may run on any core: beside one node they then have the core of a machine that is not there.

Text and output are in RAM: two machines have two disks, and this one has one. Measured is the time from the first
segment of each node to the last one: every task counts, and the start of the driver and of Ray's workers does not.
Two cores of one machine share its memory and its clock, so the same is measured without Ray: ranks, a core each. What
two of them make is the most that two nodes could.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measure import NotMeasured
from tests.cluster.ray_cluster import RayCluster, descendants, ray_cluster
from tests.helpers import HANG_S
from tests.leftovers import marked

RAM = Path("/dev/shm")
SEGMENTS = 32
ROUNDS = 3
TO_REACH = 1.8
TICKS_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """CPU time is that of all processes, in and around the cluster, and the driver's with its guard."""

    segments_s: float
    cpu_s_a_segment: float = 0.0
    driver_share: float = 0.0


def on_ray(cluster: RayCluster, text: Path, out: Path, nodes: int) -> Measured:
    name, _, value = cluster.mark.partition("=")
    command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "--on", "ray", "--ray-address", cluster.address]
    options = ["--out", str(out), "--segment-size", str(_segment_bytes(text)), "--val-ratio", "0"]
    driver = subprocess.Popen(
        [*command, "tokenize", str(text), *options], stdout=subprocess.DEVNULL, env={**os.environ, name: value}
    )

    def spent_s() -> tuple[float, float]:
        ours = {driver.pid, *descendants(driver.pid)}
        spent = {pid: _cpu_s(pid) for pid in {*marked(cluster.mark.encode()), *ours}}
        return sum(spent.values()), sum(spent[pid] for pid in ours)

    return _measured(out, nodes, [driver], spent_s)


def by_ranks(text: Path, out: Path, ranks: int) -> Measured:
    command = [sys.executable, "-m", "memwatch.cluster", str(text), "--out", str(out), "--shard-by", "segment"]
    options = ["--segment-size", str(_segment_bytes(text)), "--val-ratio", "0", "--workers", "1"]
    started = []
    for rank in range(ranks):
        ranked = ["--rank", str(rank), "--world-size", str(ranks)]
        with on_cores({rank}):
            started.append(subprocess.Popen([*command, *options, *ranked], stdout=subprocess.DEVNULL))
    return _measured(out, ranks, started, lambda: (0.0, 0.0))


def _measured(
    out: Path, makers: int, started: "list[subprocess.Popen[bytes]]", spent_s: Callable[[], tuple[float, float]]
) -> Measured:
    try:
        began_s = _when_done(out, makers, started)
        before, driver_before = spent_s()
        ended_s = _when_done(out, SEGMENTS, started)
        after, driver_after = spent_s()
        if any(codes := [process.wait(HANG_S) for process in started]):
            raise NotMeasured(f"a run ended with codes {codes}")
    finally:
        for process in started:
            process.kill()
            process.wait()
        shutil.rmtree(out, ignore_errors=True)
    made, cpu_s = SEGMENTS - makers, after - before
    return Measured(made / (ended_s - began_s), cpu_s / made, (driver_after - driver_before) / cpu_s if cpu_s else 0.0)


def _when_done(out: Path, segments: int, started: "list[subprocess.Popen[bytes]]") -> float:
    """When so many shards have their names, which they get when they are complete."""
    while len(list(out.glob("train_shard_*.bin"))) < segments:
        if any(codes := [process.poll() or 0 for process in started]):
            raise NotMeasured(f"a run ended with codes {codes}")
        time.sleep(0.01)
    return time.monotonic()


def _cpu_s(pid: int) -> float:
    """Of a process and of its children that have ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS_S
    return 0.0


def _segment_bytes(text: Path) -> int:
    return -(-text.stat().st_size // SEGMENTS)


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """What is started meanwhile is kept on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _on_one_and_two_nodes(text: Path, out: Path) -> dict[int, list[Measured]]:
    found: dict[int, list[Measured]] = {}
    with ray_cluster(nodes=0) as cluster:
        for number in (1, 2):
            cluster.add_node(core=number - 1)
            found[number] = [on_ray(cluster, text, out, number) for _ in range(ROUNDS)]
    return found


def report(text: Path, folder: Path) -> list[str]:
    try:
        import ray
    except ImportError as error:
        raise NotMeasured("Ray is not installed") from error
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else folder) as there:
        copy, out = Path(shutil.copy(text, Path(there) / "text.txt")), Path(there) / "out"
        with on_cores({0}):
            found = _on_one_and_two_nodes(copy, out)
        anywhere = _on_one_and_two_nodes(copy, out)
        bare = {number: [by_ranks(copy, out, number) for _ in range(ROUNDS)] for number in (1, 2)}
    megabytes = text.stat().st_size / 1e6 / SEGMENTS

    def rate(measured: list[Measured]) -> float:
        return megabytes * statistics.median(each.segments_s for each in measured)

    def cpu(measured: list[Measured]) -> str:
        cpu_s = statistics.median(each.cpu_s_a_segment for each in measured) / megabytes * 1000
        share = statistics.median(each.driver_share for each in measured)
        return f"{cpu_s:.1f} CPU-s a GB (the driver {share:.0%} of it)"

    rounds = "; ".join(
        ", ".join(f"{megabytes * each.segments_s:.0f}" for each in measured)
        for measured in (*found.values(), *anywhere.values(), *bare.values())
    )
    return [
        f"Segments of {megabytes:.0f} MB, Ray {ray.__version__}: one node with one CPU makes {rate(found[1]):.0f} MB/s "
        f"with {cpu(found[1])}, two make {rate(found[2]):.0f} MB/s with {cpu(found[2])}: "
        f"**{rate(found[2]) / rate(found[1]):.2f}** times as much (to reach: {TO_REACH}). The driver and Ray's head, "
        f"without its dashboard, are on the first node's core. Where they may use both cores, one node makes "
        f"{rate(anywhere[1]):.0f} MB/s and two {rate(anywhere[2]):.0f}: {rate(anywhere[2]) / rate(anywhere[1]):.2f} "
        f"times. Without Ray, one process and two, a core each, make "
        f"{rate(bare[1]):.0f} and {rate(bare[2]):.0f} MB/s: {rate(bare[2]) / rate(bare[1]):.2f} times, which is what "
        f"this machine allows. All rounds, in this order: {rounds} MB/s.",
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/tmp") as there:
        print("\n".join(report(Path(sys.argv[1]), Path(there))))
