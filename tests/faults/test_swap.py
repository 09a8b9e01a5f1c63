"""A real hog in a cage with real swap: when it is warned about, when it is stopped, and how much has gone to swap."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memwatch.model.units import MIB
from tests.cage import NoSwap, cage, needs_cage, swap_file
from tests.guard.processes import Watched, state_of, wait_until
from tests.guard.test_pressure import HOG

pytestmark = needs_cage

LIMIT_MIB = 1400
RATE_MIB_S = 100


@pytest.fixture(scope="module", autouse=True)
def swap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(swap_file(tmp_path_factory.mktemp("swap"), 768 * MIB))
        except NoSwap as reason:
            pytest.skip(str(reason))
        yield


def journal_of(path: Path, **config: object) -> list[dict[str, Any]]:
    """Of a hog that takes 200 MiB more than there is, if it is let."""
    command = (sys.executable, "-c", HOG, RATE_MIB_S, LIMIT_MIB + 200)
    with cage(LIMIT_MIB * MIB) as made, Watched(*command, cage=made, record=str(path), **config) as watched:
        watched.event("start")
        if config.get("on_pressure") == "warn":
            while swap_used(watched.event("sample")) < 64 * MIB:
                pass
            watched.tell("kill")
        watched.event("exit")
    return [json.loads(line) for line in path.read_text().splitlines()]


def swap_used(sample: dict[str, Any]) -> int:
    """By the cage alone: the machine's counters also have what other tests push out."""
    return max((limit["swap_used_bytes"] for limit in sample.get("limits", ())), default=0)


def swapped_out(events: list[dict[str, Any]]) -> list[tuple[float, int]]:
    """(when, bytes)."""
    return [(e["t"], swap_used(e)) for e in events if e["event"] == "sample"]


def action_t(events: list[dict[str, Any]], name: str) -> float:
    return next(float(e["t"]) for e in events if e["event"] == "action" and e["action"] == name)


def test_it_is_acted_on_before_anything_much_is_in_swap(tmp_path: Path) -> None:
    events = journal_of(tmp_path / "run.jsonl", pause_timeout_s=1)
    assert events[-1]["code"] == 124
    assert action_t(events, "warn") <= action_t(events, "pause") <= action_t(events, "stop")
    assert max(size for t, size in swapped_out(events) if t <= action_t(events, "stop") + 1) <= 64 * MIB


def test_it_is_warned_about_five_seconds_before_the_first_page_goes_out(tmp_path: Path) -> None:
    """Nobody acts here, so that there is a first page."""
    events = journal_of(tmp_path / "run.jsonl", on_pressure="warn")
    first_out_t = next(t for t, size in swapped_out(events) if size > 0)
    assert first_out_t - action_t(events, "warn") >= 5


# Takes memory, and writes how often it has found all of it as it was.
KEEPS = """
import sys, time
held = [bytes([i % 251]) * (1 << 20) for i in range(int(sys.argv[1]))]
rounds = 0
while all(piece == bytes([i % 251]) * (1 << 20) for i, piece in enumerate(held)):
    rounds += 1
    with open(sys.argv[2], "w") as file:
        file.write(str(rounds))
    time.sleep(0.1)
"""


def paged_out(watched: Watched, least_bytes: int) -> dict[str, Any]:
    """The first verdict that says so much was freed."""
    while (event := watched.event("verdict")).get("paged_out_bytes", 0) < least_bytes:
        pass
    return event


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_a_pause_frees_memory_and_the_job_runs_on_intact(tmp_path: Path) -> None:
    rounds = tmp_path / "rounds"
    command = (sys.executable, "-c", KEEPS, 300, rounds)
    with cage(450 * MIB) as made, Watched(*command, cage=made, reserve_bytes=100 * MIB) as watched:
        pid = watched.event("start")["pid"]
        wait_until(rounds.exists, "the job has its memory")
        watched.tell("pause")
        watched.event("action", action="pause", by="user")
        paged_out(watched, 50 * MIB)
        assert resident_bytes(pid) < 270 * MIB
        before = int(rounds.read_text())
        watched.tell("resume")
        watched.event("action", action="resume")
        wait_until(lambda: int(rounds.read_text() or 0) > before + 2, "the job finds its memory as it was")


def test_what_a_pause_has_freed_does_not_resume_the_job(tmp_path: Path) -> None:
    """It would read all of it back at once, and be paused again."""
    command = (sys.executable, "-c", HOG, 300, 700)
    config = {"reserve_bytes": 100 * MIB, "pause_timeout_s": 600}
    with cage(500 * MIB) as made, Watched(*command, cage=made, **config) as watched:
        pid = watched.event("start")["pid"]
        watched.event("action", action="pause", next="stop")
        verdict = paged_out(watched, 150 * MIB)
        assert verdict["resume_needs_bytes"] > 0
        assert state_of(pid) in ("t", "T")
        watched.events += watched.channel.receive()
        resumed = [e for e in watched.events if e.get("action") == "resume" and not e.get("brief")]
        assert not resumed
