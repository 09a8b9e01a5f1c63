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

LENGTH = struct.Struct("!I")


class GuardConfig(NamedTuple):
    """`front_pid` is set if the front stands for the job: what happens to one happens to the other (stand_in.py).

    `closed_streams`, `ignored_signals` and `blocked_signals` are what memwatch was started with (inherited.py).
    """

    front_pid: int | None = None
    takes_terminal: bool = False  # The job becomes the terminal's foreground process group, as by a shell.
    captures_output: bool = False  # The job gets a terminal of its own, and views show what it writes there.
    terminal_rows: int = 24
    terminal_columns: int = 80
    reserve_bytes: int | None = None  # None: the default for the memory there is
    reserve_fraction: float | None = None  # of the room that counts
    on_pressure: str = "auto"
    pause_timeout_s: float = 60.0
    interval_s: float | None = None  # None: as the danger demands
    record: str | None = None  # None: in the state folder
    keeps_record: bool = True
    lowers_priority: bool = True
    may_be_unguarded: bool = False  # Run the job even where memory cannot be read.
    closed_streams: tuple[int, ...] = ()
    ignored_signals: tuple[int, ...] = ()
    blocked_signals: tuple[int, ...] = ()

    def to_json(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> "GuardConfig":
        data = json.loads(text)
        lists = ("closed_streams", "ignored_signals", "blocked_signals")
        return cls(**{**data, **{name: tuple(data[name]) for name in lists}})


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
    """Called in the guard. None: the front exited before it sent an order."""
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
    """Read exactly so many bytes; fewer only if the other side closes."""
    received = b""
    while len(received) < size and (data := line.recv(size - len(received))):
        received += data
    return received
