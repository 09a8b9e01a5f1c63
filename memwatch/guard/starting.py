"""Starts the guard's process, before anybody knows what it is to guard.

To load the guard takes as long as to load and read the command line; so both are done at once. The guard then waits on
its view socket for one line: its config and the job's command line.
"""

import json
import os
import socket
import sys
from dataclasses import dataclass

from memwatch.errors import ExitCode
from memwatch.guard.config import GuardConfig


@dataclass(frozen=True, slots=True)
class StartedGuard:
    pid: int
    view: socket.socket

    def give(self, config: GuardConfig, command: list[str]) -> None:
        line = json.dumps({"config": config.to_json(), "command": command}).encode() + b"\n"
        self.view.sendall(line)


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


def wait_for_config(view: socket.socket) -> tuple[GuardConfig, tuple[str, ...]] | None:
    """In the guard: what to do, or None if whoever started us has thought better of it."""
    received = bytearray()
    while not received.endswith(b"\n"):
        data = view.recv(1 << 20)
        if not data:
            return None
        received += data
    message = json.loads(received)
    return GuardConfig.from_json(message["config"]), tuple(message["command"])
