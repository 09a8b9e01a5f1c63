"""memwatch run --on ray: what ends it early, what it says then, and how it finds the cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.rank_jobs import SEGMENT_BYTES, end_of, start_rank, sums
from tests.cluster.ray_cluster import JOB, RayCluster, ray_cluster, start_driver, wait_until
from tests.helpers import HANG_S, memwatch

pytest.importorskip("ray", reason="needs Ray: pip install 'memwatch[ray]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(nodes=2) as cluster:
        yield cluster


def test_sigterm_leaves_nothing_running_on_any_node(cluster: RayCluster, real_text: Path, tmp_path: Path) -> None:
    """As `ray job stop` and Slurm send it. Ray itself takes over this signal."""
    driver = start_driver(cluster, real_text, tmp_path)
    wait_until(lambda: bool(cluster.processes(JOB)), "no segment was started")
    driver.send_signal(signal.SIGTERM)
    code, words = end_of(driver)
    assert code == 143, words
    wait_until(lambda: not cluster.processes(JOB), "a segment is still being made")


def test_two_drivers_in_one_folder_do_no_harm(cluster: RayCluster, real_text: Path, tmp_path: Path) -> None:
    """The first to finish removes what is unfinished, while the other still reads it."""
    drivers = [start_driver(cluster, real_text, tmp_path / "out") for _ in range(2)]
    for driver in drivers:
        code, words = end_of(driver)
        assert code == 0, words
    code, words = end_of(start_rank(real_text, tmp_path / "alone", 0, 1))
    assert code == 0, words
    assert sums(tmp_path / "out") == sums(tmp_path / "alone")


def test_a_segment_that_fails_three_times_is_named_and_the_others_finish(cluster: RayCluster, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(4):
        (texts / f"{number}.jsonl").write_text('{"text": "Some words."}\n' * 1000)
    (texts / "2.jsonl").write_text('{"text": "Some words."}\n' * 500 + "{not json\n")
    code, words = end_of(start_driver(cluster, texts / "*.jsonl", tmp_path / "out", ui="plain"))
    assert code == 1
    assert "segment 2 of 4 failed" in words
    assert words.count("segment 2 is repeated") == 2
    assert len(list(tmp_path.glob("out/.memwatch-partial/segments/*.json"))) == 3


def test_another_version_on_a_node_is_one_sentence(
    cluster: RayCluster, real_text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver whose memwatch says that it is another version."""
    (tmp_path / "sitecustomize.py").write_text("import memwatch\nmemwatch.__version__ = '0.0.1'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, words = end_of(start_driver(cluster, real_text, tmp_path / "out"))
    assert code == 1
    assert "and the driver 0.0.1; install the same version" in words


def test_a_head_that_dies_is_one_sentence(real_text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would wait, and end the driver with a page of its log. What is done is kept, and another cluster goes on."""
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "5")
    with ray_cluster(nodes=1) as dying:
        driver = start_driver(dying, real_text, tmp_path, ui="plain")
        wait_until(lambda: bool(dying.processes(JOB)) or driver.poll() is not None, "no segment was started")
        for pid in dying.processes("gcs_server"):
            os.kill(pid, signal.SIGKILL)
        code, words = end_of(driver)
    assert code == 1, words
    assert words.count("is gone; finished segments are kept: start the cluster again") == 1, words
    assert "gcs_rpc_client" not in words, words


def test_the_cluster_is_found_by_ray_address(
    cluster: RayCluster, real_text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `ray job submit` sets it for its jobs."""
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    code, words = end_of(start_rank(real_text, tmp_path / "alone", 0, 1))
    assert code == 0, words
    command = ("run", "--ui", "none", "--on", "ray", "tokenize", real_text, "--out", tmp_path / "out")
    done = memwatch(*command, "--val-ratio", "0.01", "--segment-size", SEGMENT_BYTES)
    assert done.code == 0, done.err
    assert sums(tmp_path / "out") == sums(tmp_path / "alone")


def test_the_recipe_submits_a_ray_job(
    cluster: RayCluster, real_text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ray job submit` is played by a script: it runs the command on the head, with the cluster in its environment."""
    ray = tmp_path / "ray"
    ray.write_text(
        f'#!/bin/sh\n[ "$1 $2 $5" = "job submit --" ] || exit 9\nshift 5\nRAY_ADDRESS={cluster.address} exec "$@"\n'
    )
    ray.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("RAY_DASHBOARD", "http://head:8265")
    recipe = Path(__file__).parents[2] / "recipes" / "ray_job.sh"
    done = subprocess.run([recipe, real_text, tmp_path / "out"], capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    assert {"manifest.json", "train_shard_0000.bin"} <= {path.name for path in (tmp_path / "out").iterdir()}
