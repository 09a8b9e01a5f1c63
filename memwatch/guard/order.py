"""The order: what the guard is to do. One line of JSON on its view socket: its config and the job's command line.

Where the job's output is to be captured, both ends of a terminal come with it; the front keeps the guard's end too, so
that the job can write if the guard dies.
"""

import json
import os
import socket
from typing import NamedTuple

from memwatch.guard.config import GuardConfig


class Order(NamedTuple):
    """`terminal` is the guard's end and the job's, where output is captured."""

    config: GuardConfig
    command: tuple[str, ...]
    terminal: tuple[int, int] | None


def give_order(guard: socket.socket, config: GuardConfig, command: list[str]) -> int | None:
    """Returns our end of the job's terminal, if it gets one."""
    line = json.dumps({"config": config.to_json(), "command": command}).encode() + b"\n"
    if not config.captures_output:
        guard.sendall(line)
        return None
    from memwatch.guard.output import set_size

    master, slave = os.openpty()
    set_size(slave, config.terminal_rows, config.terminal_columns)
    sent = socket.send_fds(guard, [line], [master, slave])
    guard.sendall(line[sent:])
    os.close(slave)
    return master


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
