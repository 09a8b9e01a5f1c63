"""Under an interactive shell, in a terminal: Ctrl-C, Ctrl-Z, fg, bg and kill do what they do without memwatch.

A case is run bare and in several ways under memwatch; what is expected is the same for all.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.guard import attach_socket as join
from tests.guard.processes import children, send, state_of, wait_until
from tests.helpers import HANG_S

RUN = f"{sys.executable} -m memwatch run --no-record"
NONE, PLAIN = f"{RUN} --ui none -- ", f"{RUN} --ui plain -- "
ways = pytest.mark.parametrize(
    "way", ["", NONE, PLAIN, NONE + PLAIN], ids=["bare", "none", "plain", "nested"]
)  # fmt: skip


class Shell:
    """An interactive bash: the other end of its terminal."""

    def __init__(self) -> None:
        bash = shutil.which("bash")
        assert bash is not None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(bash, [bash, "--norc", "-i"], {**os.environ, "TERM": "xterm", "PS1": "$ "})
        self._unread = b""

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def run(self, line: str) -> None:
        self.type(line + "\n")

    def see(self, pattern: str) -> str:
        """Wait for output that matches; what follows the match is kept for the next call."""
        deadline_s = time.monotonic() + HANG_S
        while (found := re.search(pattern.encode(), self._unread)) is None:
            assert time.monotonic() < deadline_s, (pattern, self._unread)
            if select.select([self.terminal], [], [], 1)[0]:
                self._unread += os.read(self.terminal, 4096)
        seen, self._unread = self._unread[: found.end()], self._unread[found.end() :]
        return seen.decode(errors="replace")

    def answers(self) -> None:
        """The shell has the terminal, and reads from it."""
        self.run("echo answer-$((3+4))")
        self.see("answer-7")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def close(self) -> None:
        for number in (signal.SIGHUP, signal.SIGCONT, signal.SIGKILL):
            send(self.pid, number)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture
def shell() -> Iterator[Shell]:
    made = Shell()
    yield made
    made.close()


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A job that says when it runs, and ends when it is allowed to. Not a shell: one that is stopped between vfork and
    exec of its child waits for it, and cannot be stopped itself."""
    path = tmp_path / "job.py"
    path.write_text(
        "import os, pathlib, sys, time\n"
        "folder = pathlib.Path(__file__).parent\n"
        "(folder / 'pid').write_text(str(os.getpid()))\n"
        "print('begin', 1 + 1, flush=True)\n"
        "while not (folder / 'end').exists(): time.sleep(0.02)\n"
        "print('end', 1 + 1, flush=True)\n"
        "sys.exit(5)\n"
    )
    return f"{sys.executable} {path}"


def let_end(tmp_path: Path) -> None:
    (tmp_path / "end").touch()


@ways
def test_ctrl_z_gives_the_terminal_back_and_fg_goes_on(shell: Shell, way: str, script: str, tmp_path: Path) -> None:
    shell.run(way + script)
    shell.see("begin 2")
    for _ in range(2):
        shell.type("\x1a")
        shell.see("Stopped")
        shell.answers()
        shell.run("fg")
        wait_until(lambda: state_of(int((tmp_path / "pid").read_text())) != "T", "the job goes on")
    let_end(tmp_path)
    shell.see("end 2")
    shell.run("echo code-$?")
    shell.see("code-5")


@ways
def test_ctrl_z_and_bg_leave_the_terminal_to_the_shell(shell: Shell, way: str, script: str, tmp_path: Path) -> None:
    shell.run(way + script)
    shell.see("begin 2")
    shell.type("\x1a")
    shell.see("Stopped")
    shell.run("bg")
    wait_until(lambda: state_of(int((tmp_path / "pid").read_text())) != "T", "the job goes on")
    shell.answers()
    let_end(tmp_path)
    shell.see("end 2")
    shell.run("wait; echo waited-$((3+4))")
    shell.see("waited-7")


@ways
def test_a_job_that_stops_itself_gives_the_terminal_back(shell: Shell, way: str) -> None:
    shell.run(f"{way}sh -c 'kill -STOP $$; echo again; exit 4'")
    shell.see("Stopped")
    shell.answers()
    shell.run("fg")
    shell.see("again")
    shell.run("echo code-$?")
    shell.see("code-4")


@ways
def test_ctrl_c_ends_the_job(shell: Shell, way: str, script: str) -> None:
    shell.run(way + f"{script} 2>/dev/null")
    shell.see("begin 2")
    shell.type("\x03")
    shell.see(r"\$ ")
    shell.run("echo code-$?")
    shell.see("code-130")


@ways
def test_a_job_handles_ctrl_c_itself(shell: Shell, way: str) -> None:
    shell.run(f"{way}sh -c 'trap \"echo interrupted; exit 3\" INT; echo wait$((1+1)); while :; do sleep 0.05; done'")
    shell.see("wait2")
    shell.type("\x03")
    shell.see("interrupted")
    shell.run("echo code-$?")
    shell.see("code-3")


@ways
def test_kill_by_the_shell_stops_continues_and_ends_the_job(
    shell: Shell, way: str, script: str, tmp_path: Path
) -> None:
    shell.run(f"{way}{script} &")
    shell.see("begin 2")
    job = int((tmp_path / "pid").read_text())
    shell.run("kill -STOP %1")
    wait_until(lambda: state_of(job) == "T", "the job is stopped")
    shell.run("until jobs | grep -q Stopped; do sleep 0.1; done; echo is-$((3+4))")
    shell.see("is-7")
    shell.run("kill -CONT %1")
    wait_until(lambda: state_of(job) != "T", "the job goes on")
    shell.run("kill %1; wait %1; echo code-$?")
    shell.see("code-143")
    wait_until(lambda: state_of(job) is None, "the job ends")


@ways
def test_a_job_in_the_background_reads_once_it_is_brought_to_the_front(shell: Shell, way: str) -> None:
    shell.run(f"{way}sh -c 'read x; echo got-$x' &")
    shell.run("until jobs | grep -q Stopped; do sleep 0.1; done; echo it-has-$((1+1))-stopped")
    shell.see("it-has-2-stopped")
    shell.run("fg")
    shell.run("hello")
    shell.see("got-hello")


@ways
def test_a_job_that_reads_a_pipe_can_ask_the_terminal(shell: Shell, way: str) -> None:
    """As ssh asks for a password, and less for keys."""
    shell.run(f"echo from-pipe | {way}sh -c 'read a; read b < /dev/tty; echo $a-$b'")
    shell.run("hello")
    shell.see("from-pipe-hello")
    shell.answers()


@ways
def test_the_reader_of_a_pipe_keeps_the_terminal_until_the_job_asks_for_it(shell: Shell, way: str) -> None:
    # As less does it: it sets the terminal, and reads keys from it.
    pager = "stty -echo < /dev/tty; read key < /dev/tty; echo pager-$key; stty echo < /dev/tty; cat"
    shell.run(f"{way}echo from-the-job | sh -c '{pager}'")
    shell.run("q")
    shell.see("pager-q")
    shell.see("from-the-job")
    shell.run(f"{way}sh -c 'read x; echo got-$x' | cat")
    shell.run("hello")
    shell.see("got-hello")


@ways
def test_a_job_learns_the_size_of_its_terminal(shell: Shell, way: str) -> None:
    shell.resize(30, 90)
    shell.run(f"{way}sh -c 'trap \"stty size; exit\" WINCH; stty size; while :; do sleep 0.05; done'")
    shell.see("30 90")
    shell.resize(33, 77)
    shell.see("33 77")


@ways
def test_the_terminal_is_left_as_it_was(shell: Shell, way: str) -> None:
    shell.run("stty -g > /dev/null; echo before=$(stty -g)=")
    before = shell.see("before=[0-9a-f:]+=").rpartition("before")[2]
    shell.run(f"{way}true; echo after=$(stty -g)=")
    assert shell.see("after=[0-9a-f:]+=").rpartition("after")[2] == before


@ways
def test_a_killed_front_leaves_the_terminal_to_the_shell(shell: Shell, way: str, script: str, tmp_path: Path) -> None:
    shell.run(way + script)
    shell.see("begin 2")
    job = int((tmp_path / "pid").read_text())
    send(children(shell.pid)[0], signal.SIGKILL)
    shell.see("Killed")
    shell.answers()
    wait_until(lambda: state_of(job) is None, "the job ends")


def test_in_the_background_there_are_lines_instead_of_a_screen(shell: Shell, tmp_path: Path, script: str) -> None:
    """A full screen would be stopped (SIGTTOU) as soon as it sets the terminal."""
    shell.run(f"LC_ALL=C.UTF-8 {RUN} -- {script} &")
    shell.see("begin 2")
    shell.answers()
    let_end(tmp_path)
    shell.see("end 2")
    shell.run("wait $!; echo code-$?")  # Not %1: a shell that has reported the end of a job forgets its number.
    assert "Stopped" not in shell.see("code-5")


@pytest.mark.parametrize("is_continued_by", ["fg", "bg"])
def test_ctrl_z_during_a_pause_suspends_the_job(
    shell: Shell, script: str, tmp_path: Path, is_continued_by: str
) -> None:
    journal = tmp_path / "run.jsonl"
    shell.run(f"{sys.executable} -m memwatch run --ui plain --record {journal} -- {script}")
    shell.see("begin 2")
    job = int((tmp_path / "pid").read_text())
    wait_until(lambda: Path(join.socket_path(str(journal))).exists(), "the guard can be joined")
    view = join.connect(str(journal))
    view.send({"command": "pause"})
    shell.see("pause")
    wait_until(lambda: state_of(job) in ("T", "t"), "the job is paused")
    shell.type("\x1a")
    shell.see("Stopped")
    shell.answers()
    wait_until(lambda: state_of(job) == "T", "the job is stopped, by the user")
    shell.run(is_continued_by)
    wait_until(lambda: state_of(job) not in ("T", "t"), "the job goes on")
    let_end(tmp_path)
    shell.see("end 2")
    view.close()


@pytest.mark.parametrize("way", [NONE, PLAIN], ids=["none", "plain"])
def test_without_its_guard_ctrl_z_still_gives_the_terminal_back(
    shell: Shell, way: str, script: str, tmp_path: Path
) -> None:
    shell.run(way + script)
    shell.see("begin 2")
    front = children(shell.pid)[0]
    guard = children(front)[0]
    send(guard, signal.SIGKILL)
    wait_until(lambda: state_of(guard) is None)
    wait_until(lambda: guard not in children(front) and children(front), "the front inherits the job")
    shell.type("\x1a")
    shell.see("Stopped")
    shell.answers()
    shell.run("fg")
    let_end(tmp_path)
    shell.see("end 2")
    shell.run("echo code-$?")
    shell.see("code-5")
