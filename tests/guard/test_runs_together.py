"""Real runs that share a cage: they take turns, and all of them finish."""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memwatch.model.units import GIB
from tests.cage import Cage, cage, needs_cage
from tests.guard.processes import Watched, send, wait_until
from tests.helpers import HANG_S

pytestmark = needs_cage

# Grows at 100 MiB/s up to a size in MiB, works for a while, and ends.
JOB = """
import mmap, sys, time
most, works_s = int(sys.argv[1]) << 20, float(sys.argv[2])
PIECE = 4 << 20
held, got = [], 0
while got < most:
    held.append(mmap.mmap(-1, PIECE))
    held[-1].write(b"x" * PIECE)
    got += PIECE
    time.sleep(0.04)
time.sleep(works_s)
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cage]:
    """A cage of 2 GiB, and a registry that only the runs in it use."""
    folder = tmp_path / "runs"
    folder.mkdir()
    monkeypatch.setenv("MEMWATCH_RUNTIME_DIR", str(folder))
    with cage(2 * GIB) as made:
        made.forbid_swap()
        yield made
    assert list(folder.iterdir()) == []


def start(stack: ExitStack, shared: Cage, size_mib: int, works_s: float, **config: object) -> Watched:
    watched = stack.enter_context(Watched(sys.executable, "-c", JOB, size_mib, works_s, cage=shared, **config))
    watched.event("start")
    return watched


def steps(watched: Watched) -> list[str]:
    return [e["action"] for e in watched.events if e["event"] == "action" and not e.get("brief")]


def test_three_jobs_of_1_gib_in_2_gib_all_finish(shared: Cage) -> None:
    """Together they do not fit; one after another they do."""
    with ExitStack() as stack:
        runs = [start(stack, shared, 1024, 5) for _ in range(3)]
        wait_until(lambda: all([watched.has("exit") for watched in runs]), "all runs end")
        assert [watched.event("exit")["code"] for watched in runs] == [0, 0, 0]
        assert not any({"stop", "kill"} & set(steps(watched)) for watched in runs)
        assert steps(runs[0]).count("pause") == 0, "the oldest goes first"
        waits_for = [e["waits_for"] for e in runs[2].events if e["event"] == "verdict" and "waits_for" in e]
        assert waits_for[0]["pid"] == runs[0].guard.pid
        assert "goes first; this one resumes when it ends" in waits_for[-1]["reason"]


def test_a_run_that_is_killed_is_no_longer_waited_for(shared: Cage) -> None:
    """Its file stays behind; its guard does not live."""
    with ExitStack() as stack:
        older, younger = (start(stack, shared, size_mib, 1) for size_mib in (1400, 900))
        younger.event("action", action="pause")
        for pid in [older.guard.pid, *older.pids]:
            send(pid, signal.SIGKILL)
        older.guard.wait(HANG_S)
        assert younger.event("exit")["code"] == 0


def test_a_memwatch_under_memwatch_finishes(shared: Cage) -> None:
    """The inner run is younger than the outer one, and part of it: neither waits for the other."""
    inner = [sys.executable, "-m", "memwatch", "run", "--no-record", "--ui", "none", "--"]
    with Watched(*inner, sys.executable, "-c", JOB, 900, 1, cage=shared) as watched:
        watched.event("start")
        assert watched.event("exit")["code"] == 0
        assert "waits_for" not in watched.event("verdict")
