"""Whoever dies, the job is never left stopped; and memwatch signals nobody but the job."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.guard.send_signal import signal_process
from memwatch.probe.stat import parse_stat
from tests.guard.processes import Watched, children, is_paused, send, state_of, wait_until

# A job with a child, a grandchild in a session of its own, and short-lived children all the time.
FAMILY = """
import os, subprocess, sys, time
folder = sys.argv[1]
child = subprocess.Popen([sys.executable, "-c", '''
import subprocess, sys, time
grandchild = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(grandchild.pid, file=open(sys.argv[1] + "/grandchild", "w"), flush=True)
while True: time.sleep(0.02)
''', folder])
print(child.pid, file=open(folder + "/child", "w"), flush=True)
print(os.getpid(), file=open(folder + "/job", "w"), flush=True)
while True:
    subprocess.run(["sleep", "0.03"])
"""
NAMES = ("job", "child", "grandchild")


@pytest.fixture
def family(tmp_path: Path) -> Iterator[tuple[Watched, list[int]]]:
    with Watched(sys.executable, "-c", FAMILY, tmp_path) as watched:
        watched.event("start")
        wait_until(lambda: all((tmp_path / n).exists() and (tmp_path / n).read_text().strip() for n in NAMES))
        watched.pids += [int((tmp_path / name).read_text()) for name in NAMES]
        yield watched, watched.pids[-3:]


def all_stopped(pids: list[int]) -> bool:
    return all(is_paused(pid) for pid in pids)


def none_stopped(pids: list[int]) -> bool:
    return all(not is_paused(pid) for pid in pids)


def test_a_pause_stops_the_whole_tree_and_a_resume_continues_it(family: tuple[Watched, list[int]]) -> None:
    watched, pids = family
    for _ in range(5):
        watched.tell("pause")
        action = watched.event("action", action="pause")
        assert action["by"] == "user"
        assert set(pids) <= set(action["pids"])
        wait_until(lambda: all_stopped(pids))
        # Children born meanwhile too; one may have ended, and waits for its parent to look.
        wait_until(
            lambda: all((is_paused(pid) or state_of(pid) is None) for pid in [*children(pids[0]), *children(pids[1])])
        )
        watched.tell("resume")
        watched.event("action", action="resume")
        wait_until(lambda: none_stopped(pids))


@pytest.mark.parametrize("is_paused", [True, False], ids=["paused", "running"])
@pytest.mark.parametrize(
    "victims", [("guard",), ("view",), ("guard", "view"), ("watcher", "guard"), ("guard", "watcher")], ids="+".join
)
def test_whoever_is_killed_nobody_stays_stopped(
    family: tuple[Watched, list[int]], victims: tuple[str, ...], is_paused: bool
) -> None:
    watched, pids = family
    watcher = children(watched.guard.pid)[0]
    if is_paused:
        watched.tell("pause")
        watched.event("action", action="pause")
        wait_until(lambda: all_stopped(pids))
    for victim in victims:
        match victim:
            case "guard":
                send(watched.guard.pid, signal.SIGKILL)
            case "watcher":
                send(watcher, signal.SIGKILL)
            case "view":
                watched.channel.close()
    if "guard" not in victims:
        # Only the view is gone: the guard goes on, and so does what it has paused, until somebody tells it.
        assert watched.guard.poll() is None
        assert all_stopped(pids) == is_paused
        return
    watched.guard.wait()
    wait_until(lambda: none_stopped(pids), "nobody is left stopped")
    assert all(map(state_of, pids)), "nobody has ended"


def test_a_stop_ends_a_paused_job(family: tuple[Watched, list[int]]) -> None:
    watched, pids = family
    watched.tell("pause")
    watched.event("action", action="pause")
    watched.tell("stop")
    watched.event("action", action="stop")
    assert watched.event("exit")["code"] == 143
    wait_until(lambda: all(state_of(pid) is None for pid in pids))


@pytest.mark.parametrize("by", ["memwatch", "somebody else"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_paused_job_hears_that_it_is_to_end(number: signal.Signals, by: str) -> None:
    with Watched("sleep", "1000") as watched:
        job = watched.event("start")["pid"]
        watched.tell("pause")
        watched.event("action", action="pause")
        wait_until(lambda: is_paused(job))
        if by == "memwatch":
            watched.tell("signal", number=number)
        else:
            send(job, number)
        assert watched.event("exit")["code"] == 128 + number


def test_to_continue_a_paused_job_is_to_resume_it() -> None:
    with Watched("sleep", "1000") as watched:
        job = watched.event("start")["pid"]
        watched.tell("pause")
        watched.event("action", action="pause")
        watched.tell("signal", number=signal.SIGCONT)
        assert watched.event("action", action="resume")["by"] == "user"
        wait_until(lambda: not is_paused(job))


def test_a_stop_is_followed_by_the_kill_also_with_the_guard_off(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    with Watched("sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 1; done") as watched:
        watched.event("start")
        wait_until(ready.exists)
        watched.tell("guard_off")
        watched.tell("stop")
        assert watched.event("exit")["code"] == 137


def test_who_waits_for_the_guard_sees_its_end_though_its_watcher_is_stopped() -> None:
    with Watched("sleep", "1000") as watched:
        watched.pids.append(watched.event("start")["pid"])
        watcher = children(watched.guard.pid)[0]
        send(watcher, signal.SIGSTOP)
        send(watched.guard.pid, signal.SIGKILL)
        wait_until(lambda: (watched.channel.receive(), not watched.channel.is_open)[1])
        send(watcher, signal.SIGKILL)


def test_a_job_that_ignores_being_told_is_killed(tmp_path: Path) -> None:
    script = f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.1; done"
    with Watched("sh", "-c", script) as watched:
        watched.event("start")
        wait_until((tmp_path / "ready").exists)
        watched.tell("stop")
        watched.event("action", action="stop")
        # Ten seconds after a user's stop, without another look.
        watched.event("action", action="kill", by="guard")
        assert watched.event("exit")["signal"] == signal.SIGKILL


def test_a_reused_pid_is_never_hit() -> None:
    """The pid is right, the start time is not: another process has got it meanwhile."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        start_ticks = parse_stat(Path(f"/proc/{process.pid}/stat").read_bytes()).start_ticks
        assert not signal_process(process.pid, start_ticks - 1, signal.SIGKILL)
        assert process.poll() is None
        assert signal_process(process.pid, start_ticks, signal.SIGKILL)
    assert not signal_process(process.pid, start_ticks, signal.SIGKILL)


def test_a_neighbour_is_never_touched(family: tuple[Watched, list[int]]) -> None:
    """A process of the same user and the same name, not of the job."""
    watched, _ = family
    with subprocess.Popen(["sleep", "1000"]) as neighbour:
        watched.tell("pause")
        watched.event("action", action="pause")
        assert state_of(neighbour.pid) == "S"
        watched.tell("kill")
        watched.event("exit")
        assert state_of(neighbour.pid) == "S"
        neighbour.kill()
