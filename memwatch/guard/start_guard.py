"""Starts the guard's process, before anybody knows what it is to guard.

To load the guard takes as long as to load and read the command line; so both are done at once, and this file, which
comes before both, loads next to nothing. The guard then waits for its order (order.py).
"""

import os
import signal
import socket
import sys

from memwatch.errors import ExitCode
from memwatch.guard import inherited


class StartedGuard:
    """Its process, and our end of its view socket."""

    def __init__(self, pid: int, view: socket.socket) -> None:
        self.pid = pid
        self.view = view


_started: list[StartedGuard] = []


def begin() -> None:
    """Start a guard with this process's descriptors and environment, which are meant for its job."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # Or the guard's exit code could not be waited for.
    for_the_job = inherited.extra_descriptors()
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    pid = os.fork()  # Not posix_spawn, which leaves two signals ignored for every program that comes after.
    if pid == 0:
        try:
            # -P: a json.py in the current folder is not the guard's.
            command = [sys.executable, "-P", "-m", "memwatch.guard", str(theirs.fileno())]
            os.execve(sys.executable, command, inherited.environment())
        finally:
            os._exit(ExitCode.BROKEN)
    theirs.close()
    for fd in for_the_job:
        os.close(fd)
    _started.append(StartedGuard(pid, ours))


def take() -> StartedGuard:
    """The guard that was begun, or a new one."""
    if not _started:
        begin()
    return _started.pop()
