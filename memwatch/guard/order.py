"""The order: what the guard is to do. Its config and the job's command line, in JSON, on its view socket.

Its length comes first, because what the front says next, a signal to be passed on, may come right behind it.

Where the job's output is to be captured, both ends of a terminal come with it; the front keeps the guard's end too, so
that the job can write if the guard dies.
"""

import json
import os
import socket
import struct
from typing import NamedTuple

from memwatch.guard.config import GuardConfig

LENGTH = struct.Struct("!I")


class GuardOrder(NamedTuple):
    """`terminal` is the guard's end and the job's, where output is captured."""

    config: GuardConfig
    command: tuple[str, ...]
    terminal: tuple[int, int] | None


def give_order(guard: socket.socket, config: GuardConfig, command: list[str]) -> int | None:
    """Returns our end of the job's terminal, if it gets one."""
    order = json.dumps({"config": config.to_json(), "command": command}).encode()
    message = LENGTH.pack(len(order)) + order
    if not config.captures_output:
        guard.sendall(message)
        return None
    from memwatch.guard.job_output import set_size

    master, slave = os.openpty()
    set_size(slave, config.terminal_rows, config.terminal_columns)
    sent = socket.send_fds(guard, [message], [master, slave])
    guard.sendall(message[sent:])
    os.close(slave)
    return master


def wait_for_order(view: socket.socket) -> GuardOrder | None:
    """In the guard. None: whoever started us has thought better of it."""
    head, fds, _, _ = socket.recv_fds(view, LENGTH.size, 2)
    for fd in fds:
        os.set_inheritable(fd, False)
    head += _exactly(view, LENGTH.size - len(head))
    if len(head) < LENGTH.size:
        return None
    message = json.loads(_exactly(view, *LENGTH.unpack(head)))
    terminal = (fds[0], fds[1]) if len(fds) == 2 else None
    return GuardOrder(GuardConfig.from_json(message["config"]), tuple(message["command"]), terminal)


def _exactly(line: socket.socket, size: int) -> bytes:
    """Less only where it ends."""
    received = b""
    while len(received) < size and (data := line.recv(size - len(received))):
        received += data
    return received
