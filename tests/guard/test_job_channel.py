"""Who may connect to the guard's end of the job API, and who has it."""

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.guard.job_channel import JobChannel, JobListener, is_of_job
from tests.guard.processes import Watched, send, state_of, wait_until
from tests.helpers import memwatch

REPORT = "from memwatch import job; job.progress({}, 9, 'rows')"


@pytest.fixture
def listener() -> Iterator[JobListener]:
    made = JobListener()
    yield made
    made.close()


def connected(listener: JobListener) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    line.connect("\0" + listener.address[1:])
    return line


def test_a_stranger_is_turned_away(listener: JobListener) -> None:
    """This process descends from pytest's parent, not from a guard."""
    with connected(listener) as line:
        assert listener.accept(guard_pid=2**22) is None
        assert line.recv(1) == b""


def test_the_guard_itself_is_not_of_the_job() -> None:
    assert not is_of_job(os.getpid(), os.geteuid(), os.getpid())


def test_children_and_grandchildren_are_of_the_job() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert is_of_job(child.pid, 12345, os.getpid())
        assert is_of_job(grandchild, 12345, os.getpid())
        assert not is_of_job(os.getppid(), os.geteuid(), os.getpid())
        for pid in (grandchild, child.pid):
            send(pid, 9)


def test_a_process_that_has_ended_is_believed_if_it_was_the_users() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert is_of_job(gone.pid, os.geteuid(), os.getpid())
    assert not is_of_job(gone.pid, os.geteuid() + 1, os.getpid())
    assert not is_of_job(0, os.geteuid(), os.getpid())


@pytest.mark.parametrize(
    "prefix", [(), ("env", "A=1"), ("sh", "-c", '"$@"; exit $?', "sh")], ids=["first", "env", "child"]
)
def test_progress_arrives_from_any_process_of_the_job(prefix: tuple[str, ...]) -> None:
    with Watched(*prefix, sys.executable, "-c", REPORT.format(4)) as watched:
        assert watched.event("progress", unit="rows")["done"] == 4
        assert watched.event("exit")["code"] == 0


def test_one_after_the_other_may_report() -> None:
    script = f'"$0" -c "{REPORT.format(1)}"; "$0" -c "{REPORT.format(2)}"'
    with Watched("sh", "-c", script, sys.executable) as watched:
        assert watched.event("progress", unit="rows")["done"] == 1
        assert watched.event("progress", unit="rows")["done"] == 2


@pytest.fixture
def parent_is_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process itself sends counts as its job's."""
    monkeypatch.setattr(os, "getpid", lambda: os.getppid())


@pytest.mark.usefixtures("parent_is_guard")
@pytest.mark.parametrize("is_last_look", [False, True], ids=["while it runs", "at its end"])
def test_a_guard_that_is_late_loses_no_report_of_processes_that_have_ended(
    listener: JobListener, is_last_look: bool
) -> None:
    for done in (1, 2, 3):
        with connected(listener) as line:
            line.sendall(b'{"done": %d}\n' % done)
    reports: list[object] = []
    with selectors.DefaultSelector() as selector:
        channel = JobChannel(selector, listener, lambda message: reports.append(message["done"]))
        if not is_last_look:
            for _ in range(3):
                channel.admit()
        channel.finish()
    assert reports == [1, 2, 3]


def test_a_job_that_connects_all_the_time_costs_the_guard_little() -> None:
    script = (
        "import os, socket, time\naddress = chr(0) + os.environ['MEMWATCH_CHANNEL'][1:]\n"
        "while True:\n"
        "    line = socket.socket(socket.AF_UNIX); line.setblocking(False)\n"
        "    try: line.connect(address)\n"
        "    except BlockingIOError: time.sleep(0.001)\n"
        "    line.close()"
    )
    with Watched(sys.executable, "-c", script) as watched:
        watched.event("start")
        watched.event("sample")

        def cpu_s() -> float:
            with open(f"/proc/{watched.guard.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before_s = cpu_s()
        time.sleep(2)
        assert cpu_s() - before_s < 0.5
        assert watched.guard.poll() is None


def test_what_a_job_leaves_behind_holds_no_channel_and_reports_to_nobody(tmp_path: Path) -> None:
    ready, go, done = (tmp_path / name for name in ("ready", "go", "done"))
    left = (
        "import os, pathlib, sys, time\nready, go, done = map(pathlib.Path, sys.argv[1:])\n"
        "ready.write_text(str(os.getpid()))\nwhile not go.exists(): time.sleep(0.02)\n"
        "from memwatch import job\njob.progress(1)\n"
        "open_files = len(os.listdir('/proc/self/fd'))\ndone.write_text(str(open_files))"
    )
    script = 'setsid "$@" >/dev/null 2>&1 </dev/null & until [ -s "$4" ]; do sleep 0.02; done'
    command = ("sh", "-c", script, "sh", sys.executable, "-c", left, ready, go, done)
    assert memwatch("run", "--no-record", "--", *command).code == 0
    pid = int(ready.read_text())
    go.touch()
    wait_until(lambda: state_of(pid) is None, "it ends")
    assert done.read_text() == "4"  # Three streams, and the folder that is listed.
