"""A job that somebody else has killed: it is told that it was not memwatch, and whether the kernel did so then."""

import json
import sys
from pathlib import Path

import pytest

from memwatch.cli.plain import line_for
from memwatch.guard.job_ending import LATELY_S, KernelKills
from memwatch.model.sample import Paging, Sample
from memwatch.model.units import MIB
from tests.cage import cage, needs_cage
from tests.guard.processes import Watched
from tests.helpers import memwatch

HOG = "bytearray(200 << 20)"


def test_a_kill_from_elsewhere_is_told_in_one_sentence() -> None:
    done = memwatch("run", "--no-record", "--", "sh", "-c", "kill -9 $$")
    assert done.code == 137
    assert "the job was killed by SIGKILL (not sent by memwatch)" in done.err
    assert "memwatch diagnose" in done.err


def test_a_kill_that_was_asked_for_is_no_news(tmp_path: Path) -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("start")
        watched.tell("kill")
        assert line_for(watched.event("exit")) is None


@needs_cage
@pytest.mark.parametrize(
    "script", ['exec "$@"', '"$@"; exit $?'], ids=["the job itself", "a child of a shell that tells of it"]
)
def test_a_kill_by_the_kernel_is_told_and_kept(script: str, tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with cage(64 * MIB) as made:
        made.forbid_swap()
        hog = made.command("sh", "-c", script, "sh", sys.executable, "-c", HOG)
        done = memwatch("run", "--on-pressure", "warn", "--record", record, "--", *hog)
    assert done.code == 137
    assert "after an OOM kill by the kernel" in done.err
    assert f"memwatch diagnose {record}" in done.err
    last = json.loads(record.read_text().splitlines()[-1])
    assert (last["event"], last["by"], last["kernel_oom"]) == ("exit", None, True)


def seen(clock_s: float, oom_kills: int | None) -> Sample:
    return Sample(clock_s, clock_s, None, paging=Paging(0, 0, 0, None, oom_kills))


def test_only_a_rise_of_the_kernels_count_is_a_kill() -> None:
    kills = KernelKills()
    for clock_s, count in ((1.0, None), (2.0, 7), (3.0, 7), (4.0, None), (5.0, 8)):
        kills.look(seen(clock_s, count))
        assert not kills.happened_by(clock_s)
    kills.look(seen(6.0, 9))
    assert kills.happened_by(6.0 + LATELY_S)
    assert not kills.happened_by(6.1 + LATELY_S)


def test_a_kill_before_the_first_sample_is_seen_by_the_count_before_the_start() -> None:
    kills = KernelKills(count_before=7)
    kills.look(seen(1.0, 8))
    assert kills.happened_by(1.0)
