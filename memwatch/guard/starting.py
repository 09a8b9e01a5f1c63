"""Starts the guard's process, before anybody knows what it is to guard.

To load the guard takes as long as to load and read the command line; so both are done at once. The guard then waits on
its view socket for one line: its config and the job's command line. Where the job's output is to be captured, both
ends of a terminal come with it; the front keeps the guard's end too, so that the job can write if the guard dies.
"""

import json
import os
import socket
import sys
from dataclasses import dataclass

from memwatch.errors import ExitCode
from memwatch.guard.config import GuardConfig
from memwatch.guard.output import set_size


@dataclass(frozen=True, slots=True)
class StartedGuard:
    pid: int
    view: socket.socket

    def give(self, config: GuardConfig, command: list[str]) -> int | None:
        """Returns our end of the job's terminal, if it gets one."""
        line = json.dumps({"config": config.to_json(), "command": command}).encode() + b"\n"
        if not config.captures_output:
            self.view.sendall(line)
            return None
        master, slave = os.openpty()
        set_size(slave, config.terminal_rows, config.terminal_columns)
        sent = socket.send_fds(self.view, [line], [master, slave])
        self.view.sendall(line[sent:])
        os.close(slave)
        return master


_started: list[StartedGuard] = []


def begin() -> None:
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    pid = os.fork()  # Not posix_spawn, which leaves two signals ignored for every program that comes after.
    if pid == 0:
        try:
            os.execv(sys.executable, [sys.executable, "-m", "memwatch.guard", str(theirs.fileno())])
        finally:
            os._exit(ExitCode.BROKEN)
    theirs.close()
    _started.append(StartedGuard(pid, ours))


def take() -> StartedGuard:
    """The guard that was begun, or a new one."""
    if not _started:
        begin()
    return _started.pop()


@dataclass(frozen=True, slots=True)
class Order:
    """What the guard is to do. `terminal` is its own end and the job's, where output is captured."""

    config: GuardConfig
    command: tuple[str, ...]
    terminal: tuple[int, int] | None


def wait_for_order(view: socket.socket) -> Order | None:
    """In the guard. None: whoever started us has thought better of it."""
    received, fds = bytearray(), []
    while not received.endswith(b"\n"):
        data, new_fds, _, _ = socket.recv_fds(view, 1 << 20, 2)
        fds += new_fds
        if not data:
            return None
        received += data
    for fd in fds:
        os.set_inheritable(fd, False)
    message = json.loads(received)
    terminal = (fds[0], fds[1]) if len(fds) == 2 else None
    return Order(GuardConfig.from_json(message["config"]), tuple(message["command"]), terminal)
