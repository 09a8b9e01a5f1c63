"""How much faster two Ray nodes are than one: each is a machine of one CPU, and is kept on a core of its own.

python -m tests.benchmarks.nodes TEXT

Every segment is the same text, of the size that memwatch itself chooses at least. An engine is slower with words that
it has not seen; here a node has seen all of them after its first segment, however many nodes there are. So the clock
starts when every node has made a segment, and stops with the last segment of the run: all tasks in between count, and
the start of the driver, of Ray's workers and of the tokenizers does not.

The driver and Ray's head run on the first of these machines, whether there is a second one or not. Also measured is a
driver and a head that may run on any core: beside one node they then have the core of a machine that is not there.

Text and output are in RAM: two machines have two disks, and this one has one. Two cores of one machine share its memory
and its clock, so the same is measured without Ray: ranks, a core each. What two of them make is the most that two nodes
could.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memwatch.cluster.planning import LEAST_SEGMENT_BYTES
from tests.benchmarks.measure import NotMeasured
from tests.benchmarks.node_processes import spent_s
from tests.benchmarks.report import table
from tests.cluster.ray_cluster import RayCluster, ray_cluster
from tests.helpers import HANG_S

RAM = Path("/dev/shm")
SEGMENTS = 48
ROUNDS = 3
TO_REACH = 1.8
LOOK_EVERY_S = 0.02
ON_AND_OFF = (
    "Each node runs a raylet, the dashboard agent, the runtime-env agent and a log monitor, as after `ray start`; the "
    "head also GCS, autoscaler and dashboard process. The web pages of the dashboard are off, and usage statistics, "
    "which go to the internet. The package is `ray` without `[default]`: its agents do not export metrics."
)


@dataclass(frozen=True)
class Measured:
    """`cpu_s` is the CPU time of all processes, in and around the cluster, by kind."""

    megabytes: float
    seconds: float
    cpu_s: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return self.megabytes / self.seconds


class Texts:
    """One text under many names: an input of one segment each."""

    def __init__(self, text: Path, folder: Path) -> None:
        folder.mkdir()
        first = folder / "text-00.txt"
        with text.open("rb") as source:
            first.write_bytes(source.read(LEAST_SEGMENT_BYTES))
        self.megabytes = first.stat().st_size / 1e6
        for number in range(1, SEGMENTS):
            (folder / f"text-{number:02d}.txt").hardlink_to(first)
        self.paths = sorted(map(str, folder.iterdir()))


def on_ray(cluster: RayCluster, texts: Texts, out: Path, nodes: int) -> Measured:
    name, _, value = cluster.mark.partition("=")
    command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "--on", "ray", "--ray-address", cluster.address]
    options = ["--out", str(out), "--val-ratio", "0"]
    driver = subprocess.Popen(
        [*command, "tokenize", *texts.paths, *options], stdout=subprocess.DEVNULL, env={**os.environ, name: value}
    )
    return _measured(texts, out, nodes, [driver], lambda: spent_s(cluster.mark, driver.pid))


def by_ranks(texts: Texts, out: Path, ranks: int) -> Measured:
    command = [sys.executable, "-m", "memwatch.cluster", *texts.paths, "--out", str(out), "--shard-by", "segment"]
    started = []
    for rank in range(ranks):
        ranked = ["--val-ratio", "0", "--workers", "1", "--rank", str(rank), "--world-size", str(ranks)]
        with on_cores({rank}):
            started.append(subprocess.Popen([*command, *ranked], stdout=subprocess.DEVNULL))
    return _measured(texts, out, ranks, started, dict)


def _measured(
    texts: Texts,
    out: Path,
    makers: int,
    started: "list[subprocess.Popen[bytes]]",
    spent: Callable[[], dict[str, float]],
) -> Measured:
    made_by: dict[str, str] = {}
    try:
        _wait_until(lambda: len(_makers(out, made_by)) == makers, started)
        began_s, before, first = time.monotonic(), spent(), len(made_by)
        _wait_until(lambda: len(list(out.glob("train_shard_*.bin"))) == SEGMENTS, started)
        seconds, after = time.monotonic() - began_s, spent()
        if any(codes := [process.wait(HANG_S) for process in started]):
            raise NotMeasured(f"a run ended with codes {codes}")
    finally:
        for process in started:
            process.kill()
            process.wait()
        shutil.rmtree(out, ignore_errors=True)
    if first > SEGMENTS // 2:
        raise NotMeasured(f"a node made its first segment after {first} of {SEGMENTS}")
    cpu_s = {kind: spent_s - before[kind] for kind, spent_s in after.items()}
    return Measured(texts.megabytes * (SEGMENTS - first), seconds, cpu_s)


def _makers(out: Path, made_by: dict[str, str]) -> set[str]:
    """The nodes that have made a segment, as the done-marks name them. `made_by` has those that were read before."""
    with suppress(OSError):
        for entry in os.scandir(out / ".memwatch-partial" / "segments"):
            if entry.name.endswith(".json") and entry.name not in made_by:
                made_by[entry.name] = json.loads(Path(entry.path).read_bytes())["node"]
    return set(made_by.values())


def _wait_until(is_so: Callable[[], bool], started: "list[subprocess.Popen[bytes]]") -> None:
    while not is_so():
        if any(codes := [process.poll() or 0 for process in started]):
            raise NotMeasured(f"a run ended with codes {codes}")
        time.sleep(LOOK_EVERY_S)


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """What is started meanwhile is kept on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _on_one_and_two_nodes(texts: Texts, out: Path) -> dict[int, list[Measured]]:
    found: dict[int, list[Measured]] = {}
    with ray_cluster(nodes=0) as cluster:
        for number in (1, 2):
            cluster.add_node(core=number - 1, is_like_a_machine=True)
            found[number] = [on_ray(cluster, texts, out, number) for _ in range(ROUNDS)]
    return found


def report(text: Path, folder: Path) -> list[str]:
    try:
        import ray
    except ImportError as error:
        raise NotMeasured("Ray is not installed") from error
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else folder) as there:
        texts, out = Texts(text, Path(there) / "texts"), Path(there) / "out"
        with on_cores({0}):
            found = _on_one_and_two_nodes(texts, out)
        anywhere = _on_one_and_two_nodes(texts, out)
        bare = {number: [by_ranks(texts, out, number) for _ in range(ROUNDS)] for number in (1, 2)}
    return [
        f"{SEGMENTS} segments of {texts.megabytes:.0f} MB, all the same text, Ray {ray.__version__}. One node with one "
        f"CPU makes {_rates(found)}; to reach: {TO_REACH}. The driver and Ray's head are on the first node's core. "
        f"Where they may use both cores, one node makes {_rates(anywhere)}. Without Ray, one process makes "
        f"{_rates(bare)}, a core each, which is what this machine allows.",
        "",
        *_cpu_table(found),
        "",
        ON_AND_OFF,
    ]


def _rates(found: dict[int, list[Measured]]) -> str:
    one, two = (statistics.median(each.rate for each in measured) for measured in found.values())
    rounds = "; ".join(", ".join(f"{each.rate:.0f}" for each in measured) for measured in found.values())
    return f"{one:.0f} MB/s and two {two:.0f}: **{two / one:.2f}** times as much (all rounds: {rounds})"


def _cpu_table(found: dict[int, list[Measured]]) -> list[str]:
    """Of the median round. The kinds are in the order of their CPU time beside one node."""
    chosen = {nodes: sorted(measured, key=lambda each: each.rate)[ROUNDS // 2] for nodes, measured in found.items()}
    kinds = sorted(chosen[1].cpu_s, key=lambda kind: -chosen[1].cpu_s[kind])
    rows = [[kind, *(_per_gigabyte(each, each.cpu_s[kind]) for each in chosen.values())] for kind in kinds]
    rows.append(["all", *(_per_gigabyte(each, sum(each.cpu_s.values())) for each in chosen.values())])
    rows.append(
        ["cores used, on average", *(f"{sum(each.cpu_s.values()) / each.seconds:.2f}" for each in chosen.values())]
    )
    return table(["CPU-s per GB of text ", "one node", "two nodes"], rows)


def _per_gigabyte(measured: Measured, seconds: float) -> str:
    return f"{1000 * seconds / measured.megabytes:.3f}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/tmp") as there:
        print("\n".join(report(Path(sys.argv[1]), Path(there))))
