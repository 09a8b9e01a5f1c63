"""The order, and what comes right behind it on the same line."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from memwatch.channel import Channel
from memwatch.guard.order import GuardConfig, give_order, wait_for_order
from tests.guard.processes import Guarded, children, send, wait_until
from tests.helpers import HANG_S


def test_what_is_said_right_behind_it_is_not_part_of_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        give_order(ours, GuardConfig(), ["sleep", "1"])
        Channel(ours).send({"command": "signal", "number": 15})
        order = wait_for_order(theirs)
        assert order is not None
        assert order.command == ("sleep", "1")
        assert Channel(theirs).receive() == [{"command": "signal", "number": 15}]


def test_no_order_is_no_order() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        assert wait_for_order(theirs) is None


def test_a_terminal_comes_with_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        master = give_order(ours, GuardConfig(captures_output=True), ["x" * 50_000])
        order = wait_for_order(theirs)
        assert master is not None
        assert order is not None
        assert order.terminal is not None
        assert order.command == ("x" * 50_000,)
        assert all(os.isatty(fd) and not os.get_inheritable(fd) for fd in order.terminal)
        for fd in (master, *order.terminal):
            os.close(fd)


def test_a_signal_before_the_guard_is_ready_ends_the_job() -> None:
    command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "--no-record", "--", "sleep", "1000"]
    with subprocess.Popen(command) as front:
        wait_until(lambda: children(front.pid), "the guard starts")
        guard = children(front.pid)[0]
        send(guard, signal.SIGSTOP)
        time.sleep(0.5)  # The front gives its order, and nobody takes it.
        front.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        send(guard, signal.SIGCONT)
        assert front.wait(HANG_S) == 143


def test_a_guard_that_is_killed_at_once_does_not_take_the_exit_code_with_it(tmp_path: Path) -> None:
    running = tmp_path / "running"
    with Guarded("sh", "-c", f"touch {running}; sleep 1; exit 7") as guarded:
        guard = guarded.guard
        wait_until(running.exists, "the job runs")
        send(guard, signal.SIGKILL)
        assert guarded.finish()[0] == 7
