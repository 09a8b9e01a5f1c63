"""Real hogs under a real guard, both in a cage: what they take, they take from each other."""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memwatch.model.units import MIB
from tests.cage import Cage, needs_cage
from tests.guard.processes import Watched, state_of, wait_until
from tests.helpers import HANG_S

pytestmark = needs_cage

# Grows at a rate, in MiB/s, up to a size, and then sits there. The pieces come from the kernel ready for use, which is
# faster than to have it fetch each page; they are written to, because nobody swaps zeros.
HOG = """
import mmap, sys, time
rate, most = float(sys.argv[1]) * 2**20, int(sys.argv[2]) * 2**20
MAP_POPULATE, PIECE = 0x8000, 4 << 20
filling = b"x" * PIECE
held, got, start = [], 0, time.monotonic()
while got < most:
    while got < min((time.monotonic() - start) * rate, most):
        held.append(mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE))
        held[-1].write(filling)
        got += PIECE
    time.sleep(0.005)
time.sleep(1000)
"""
RESERVE_MIB = 100
OURS_MIB = 40  # what the guard, its watcher and the hog's interpreter take

Hog = Callable[..., Watched]


@pytest.fixture
def hog() -> Iterator[Hog]:
    """A hog with so much headroom and no more: `hog(rate_mib_s, most_mib, headroom_mib)`."""
    cages: list[Cage] = []

    def make(rate_mib_s: int, most_mib: int, headroom_mib: int, **config: object) -> Watched:
        made = Cage((headroom_mib + RESERVE_MIB + OURS_MIB) * MIB)
        cages.append(made)
        command = (sys.executable, "-c", HOG, rate_mib_s, most_mib)
        return Watched(*command, cage=made, reserve_bytes=RESERVE_MIB * MIB, **config)

    yield make
    for made in cages:
        made.close()


def test_a_slow_hog_is_warned_about_well_before_it_is_paused(hog: Hog) -> None:
    with hog(100, 1900, headroom_mib=1700, pause_timeout_s=2) as watched:
        pid = watched.event("start")["pid"]
        warning = watched.event("verdict", level="warn")
        assert warning["seconds_left"] > 3
        assert warning["reason"].startswith("full in ")
        pause = watched.event("action", action="pause", next="stop")
        assert pause["by"] == "guard"
        assert pause["t"] - warning["t"] > 3
        stop = watched.event("action", action="stop")
        assert stop["t"] - pause["t"] == pytest.approx(2, abs=1)
        ended = watched.event("exit")
        assert (ended["code"], ended["signal"], ended["by"]) == (124, signal.SIGTERM, "guard")
        assert state_of(pid) is None


def test_a_fast_hog_is_paused_before_headroom_is_gone(hog: Hog) -> None:
    with hog(2000, 2600, headroom_mib=2300, pause_timeout_s=1) as watched:
        watched.event("start")
        watched.event("action", action="pause")
        sample = watched.event("sample")
        taken = sum(p["rss_bytes"] for p in sample["job"])
        assert taken < 2300 * MIB
        assert watched.event("exit")["code"] == 124


# Each worker takes all that it will ever have before it is seen for the first time.
WORKERS = """
import os, time
while True:
    if os.fork() == 0:
        held = b"x" * (20 << 20)
        time.sleep(1000)
    time.sleep(0.05)
"""


def test_a_job_that_grows_by_forking_workers_is_stopped_before_the_kernel_kills_one() -> None:
    made = Cage((400 + 192 + OURS_MIB) * MIB)
    made.forbid_swap()
    try:
        with Watched(sys.executable, "-c", WORKERS, cage=made, reserve_bytes=192 * MIB, pause_timeout_s=1) as watched:
            watched.event("start")
            stop = watched.event("action", action="stop")
            assert watched.event("exit")["by"] == "guard"
            killed = [e for e in watched.events if e["event"] == "action" and e["action"] == "kill"]
            assert (stop["by"], killed) == ("guard", [])
            assert made.oom_kills() == 0
    finally:
        made.close()


# Fills a mapping in one system call, in which nothing but SIGKILL stops it. Behind everybody else (SCHED_IDLE), so that
# a busy machine slows it more than the guard.
IN_THE_KERNEL = """
import mmap, os, sys, time
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
time.sleep(1)
mmap.mmap(-1, int(sys.argv[1]) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000)
time.sleep(1000)
"""


@pytest.mark.parametrize("is_child", [False, True], ids=["the job", "a child of it"])
def test_what_still_grows_in_a_pause_is_killed_before_the_reserve_is_gone(is_child: bool) -> None:
    """MAP_POPULATE goes on after a stop."""
    reserve_mib, cage = 2600, Cage(4000 * MIB)
    try:
        hog = (sys.executable, "-c", IN_THE_KERNEL, 3800)
        command = ("sh", "-c", '"$@"; exit $?', "sh", *hog) if is_child else hog
        with Watched(*command, cage=cage, reserve_bytes=reserve_mib * MIB, pause_timeout_s=60) as watched:
            watched.event("start")
            ended = watched.event("exit")
            kills = [e for e in watched.events if e["event"] == "action" and e["action"] == "kill"]
            assert len(kills) == 1
            assert "after it was paused and does not stop" in kills[0]["reason"]
            assert (ended["code"], ended["by"]) == (124, "guard")
    finally:
        cage.close()


# Grows at 50 MiB/s at most, also after a pause, and ignores SIGTERM.
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
held = []
while True:
    held.append(bytearray(b"x" * (2 << 20)))
    time.sleep(0.04)
"""


def test_after_a_stop_by_the_guard_a_stubborn_child_does_not_go_on_to_fill_memory() -> None:
    """The job's first process ends on SIGTERM; the hog, its child, ignores it."""
    made = Cage((300 + RESERVE_MIB + OURS_MIB) * MIB)
    made.forbid_swap()
    try:
        command = ("sh", "-c", '"$@" & wait', "sh", sys.executable, "-c", STUBBORN)
        with Watched(*command, cage=made, reserve_bytes=RESERVE_MIB * MIB, pause_timeout_s=1) as watched:
            watched.event("start")
            watched.event("action", action="stop")
            ended = watched.event("exit")
            assert [e for e in watched.events if e["event"] == "action" and e["action"] == "kill"]
            assert (ended["code"], ended["signal"], ended["by"]) == (124, signal.SIGTERM, "guard")
            assert ended["left_behind"] == 0
            watched.guard.wait(HANG_S)
            assert made.pids() == []
    finally:
        made.close()


CHECKPOINT = """
import signal, sys, time
held = []

def save(*_):
    for number in range(30):  # It takes memory to save, and three seconds.
        held.append(bytearray(2**20))
        time.sleep(0.1)
    with open(sys.argv[1], "w") as file:
        file.write("complete")
    sys.exit(0)

signal.signal(signal.SIGTERM, save)
while True:
    held.append(bytearray(2**20))
    time.sleep(0.005)
"""


def test_a_checkpoint_after_sigterm_is_completed_though_it_takes_memory(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    made = Cage((100 + 200 + OURS_MIB) * MIB)
    command = (sys.executable, "-c", CHECKPOINT, checkpoint)
    with Watched(*command, cage=made, reserve_bytes=200 * MIB, pause_timeout_s=1) as watched:
        watched.event("start")
        watched.event("action", action="stop")
        exit_event = watched.event("exit")
        assert checkpoint.read_text() == "complete"
        assert exit_event["code"] == 124
        assert watched.has("action", action="kill") is None
    made.close()


def test_with_warn_nothing_is_done(hog: Hog) -> None:
    with hog(300, 540, headroom_mib=500, on_pressure="warn") as watched:
        pid = watched.event("start")["pid"]
        watched.event("action", action="warn")
        watched.event("verdict", level="act")
        assert state_of(pid) in ("S", "R")
        assert not [e for e in watched.events if e["event"] == "action" and e["action"] != "warn"]


def test_a_job_that_stays_small_is_left_alone(hog: Hog) -> None:
    with hog(50, 100, headroom_mib=3000) as watched:
        watched.event("start")
        for _ in range(3):
            watched.event("sample")
        # It may hear of a warning: of another test's hog that makes the machine swap.
        assert not [e for e in watched.events if e["event"] == "action" and e["action"] != "warn"]


def test_switching_the_guard_off_lets_the_job_be(hog: Hog) -> None:
    with hog(300, 540, headroom_mib=500) as watched:
        pid = watched.event("start")["pid"]
        watched.tell("guard_off")
        watched.event("note")
        watched.event("verdict", level="act")
        assert state_of(pid) in ("S", "R")


def test_the_desktop_is_notified_once_and_no_program_is_started_for_it(
    hog: Hog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notify-send that leaves a daemon behind would have it adopted by the guard, and taken for the job's."""
    program = tmp_path / "notify-send"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n(setsid sleep 1000 &)\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/bus,guid=0")
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(f"{tmp_path}/bus")
        bus.listen()
        with hog(100, 700, headroom_mib=600, pause_timeout_s=1) as watched:
            job = watched.event("start")["pid"]
            wait_until(lambda: watched.has("exit"))
            pauses = [e for e in watched.events if e["event"] == "action" and e["action"] == "pause"]
            assert pauses
            assert all(pause["pids"] == [job] for pause in pauses)
            assert watched.event("exit")["left_behind"] == 0
        connection, _ = bus.accept()
        with connection:
            said = b"".join(iter(lambda: connection.recv(65536), b""))
        assert said.count(b"memwatch: memory is running out") == 1
        bus.setblocking(False)
        with pytest.raises(BlockingIOError):
            bus.accept()
    assert not (tmp_path / "started").exists()
