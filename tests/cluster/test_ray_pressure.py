"""A node of a Ray cluster that runs out of memory: its segments wait, the run ends exact."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.model.units import MIB
from tests.cage import CONTROLLER, Cage, cage, needs_cage
from tests.cluster.rank_jobs import end_of, start_rank, sums
from tests.cluster.ray_cluster import ray_cluster, start_driver, wait_until
from tests.helpers import memwatch

pytest.importorskip("ray", reason="needs Ray: pip install 'memwatch[ray]'")
pytestmark = needs_cage

LIMIT_BYTES = 1536 * MIB
# The guard keeps 8 % free (123 MiB), and takes 45 MiB with its front: a tokenizer does not fit until the hog has gone.
LEFT_BYTES = 200 * MIB
# So much text that the guard sees the tokenizer grow: 5 MB are done before its second look.
COPIES = 12
SEGMENTS = ("--segment-size", "5000000")


@pytest.fixture
def hog() -> Iterator[list["subprocess.Popen[bytes]"]]:
    hogs: list[subprocess.Popen[bytes]] = []
    yield hogs
    for each in hogs:
        each.kill()
        each.communicate()


def taking(room: Cage, size_bytes: int) -> "subprocess.Popen[bytes]":
    code = f"import time; b = bytearray(b'x') * {size_bytes}; print('full', flush=True); time.sleep(1000)"
    process = subprocess.Popen(room.command(sys.executable, "-c", code), stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"full\n"
    return process


def settled_bytes(room: Cage) -> int:
    """What Ray takes on the node when all of its processes have started."""
    seen: list[int] = []

    def has_settled() -> bool:
        time.sleep(0.5)
        seen.append(room.number("memory.usage_in_bytes") - room.cache_bytes())
        return len(seen) > 8 and max(seen[-8:]) - min(seen[-8:]) < 4 * MIB

    wait_until(has_settled, "Ray takes more and more")
    return seen[-1]


def actions_in(out: Path) -> list[str]:
    found = []
    for journal in out.glob(".memwatch-journals/*/segment-*.jsonl"):
        events = [json.loads(line) for line in journal.read_text().splitlines()]
        found += [event["action"] for event in events if event["event"] == "action"]
    return found


def test_a_node_under_memory_pressure_waits_and_the_run_ends_exact(
    real_text: Path, tmp_path: Path, hog: list["subprocess.Popen[bytes]"]
) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(real_text.read_bytes() * COPIES)
    code, words = end_of(start_rank(text, tmp_path / "alone", 0, 1, *SEGMENTS))
    assert code == 0, words
    out = tmp_path / "out"
    with cage(LIMIT_BYTES) as room, ray_cluster(nodes=0) as cluster:
        cluster.add_node(CONTROLLER / room.name.lstrip("/"))
        used = settled_bytes(room)
        hog.append(taking(room, LIMIT_BYTES - used - LEFT_BYTES))
        driver = start_driver(cluster, text, out, *SEGMENTS)
        journals = out / ".memwatch-partial" / "nodes"

        def is_waiting() -> bool:
            statuses = [json.loads(path.read_text()) for path in journals.glob("*.json")]
            return any(status["is_paused"] for status in statuses) or driver.poll() is not None

        wait_until(is_waiting, "nothing waits for memory")
        assert driver.poll() is None, driver.communicate()
        cluster.add_node()  # Now, or it would have made all segments before the other one could wait.
        hog[0].kill()
        code, words = end_of(driver)
        assert code == 0, words
    assert sums(out) == sums(tmp_path / "alone")
    assert "pause" in actions_in(out)
    assert memwatch("verify", out, "--input", text).code == 0
