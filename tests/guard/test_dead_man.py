"""A guard that is stopped or hangs while its job is paused does not outlast the deadline that it has announced."""

import signal
import sys
from collections.abc import Iterator

import pytest

from memwatch.decide.dead_man import LONGEST_SILENCE_S, MARGIN_S, SLOW_WAIT_S, STOPPED_WAIT_S, Remedy, remedy
from memwatch.guard import ptrace
from memwatch.model.units import MIB
from tests.cage import Cage, needs_cage
from tests.guard.processes import Watched, is_paused, send, state_of, wait_until
from tests.helpers import HANG_S

DEADLINE_S = 100.0
LATE_S = DEADLINE_S + MARGIN_S


@pytest.mark.parametrize(
    ("now_s", "beat_s", "woken_s", "is_stopped", "expected"),
    [
        pytest.param(99.0, 50.0, None, True, Remedy.NONE, id="before the deadline it may be silent"),
        pytest.param(LATE_S + 60, LATE_S + 59, None, False, Remedy.NONE, id="it beats: it has its reasons"),
        pytest.param(LATE_S, 50.0, None, False, Remedy.WAKE, id="past the deadline it is woken"),
        pytest.param(LATE_S + STOPPED_WAIT_S, 50.0, LATE_S, True, Remedy.KILL, id="still stopped"),
        pytest.param(LATE_S + STOPPED_WAIT_S, 50.0, LATE_S, False, Remedy.NONE, id="slow, not stopped"),
        pytest.param(LATE_S + SLOW_WAIT_S, 50.0, LATE_S, False, Remedy.KILL, id="it hangs"),
    ],
)
def test_what_is_done_about_a_silent_guard(
    now_s: float, beat_s: float, woken_s: float | None, is_stopped: bool, expected: Remedy
) -> None:
    assert remedy(now_s, DEADLINE_S, beat_s, woken_s, is_stopped) == expected


def test_a_pause_without_a_deadline_bears_a_longer_silence() -> None:
    assert remedy(LONGEST_SILENCE_S - 1, None, 0.0, None, is_stopped=True) == Remedy.NONE
    assert remedy(LONGEST_SILENCE_S, None, 0.0, None, is_stopped=True) == Remedy.WAKE


# Takes 500 MiB in a second, of the 400 that are there.
HOG = """
import time
held = []
for _ in range(50):
    held.append(bytearray(b"x" * (10 << 20)))
    time.sleep(0.02)
time.sleep(1000)
"""


@pytest.fixture
def cage() -> Iterator[Cage]:
    made = Cage(540 * MIB)
    made.forbid_swap()
    yield made
    made.close()


def paused_hog(cage: Cage) -> Watched:
    watched = Watched(sys.executable, "-c", HOG, cage=cage, reserve_bytes=100 * MIB, pause_timeout_s=2)
    watched.event("start")
    wait_until(lambda: watched.has("action", action="pause") and is_paused(watched.pids[0]), "the guard pauses it")
    return watched


@needs_cage
def test_a_stopped_guard_is_woken_at_the_deadline(cage: Cage) -> None:
    with paused_hog(cage) as watched:
        send(watched.guard.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(watched.guard.pid) == "T" or watched.guard.poll() is not None)
        wait_until(lambda: state_of(watched.guard.pid) != "T", "the watcher wakes it")
        wait_until(lambda: not is_paused(watched.pids[0]), "the pause ends")


@needs_cage
def test_a_guard_that_stays_stopped_is_killed_and_its_job_runs_on(cage: Cage) -> None:
    with paused_hog(cage) as watched:
        # Its main thread, which SIGCONT does not wake then.
        guard = watched.guard.pid
        assert ptrace.seize(guard) == 0
        assert ptrace.interrupt(guard) == 0
        wait_until(lambda: state_of(guard) is None, "the watcher kills it")
        assert watched.guard.wait(HANG_S) == -signal.SIGKILL
        wait_until(lambda: not is_paused(watched.pids[0]), "the job runs on")
