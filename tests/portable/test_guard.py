"""The guard's promises where psutil is all there is: exit codes, pauses that end, no stranger touched."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from memwatch.guard.send_signal import _send_by_pid
from memwatch.model.units import MIB
from memwatch.probe.portable import PortableTree
from memwatch.probe.psutil_process import portable_stat
from memwatch.probe.stat import read_stat
from tests.cage import Cage, needs_cage
from tests.guard.processes import Guarded, Watched, is_paused, send, state_of, wait_until
from tests.helpers import HANG_S, memwatch

pytestmark = pytest.mark.usefixtures("portable")

GROWING = """
import sys, time
held = []
while len(held) < int(sys.argv[1]):
    held.append(b"x" * (4 << 20))
    time.sleep(float(sys.argv[2]))
time.sleep(float(sys.argv[3]))
"""


def sockets() -> list[Path]:
    return list(Path(os.environ["TMPDIR"]).glob("memwatch-*/job"))


def helpers_of(guard: int, *apart_from: int) -> list[int]:
    return [child.pid for child in psutil.Process(guard).children() if child.pid not in apart_from]


def commands_of(tree: PortableTree, spared: set[int]) -> set[str]:
    return {process.command for process in tree.read({os.getpid()}, 1.0, spared)}


def children_of_the_test() -> set[int]:
    """Servers of other tests, which run as long as the tests do."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(["sh", "-c", "exit 3"], 3, id="the job's own"),
        pytest.param(["sh", "-c", "kill -9 $$"], 137, id="a signal from elsewhere"),
        pytest.param(["no-such-command"], 127, id="not found"),
        pytest.param(["/etc/passwd"], 126, id="not executable"),
    ],
)
def test_the_exit_code_is_that_of_the_bare_command(command: list[str], code: int) -> None:
    assert memwatch("run", "--no-record", "--", *command).code == code


def test_output_and_environment_pass_untouched() -> None:
    done = memwatch("run", "--no-record", "--ui", "none", "--", "sh", "-c", "cat; echo err >&2", input="in\n")
    assert (done.code, done.out, done.err) == (0, "in\n", "err\n")


def test_a_signal_for_memwatch_reaches_the_job() -> None:
    script = "trap 'echo got it; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    with Guarded("sh", "-c", script, options=("--ui", "none")) as run:
        assert run.front.stdout is not None
        assert run.front.stdout.readline() == "ready\n"
        send(run.front.pid, signal.SIGTERM)
        code, out, _ = run.finish()
    assert (code, out) == (7, "got it\n")


def test_a_job_reports_its_progress_through_a_socket_of_its_own() -> None:
    script = "from memwatch import job; import time; job.progress(5, 10, 'rows'); time.sleep(1000)"
    with Watched(sys.executable, "-c", script) as watched:
        watched.event("start")
        assert watched.event("progress")["done"] == 5


def test_a_user_pauses_and_resumes_a_job_with_its_children() -> None:
    with Watched("sh", "-c", "sleep 1000 & sleep 1001") as watched:
        job = watched.event("start")["pid"]
        wait_until(lambda: len(psutil.Process(job).children()) == 2, "the job has children")
        family = [job, *(child.pid for child in psutil.Process(job).children())]
        watched.tell("pause")
        assert sorted(watched.event("action", action="pause")["pids"]) == sorted(family)
        assert all(map(is_paused, family))
        watched.tell("resume")
        watched.event("action", action="resume")
        wait_until(lambda: not any(map(is_paused, family)), "all run again")
        watched.tell("kill")
        watched.event("exit")
        assert [state_of(pid) for pid in family] == [None] * 3


@needs_cage
def test_a_growing_job_is_paused_and_stopped_before_memory_ends(small_machine: Cage) -> None:
    command = (sys.executable, "-c", GROWING, 200, 0.1, 1000)
    with Watched(*command, cage=small_machine, reserve_bytes=80 * MIB, pause_timeout_s=1) as watched:
        job = watched.event("start")["pid"]
        assert watched.event("action", action="pause", next="stop")["by"] == "guard"
        watched.event("action", action="stop")
        ended = watched.event("exit")
        assert (ended["code"], ended["by"]) == (124, "guard")
        assert state_of(job) is None


@needs_cage
def test_a_paused_job_resumes_when_another_program_frees_memory(small_machine: Cage) -> None:
    neighbour = subprocess.Popen(small_machine.command(sys.executable, "-c", GROWING, 52, 0, 1000))
    try:
        wait_until(lambda: small_machine.number("memory.usage_in_bytes") > 210 * MIB, "the neighbour has grown")
        command = (sys.executable, "-c", GROWING, 30, 0.15, 0)
        with Watched(*command, cage=small_machine, reserve_bytes=80 * MIB, pause_timeout_s=100) as watched:
            watched.event("start")
            watched.event("action", action="pause", next="stop")
            neighbour.kill()
            neighbour.wait()
            watched.event("action", action="resume")
            assert watched.event("exit")["code"] == 0
    finally:
        neighbour.kill()
        neighbour.wait()


class TestAPausedJobRunsOn:
    """Whichever of memwatch's processes is killed; nothing but SIGCONT from another one can do it here."""

    def test_if_the_guard_is_killed(self) -> None:
        with Watched("sleep", "1000") as watched:
            job = watched.event("start")["pid"]
            watched.tell("pause")
            watched.event("action", action="pause")
            assert state_of(job) == "T"
            assert sockets()
            send(watched.guard.pid, signal.SIGKILL)
            wait_until(lambda: state_of(job) == "S", "the job runs on")
            wait_until(lambda: not sockets(), "the watcher removes what the guard could not")

    def test_if_the_watchers_are_killed_and_then_the_guard(self) -> None:
        with Watched("sleep", "1000") as watched:
            job = watched.event("start")["pid"]
            watched.tell("pause")
            watched.event("action", action="pause")
            known = [job, *helpers_of(watched.guard.pid, job)]
            for watcher in known[1:]:
                send(watcher, signal.SIGKILL)
            wait_until(lambda: len(helpers_of(watched.guard.pid, *known)) == 2, "the guard starts other watchers")
            for new in helpers_of(watched.guard.pid, *known):
                watched.pids.append(new)
                fds = psutil.Process(new).num_fds
                wait_until(lambda: fds() <= 5, "a new watcher has closed what is not for it")  # noqa: B023
            send(watched.guard.pid, signal.SIGKILL)
            wait_until(lambda: state_of(job) == "S", "the job runs on")

    def test_if_watchers_and_guard_are_killed_at_once(self) -> None:
        """The front continues it, and cannot know its exit code."""
        command = [sys.executable, "-m", "tests.guard.quiet_front", "sleep", "3"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as front:  # type: ignore[call-overload]
            job = next(event["pid"] for line in front.stdout if (event := json.loads(line))["event"] == "start")
            front.stdin.write("pause\n")
            front.stdin.flush()
            next(line for line in front.stdout if json.loads(line)["event"] == "action")
            assert state_of(job) == "T"
            guard = psutil.Process(front.pid).children()[0]
            for pid in (*helpers_of(guard.pid, job), guard.pid):
                send(pid, signal.SIGKILL)
            wait_until(lambda: state_of(job) != "T", "the job runs on")
            _, err = front.communicate(timeout=HANG_S)
        assert front.returncode == 125
        assert "its exit code is unknown" in err

    @needs_cage
    def test_if_the_guard_is_stopped_past_the_deadline(self, small_machine: Cage) -> None:
        command = (sys.executable, "-c", GROWING, 200, 0.1, 1000)
        with Watched(*command, cage=small_machine, reserve_bytes=80 * MIB, pause_timeout_s=1) as watched:
            watched.event("start")
            watched.event("action", action="pause", next="stop")
            send(watched.guard.pid, signal.SIGSTOP)
            wait_until(lambda: state_of(watched.guard.pid) != "T", "a watcher wakes the guard")
            assert watched.event("exit")["code"] == 124, "the guard does what it has announced"


def test_a_front_that_is_killed_takes_the_job_with_it() -> None:
    with Guarded("sleep", "1000", options=("--ui", "none")) as run:
        job = run.job
        send(run.front.pid, signal.SIGKILL)
        wait_until(lambda: state_of(job) is None, "the job ends")


class TestNeverAStranger:
    def test_a_pid_with_another_start_time_gets_no_signal(self) -> None:
        with subprocess.Popen(["sleep", "1000"]) as process:
            started = portable_stat(process.pid)
            assert started is not None
            _send_by_pid(process.pid, started.start_ticks + 50, signal.SIGKILL)
            assert process.poll() is None
            _send_by_pid(process.pid, started.start_ticks, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL

    def test_psutil_and_proc_agree_on_the_start_time(self) -> None:
        """So that a journal written by one is understood by the other."""
        by_proc, by_psutil = read_stat(os.getpid()), portable_stat(os.getpid())
        assert by_proc is not None
        assert by_psutil is not None
        assert abs(by_proc.start_ticks - by_psutil.start_ticks) <= 1
        assert (by_proc.parent_pid, by_proc.group, by_proc.session) == (
            by_psutil.parent_pid,
            by_psutil.group,
            by_psutil.session,
        )

    def test_neighbours_in_the_same_session_and_spared_processes_are_not_the_job(self) -> None:
        script = "sleep 1000 & wait"
        others = children_of_the_test()
        with (
            subprocess.Popen(["sh", "-c", script], process_group=0) as job,
            subprocess.Popen(["sleep", "1000"], process_group=0) as neighbour,
        ):
            wait_until(lambda: psutil.Process(job.pid).children(), "the job has a child")
            child = psutil.Process(job.pid).children()[0].pid
            tree = PortableTree(os.getpid())
            try:
                spared = others | {neighbour.pid}
                assert {p.pid for p in tree.read({os.getpid()}, 0.0, spared)} == {job.pid, child}
                # The child is an orphan from here on: known by pid and start time.
                job.kill()
                job.wait()
                assert [p.pid for p in tree.read({os.getpid()}, 1.0, spared)] == [child]
            finally:
                for pid in (child, neighbour.pid):
                    send(pid, signal.SIGKILL)

    def test_an_orphan_is_found_by_the_group_that_the_job_leads(self) -> None:
        """It was never seen under its parent: only its process group says whose it is."""
        script = "sleep 1001 & read line; (sleep 1000 &); wait"
        spared = children_of_the_test()
        with subprocess.Popen(["sh", "-c", script], process_group=0, stdin=subprocess.PIPE) as job:
            assert job.stdin is not None
            tree = PortableTree(os.getpid())
            try:
                wait_until(lambda: len(tree.read({os.getpid()}, 0.0, spared)) == 2, "the job has a child")
                job.stdin.write(b"go\n")
                job.stdin.close()
                wait_until(lambda: "sleep 1000" in commands_of(tree, spared), "the orphan is found")
            finally:
                os.killpg(job.pid, signal.SIGKILL)  # Its leader is not reaped yet: the group is still the job's.


def test_where_psutil_reads_no_memory_either_it_refuses_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "import psutil\ndef fail(): raise OSError('no such device')\npsutil.virtual_memory = fail\n"
    (tmp_path / "sitecustomize.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    refused = memwatch("run", "--no-record", "--ui", "none", "--", "echo", "the job ran")
    assert (refused.code, refused.out) == (125, "")
    assert "would guard nothing" in refused.err
    assert "psutil" in refused.err
    told = memwatch("run", "--no-record", "--ui", "none", "--unguarded", "--", "echo", "the job ran")
    assert (told.code, told.out) == (0, "the job ran\n"), told.err
