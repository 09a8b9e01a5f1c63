"""Innocent jobs beside programs that are not: they are warned about and go on, and resume as soon as there is room."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memwatch.model.units import MIB
from tests.cage import Cage, cage, needs_cage
from tests.guard.processes import Watched, wait_until
from tests.guard.test_pressure import HOG
from tests.helpers import HANG_S

pytestmark = needs_cage

LIMIT_MIB = 1500
# Takes so many MiB at once, and no more.
HOLDER = """
import sys, time
held = bytearray(int(sys.argv[1]) << 20)
held[::4096] = b"x" * len(held[::4096])
time.sleep(1000)
"""


@contextmanager
def neighbour(made: Cage, *command: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the same cage that is not the job's."""
    process = subprocess.Popen(made.command(*command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(HANG_S)


def actions(watched: Watched) -> list[str]:
    """Without the holds of a tenth of a second, which a job may see while it takes its own memory."""
    watched.events += watched.channel.receive()
    return [event["action"] for event in watched.events if event["event"] == "action" and not event.get("brief")]


def test_a_neighbour_that_fills_the_cage_is_not_the_jobs_fault() -> None:
    command = (sys.executable, "-c", HOLDER, 500)
    with cage(LIMIT_MIB * MIB) as made, Watched(*command, cage=made, pause_timeout_s=2) as watched:
        watched.event("start")
        wait_until(lambda: made.number("memory.usage_in_bytes") > 500 * MIB, "the job has its memory")
        for _ in range(3):
            watched.event("sample")
        with neighbour(made, sys.executable, "-c", HOG, 200, LIMIT_MIB - 500 - 150):
            watched.event("action", action="warn")
            wait_until(lambda: made.number("memory.usage_in_bytes") > (LIMIT_MIB - 160) * MIB, "the cage is full")
            time.sleep(5)
            assert set(actions(watched)) <= {"warn"}
        watched.tell("kill")
        watched.event("exit")


def test_somebody_elses_reading_is_not_the_jobs_fault(tmp_path: Path) -> None:
    """A file larger than the cage is read over and over: page cache comes and goes, and everybody refaults."""
    big = tmp_path / "big"
    with big.open("wb") as file:
        for _ in range(LIMIT_MIB + 200):
            file.write(b"x" * MIB)
    command = (sys.executable, "-c", HOLDER, LIMIT_MIB - 450)
    with cage(LIMIT_MIB * MIB) as made, Watched(*command, cage=made, pause_timeout_s=2) as watched:
        watched.event("start")
        with neighbour(made, "sh", "-c", f"while :; do cat {big}; done"):
            for _ in range(12):
                watched.event("sample")
            assert not {"stop", "kill"} & set(actions(watched))
            assert not watched.has("action", action="pause", next="stop")
        watched.tell("kill")
        assert watched.event("exit")["by"] == "user"


def test_a_paused_job_resumes_at_once_when_another_program_leaves() -> None:
    """Whatever its rate was before."""
    command = (sys.executable, "-c", HOG, 1000, LIMIT_MIB - 600)
    with cage(LIMIT_MIB * MIB) as made, neighbour(made, sys.executable, "-c", HOLDER, 700) as other:
        wait_until(lambda: made.number("memory.usage_in_bytes") > 650 * MIB, "the other program has its memory")
        with Watched(*command, cage=made, pause_timeout_s=500) as watched:
            watched.event("start")
            watched.event("action", action="pause", next="stop")
            other.kill()
            other.wait(HANG_S)
            watched.event("action", action="resume")
            wait_until(
                lambda: made.number("memory.usage_in_bytes") > (LIMIT_MIB - 620) * MIB, "it has all that it wants"
            )
            assert "stop" not in actions(watched)
            watched.tell("kill")
            watched.event("exit")
