"""Real hogs under a real guard. Each may take a GiB or two at the most, and is told that this is all there is."""

import signal
import sys
from pathlib import Path

import pytest

from memwatch.core.units import MIB
from tests.guard.processes import Watched, state_of

# Grows at a rate, in MiB/s, up to a size, and then sits there.
HOG = """
import sys, time
rate, most = float(sys.argv[1]) * 2**20, int(sys.argv[2]) * 2**20
held, got, start = [], 0, time.monotonic()
while got < most:
    while got < min((time.monotonic() - start) * rate, most):
        held.append(bytearray(b"x") * (4 << 20))
        got += 4 << 20
    time.sleep(0.005)
time.sleep(1000)
"""


def available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    pytest.skip("this machine does not tell how much memory is available")


def hog(rate_mib_s: int, most_mib: int, headroom_mib: int, **config: object) -> Watched:
    """A hog that finds a reserve which leaves only so much headroom."""
    reserve = available_bytes() - headroom_mib * MIB
    if reserve < 0:
        pytest.skip("too little memory is free to try this safely")
    return Watched(sys.executable, "-c", HOG, rate_mib_s, most_mib, reserve_bytes=reserve, **config)


def test_a_slow_hog_is_warned_about_well_before_it_is_paused() -> None:
    with hog(100, 1400, headroom_mib=1200, pause_timeout_s=2) as watched:
        pid = watched.event("start")["pid"]
        warning = watched.event("verdict", level="warn")
        assert warning["seconds_left"] > 5
        assert "full in about" in warning["reason"]
        pause = watched.event("action", action="pause")
        assert pause["by"] == "guard"
        assert pause["next"] == "stop"
        assert pause["t"] - warning["t"] > 3
        stop = watched.event("action", action="stop")
        assert stop["t"] - pause["t"] == pytest.approx(2, abs=1)
        ended = watched.event("exit")
        assert (ended["code"], ended["signal"], ended["by"]) == (124, signal.SIGTERM, "guard")
        assert state_of(pid) is None


def test_a_fast_hog_is_paused_before_headroom_is_gone() -> None:
    with hog(2000, 2600, headroom_mib=2300, pause_timeout_s=1) as watched:
        watched.event("start")
        watched.event("action", action="pause")
        sample = watched.event("sample")
        taken = sum(p["rss_bytes"] for p in sample["job"])
        assert taken < 2300 * MIB
        assert watched.event("exit")["code"] == 124


def test_with_warn_nothing_is_done() -> None:
    with hog(300, 700, headroom_mib=500, on_pressure="warn") as watched:
        pid = watched.event("start")["pid"]
        watched.event("action", action="warn")
        watched.event("verdict", level="act")
        assert state_of(pid) in ("S", "R")
        assert not [e for e in watched.events if e["event"] == "action" and e["action"] != "warn"]


def test_a_job_that_stays_small_is_left_alone() -> None:
    with hog(50, 100, headroom_mib=3000) as watched:
        watched.event("start")
        for _ in range(3):
            watched.event("sample")
        assert not [e for e in watched.events if e["event"] == "action" or e.get("level") in ("warn", "act")]


def test_switching_the_guard_off_lets_the_job_be() -> None:
    with hog(300, 700, headroom_mib=500) as watched:
        pid = watched.event("start")["pid"]
        watched.tell("guard_off")
        watched.event("note")
        watched.event("verdict", level="act")
        assert state_of(pid) in ("S", "R")
