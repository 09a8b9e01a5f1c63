"""memwatch run --on ray: real Ray nodes on this machine, real kills."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.rank_jobs import end_of, start_rank, sums
from tests.cluster.ray_cluster import JOB, RayCluster, kill_driver, ray_cluster, start_driver, wait_until
from tests.helpers import memwatch

pytest.importorskip("ray", reason="needs Ray: pip install 'memwatch[ray]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(nodes=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def alone(real_text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process on one machine makes."""
    out = tmp_path_factory.mktemp("alone")
    code, words = end_of(start_rank(real_text, out, 0, 1))
    assert code == 0, words
    return out


def wait_for_marks(driver: "subprocess.Popen[str]", out: Path, count: int) -> None:
    marks = out / ".memwatch-partial" / "segments"
    wait_until(lambda: len(list(marks.glob("*.json"))) >= count or driver.poll() is not None, "no segment is done")


def test_two_nodes_make_the_files_of_one_machine(
    cluster: RayCluster, real_text: Path, alone: Path, tmp_path: Path
) -> None:
    code, words = end_of(start_driver(cluster, real_text, tmp_path, ui="plain"))
    assert code == 0, words
    assert sums(tmp_path) == sums(alone)
    assert "segments 0 of" in words or "segments 1 of" in words or "segments 2 of" in words, words
    verified = memwatch("verify", tmp_path, "--input", real_text)
    assert verified.code == 0, verified.err


def test_a_lost_node_is_made_up_for(cluster: RayCluster, real_text: Path, alone: Path, tmp_path: Path) -> None:
    driver = start_driver(cluster, real_text, tmp_path)
    wait_for_marks(driver, tmp_path, 2)
    cluster.kill_node(cluster.nodes[0])
    cluster.add_node()
    code, words = end_of(driver)
    assert code == 0, words
    assert sums(tmp_path) == sums(alone)


def test_a_killed_driver_is_continued_by_the_same_command(
    cluster: RayCluster, real_text: Path, alone: Path, tmp_path: Path
) -> None:
    driver = start_driver(cluster, real_text, tmp_path)
    wait_for_marks(driver, tmp_path, 3)
    kill_driver(driver)
    code, words = end_of(start_driver(cluster, real_text, tmp_path))
    assert code == 0, words
    assert sums(tmp_path) == sums(alone)
    wait_until(lambda: not cluster.processes(JOB), "a segment of the killed driver is still being made")


def test_ctrl_c_leaves_nothing_running_on_any_node(cluster: RayCluster, real_text: Path, tmp_path: Path) -> None:
    driver = start_driver(cluster, real_text, tmp_path)
    wait_until(lambda: bool(cluster.processes(JOB)), "no segment was started")
    driver.send_signal(signal.SIGINT)
    code, words = end_of(driver)
    assert code == 130, words
    wait_until(lambda: not cluster.processes(JOB), "a segment is still being made")
    wait_until(lambda: not cluster.processes("memwatch.guard"), "a guard is left")
