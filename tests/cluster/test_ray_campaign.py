"""Kills at random moments under runs on Ray from a bucket into a bucket. `make test-cluster` makes fifty of them."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memwatch.storage.store import store_of
from tests.cluster.rank_jobs import end_of, start_rank, sums
from tests.cluster.ray_cluster import JOB, RayCluster, kill_driver, ray_cluster, start_driver, wait_until
from tests.storage.s3_server import BUCKET, Faults, environment, running_proxy

pytest.importorskip("ray", reason="needs Ray: pip install 'memwatch[ray]'")

# All the time; while the store is harmed, ten times as many.
SHARE = 0.02
HARMED_SHARE = 0.2


@dataclass
class Bucket:
    address: str
    faults: Faults


@pytest.fixture(scope="module")
def bucket(s3_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A store that fails now and then, named in the environment of whoever is started after this."""
    faults = Faults(SHARE, SHARE, SHARE)
    with running_proxy(s3_port, faults) as port, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(port).items():
            patch.setenv(name, value)
        store_of.__globals__["_bucket"].cache_clear()
        yield Bucket(f"s3://{BUCKET}/campaign", faults)
        assert faults.harmed > 0


@pytest.fixture(scope="module")
def cluster(bucket: Bucket) -> Iterator[RayCluster]:
    with ray_cluster(nodes=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def alone(real_text: Path, bucket: Bucket, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes from a folder into a folder; the same text lies in the bucket."""
    out = tmp_path_factory.mktemp("alone")
    code, words = end_of(start_rank(real_text, out, 0, 1))
    assert code == 0, words
    store_of(bucket.address).put(f"{bucket.address}/in/text.txt", real_text.read_bytes())
    return out


def downloaded(address: str, folder: Path) -> Path:
    folder.mkdir()
    for info in store_of(address).list_folder(address):
        name = info.address.removeprefix(address).lstrip("/")
        assert not name.startswith(".memwatch-partial"), f"{name} is left"
        if not name.startswith(".memwatch-journals"):
            (folder / name).write_bytes(store_of(address).read(info.address))
    return folder


def test_kills_at_random_moments_change_nothing(
    cluster: RayCluster, bucket: Bucket, alone: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Segment jobs, Ray's workers, nodes, drivers, and the store. Each round ends complete, with the same bytes."""
    chance, kills, rounds = random.Random(16), 0, 0
    while kills < pytestconfig.getoption("--cluster-kills"):
        out = f"{bucket.address}/out-{rounds}"
        driver = start_driver(cluster, f"{bucket.address}/in/*", out)
        for _ in range(5):
            time.sleep(chance.uniform(0.2, 3.0))
            what = chance.choice(["job", "worker", "node", "driver", "store"])
            if driver.poll() is not None:
                break
            kills += harm(what, cluster, bucket, driver)
            if what == "driver":
                driver = start_driver(cluster, f"{bucket.address}/in/*", out)
        code, words = end_of(driver)
        if code != 0:  # A segment whose process was killed three times is named; the same command continues.
            assert "repeat the same command" in words, words
            code, words = end_of(start_driver(cluster, f"{bucket.address}/in/*", out))
        assert code == 0, words
        assert sums(downloaded(out, tmp_path / str(rounds))) == sums(alone)
        rounds += 1
    wait_until(lambda: not cluster.processes(JOB), "a segment is still being made")


def harm(what: str, cluster: RayCluster, bucket: Bucket, driver: "subprocess.Popen[str]") -> int:
    """Returns how many kills this was."""
    match what:
        case "node":
            cluster.kill_node(cluster.nodes[0])
            cluster.add_node()
        case "driver":
            kill_driver(driver)
        case "store":
            faults = bucket.faults
            faults.error_share = faults.cut_share = faults.slow_share = HARMED_SHARE
            time.sleep(1)
            faults.error_share = faults.cut_share = faults.slow_share = SHARE
        case _:
            pids = cluster.processes(JOB if what == "job" else "ray::segment")[:1]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            return len(pids)
    return 1
