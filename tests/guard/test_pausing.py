"""How a job is paused: held by ptrace, or stopped by SIGSTOP where that is forbidden; verified, and reported."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memwatch.decide.pause_check import SMALLEST_GROWTH_BYTES, runaway
from memwatch.model.sample import Process, Sample
from memwatch.model.units import GIB, MIB
from memwatch.probe.process_waits import pending_signals
from tests.guard.processes import (
    NoPtrace,
    Watched,
    children,
    command_of,
    is_paused,
    send,
    state_of,
    wait_until,
)

WAYS = [pytest.param(None, id="held by ptrace"), pytest.param(NoPtrace(), id="stopped by SIGSTOP")]


def pause(watched: Watched) -> dict[str, object]:
    watched.tell("pause")
    return watched.event("action", action="pause")


def resume(watched: Watched) -> dict[str, object]:
    watched.tell("resume")
    return watched.event("action", action="resume")


def threads(pid: int) -> list[str]:
    """The state of each."""
    states = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
    return states


@pytest.mark.parametrize("way", WAYS)
def test_every_thread_is_paused_and_runs_on(way: NoPtrace | None) -> None:
    script = "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()"
    with Watched(sys.executable, "-c", script, cage=way) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: len(threads(job)) == 21)
        letter = "t" if way is None else "T"
        for _ in range(3):
            assert pause(watched)["pids"] == [job]
            wait_until(lambda: set(threads(job)) == {letter})
            assert resume(watched)["pids"] == [job]
            wait_until(lambda: not {"t", "T"} & set(threads(job)))


def test_threads_and_processes_that_are_born_meanwhile_are_paused_too() -> None:
    script = """
import os, threading, time
def work():
    while True:
        thread = threading.Thread(target=time.sleep, args=(0.001,))
        thread.start()
        thread.join()
for _ in range(4): threading.Thread(target=work).start()
while True:
    if os.fork() == 0:
        time.sleep(0.01)
        os._exit(0)
    os.wait()
"""
    with Watched(sys.executable, "-c", script) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: len(threads(job)) > 4)
        for _ in range(20):
            pause(watched)
            wait_until(lambda: set(threads(job)) <= {"t", "Z"})
            wait_until(lambda: all(is_paused(pid) or state_of(pid) is None for pid in children(job)))
            resume(watched)
            wait_until(lambda: "t" not in set(threads(job)))


@pytest.mark.parametrize("way", WAYS)
def test_what_the_job_itself_has_stopped_stays_stopped(way: NoPtrace | None) -> None:
    with Watched("sh", "-c", "sleep 1000 & kill -STOP $!; sleep 1001", cage=way) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: len(children(job)) == 2)
        stopped, running = children(job)
        watched.pids += [stopped, running]
        wait_until(lambda: state_of(stopped) == "T")
        for _ in range(3):
            pause(watched)
            wait_until(lambda: is_paused(running))
            resume(watched)
            wait_until(lambda: not is_paused(running) and not is_paused(job))
            wait_until(lambda: state_of(stopped) == "T")


@pytest.mark.parametrize("way", WAYS)
def test_sigcont_from_outside_resumes_the_whole_job(way: NoPtrace | None) -> None:
    with Watched("sh", "-c", "sleep 1000; :", cage=way, interval_s=0.1) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: children(job))
        (child,) = children(job)
        watched.pids.append(child)
        pause(watched)
        wait_until(lambda: is_paused(job) and is_paused(child))
        watched.events.clear()
        watched.event("sample")  # The guard has seen it stopped; what runs later was continued.
        watched.event("sample")
        send(child, signal.SIGCONT)
        action = watched.event("action", action="resume")
        assert (action["by"], action["reason"]) == ("user", "resumed by SIGCONT from outside memwatch")
        wait_until(lambda: not is_paused(job) and not is_paused(child))


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP], ids=lambda number: number.name)
def test_a_stop_from_outside_during_a_pause_takes_effect_on_resume(number: signal.Signals) -> None:
    with Watched("sleep", "1000") as watched:
        job = watched.event("start")["pid"]
        pause(watched)
        wait_until(lambda: state_of(job) == "t")
        send(job, number)
        watched.tell("resume")
        wait_until(lambda: state_of(job) == "T")
        if number == signal.SIGTSTP:
            watched.event("suspended", signal=number)


def test_a_signal_that_the_job_ignores_does_not_end_its_pause() -> None:
    with Watched("sh", "-c", "trap '' HUP; sleep 1000; :", interval_s=0.1) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: children(job))
        watched.pids += children(job)
        pause(watched)
        send(job, signal.SIGHUP)
        watched.events.clear()
        for _ in range(3):
            watched.event("sample")
        assert is_paused(job)


def test_a_signal_that_the_job_sends_to_its_own_does_not_end_a_pause(tmp_path: Path) -> None:
    """It waits for a held process, like one from outside; but it was sent before."""
    # The child sends, because it is the last to be held.
    script = f"""
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: None)
parent = os.getpid()
if os.fork() == 0:
    open("{tmp_path}/ready", "w").close()
    while True:
        os.kill(parent, signal.SIGCONT)
        os.kill(parent, signal.SIGTERM)
while True:
    time.sleep(1000)
"""
    with Watched(sys.executable, "-c", script, interval_s=0.1) as watched:
        job = watched.event("start")["pid"]
        wait_until((tmp_path / "ready").exists)
        watched.pids += children(job)
        for _ in range(5):
            pause(watched)
            watched.events.clear()
            for _ in range(3):
                watched.event("sample")
            assert is_paused(job)
            assert not watched.has("action")
            resume(watched)


def test_who_is_killed_in_a_pause_is_reported_to_its_parent() -> None:
    with Watched("sh", "-c", "sleep 1000; exit 7") as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: children(job))
        (child,) = children(job)
        pause(watched)
        wait_until(lambda: is_paused(child))
        send(child, signal.SIGKILL)
        wait_until(lambda: state_of(child) is None)
        resume(watched)
        assert watched.event("exit")["code"] == 7


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_process_under_a_debugger_is_paused_and_runs_on() -> None:
    """Another has it by ptrace; it gets SIGSTOP."""
    ticking = "while :; do date +%N > {}; sleep 0.05; done"
    with tempfile.TemporaryDirectory() as folder:
        clock = Path(folder) / "clock"
        with Watched("strace", "-f", "-o", "/dev/null", "sh", "-c", ticking.format(clock)) as watched:
            job = watched.event("start")["pid"]
            wait_until(clock.exists)
            for _ in range(5):
                pause(watched)
                wait_until(lambda: is_paused(job) and all(map(is_paused, children(job))))
                resume(watched)
                before = clock.read_text()
                wait_until(lambda: clock.read_text() not in ("", before))  # noqa: B023
            watched.tell("kill")
            watched.event("exit")


def test_what_a_process_of_the_job_holds_by_ptrace_stays_held(tmp_path: Path) -> None:
    """A debugger at a breakpoint, or a memwatch in memwatch that has paused its own job."""
    script = f"""
import subprocess, time
from memwatch.guard import ptrace
child = subprocess.Popen(["sleep", "1000"])
ptrace.seize(child.pid)
ptrace.interrupt(child.pid)
with open("{tmp_path}/new", "w") as file:
    file.write(str(child.pid))
import os; os.rename("{tmp_path}/new", "{tmp_path}/pid")
time.sleep(1000)
"""
    with Watched(sys.executable, "-c", script) as watched:
        job = watched.event("start")["pid"]
        wait_until((tmp_path / "pid").exists)
        child = int((tmp_path / "pid").read_text())
        watched.pids.append(child)
        wait_until(lambda: state_of(child) == "t")
        assert pause(watched)["pids"] == [job, child]
        wait_until(lambda: is_paused(job))
        resume(watched)
        wait_until(lambda: not is_paused(job))
        assert state_of(child) == "t"
        assert pending_signals(child) == set()


# What a user without rights does to a process of another: root may do everything.
NOBODY = 65534


class AsNobody:
    def command(self, *command: object) -> list[str]:
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, command)]


@pytest.fixture
def as_root() -> Iterator[str]:
    """A command line that runs another as root, whoever starts it, as sudo does."""
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        program = folder / "setpriv"
        shutil.copy(str(shutil.which("setpriv")), program)
        program.chmod(stat.S_ISUID | 0o755)
        yield f"{program} --reuid=0 --regid=0 --clear-groups"
    finally:
        shutil.rmtree(folder)


needs_other_users = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv to become another user"
)


@needs_other_users
def test_a_process_of_another_user_is_not_said_to_be_paused(as_root: str) -> None:
    with Watched("sh", "-c", f"{as_root} sleep 1000 & sleep 1001", cage=AsNobody()) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: len(children(job)) == 2 and all(command_of(pid)[:1] == ["sleep"] for pid in children(job)))
        roots, own = children(job)
        watched.pids += [roots, own]
        assert os.stat(f"/proc/{roots}").st_uid == 0
        action = pause(watched)
        assert action["result"] == "1 of 3 processes belongs to another user and was not paused"
        assert set(action["pids"]) == {job, own}  # type: ignore[call-overload]
        wait_until(lambda: is_paused(job) and is_paused(own))
        assert not is_paused(roots)


@needs_other_users
def test_a_pause_that_reached_nobody_is_no_pause(as_root: str) -> None:
    with Watched(*as_root.split(), "sleep", "1000", cage=AsNobody()) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: command_of(job)[:1] == ["sleep"])
        action = pause(watched)
        assert action["pids"] == []
        assert action["result"] == "1 of 1 processes belongs to another user and was not paused"
        assert not is_paused(job)


def test_a_watcher_that_is_killed_is_replaced_and_knows_what_is_stopped() -> None:
    with Watched("sh", "-c", "sleep 1000; :", cage=NoPtrace()) as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: children(job))
        (child,) = children(job)
        watched.pids.append(child)
        first = watcher_of(watched)
        assert first is not None
        pause(watched)
        wait_until(lambda: is_paused(job) and is_paused(child))
        send(first, signal.SIGKILL)
        wait_until(lambda: watcher_of(watched) not in (None, first))
        wait_until(lambda: command_of(watcher_of(watched) or 0)[:1] == ["memwatch-watcher"])
        send(watched.guard.pid, signal.SIGKILL)
        wait_until(lambda: not is_paused(job) and not is_paused(child))


def watcher_of(watched: Watched) -> int | None:
    found = [pid for pid in children(watched.guard.pid) if command_of(pid)[:1] == ["memwatch-watcher"]]
    return found[0] if found else None


def test_a_watcher_that_is_stopped_is_continued() -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("start")
        watcher = watcher_of(watched)
        assert watcher is not None
        send(watcher, signal.SIGSTOP)
        wait_until(lambda: state_of(watcher) == "S")


def test_guard_and_watchers_have_no_command_line_in_common() -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("start")
        watcher = watcher_of(watched)
        assert watcher is not None
        assert not any(b"memwatch.guard" in part.encode() for part in command_of(watcher))
        assert "memwatch.guard" in command_of(watched.guard.pid)
        named = subprocess.run(["ps", "-o", "comm=", "-p", str(watcher)], capture_output=True, text=True, check=True)
        assert named.stdout.strip() == "memwatch-watche"  # as much as the kernel keeps
        others = [pid for pid in children(watched.guard.pid) if command_of(pid)[:1] == ["keeper-of-job"]]
        assert len(others) == 1, "pkill -f memwatch leaves one"


def test_after_a_stop_the_guard_stays_until_all_of_the_job_has_ended(tmp_path: Path) -> None:
    """Its first process ends on SIGTERM at once; a child of it ignores that."""
    stubborn = f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.1; done"
    with Watched("sh", "-c", f'sh -c "{stubborn}" & wait') as watched:
        job = watched.event("start")["pid"]
        wait_until((tmp_path / "ready").exists)
        (child,) = children(job)
        watched.pids.append(child)
        watched.tell("stop")
        watched.event("action", action="stop")
        wait_until(lambda: state_of(job) is None)
        kill = watched.event("action", action="kill")
        assert child in kill["pids"]
        ended = watched.event("exit")
        assert ended["left_behind"] == 0
        assert state_of(child) is None


def test_what_a_job_leaves_behind_when_it_ends_by_itself_lives_on(tmp_path: Path) -> None:
    with Watched("sh", "-c", f"setsid sleep 1000 & echo $! > {tmp_path}/pid") as watched:
        watched.event("start")
        assert watched.event("exit")["left_behind"] == 1
        watched.guard.wait()
        watched.pids.append(int((tmp_path / "pid").read_text()))
        assert state_of(watched.pids[-1]) == "S"


def grown(pid: int, rss_mib: int) -> Process:
    return Process(pid, 5, 1, "D", rss_mib * MIB, 0, 0.0, None, None, "hog")


def sampled(*job: Process) -> Sample:
    return Sample(0.0, 0.0, None, job=job)


def test_a_process_that_grows_in_a_pause_at_the_expense_of_the_reserve_is_named() -> None:
    first, now = sampled(grown(1, 100), grown(2, 500)), sampled(grown(1, 900), grown(2, 600))
    found = runaway(first, now, {1, 2}, headroom_bytes=-600 * MIB, reserve_bytes=GIB)
    assert found is not None
    assert found.process.pid == 1
    assert found.reason == (
        "process 1 (hog) grew 800.0 MiB after it was paused and does not stop; 600.0 MiB of the reserve are used"
    )


@pytest.mark.parametrize(
    ("not_stopped", "headroom_bytes", "grown_bytes"),
    [
        pytest.param(set(), -GIB, GIB, id="it has stopped: somebody else takes the memory"),
        pytest.param({1}, -GIB // 2, GIB, id="half of the reserve is left"),
        pytest.param({1}, None, GIB, id="nothing is known of the room"),
        pytest.param({1}, -GIB, SMALLEST_GROWTH_BYTES - MIB, id="it hardly grows"),
    ],
)
def test_otherwise_nobody_is_killed_for_growing(
    not_stopped: set[int], headroom_bytes: int | None, grown_bytes: int
) -> None:
    now = sampled(grown(1, 100 + grown_bytes // MIB))
    assert runaway(sampled(grown(1, 100)), now, not_stopped, headroom_bytes, GIB) is None
