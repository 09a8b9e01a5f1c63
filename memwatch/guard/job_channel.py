"""The guard's end of the job API (job.py): a socket without a file that a process of the job connects to.

The job inherits its name only (MEMWATCH_CHANNEL), not a descriptor: what the job leaves behind keeps nothing open, and
the name is nobody's once the guard has gone. Everybody can read the names of such sockets, so who connects is checked.
"""

import atexit
import os
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from memwatch.channel import (
    ADDRESS_PREFIX,
    MOST_ADDRESS_BYTES,
    SOCKET_NAME,
    Channel,
    peer_of,
    remove_socket_folder,
)
from memwatch.guard.message_reader import SHARE_S, MessageHandler, MessageReader
from memwatch.on_linux import IS_LINUX
from memwatch.probe.stat import read_stat

MOST_WAITING = 8
MOST_CALLERS = 10  # in SHARE_S; more would keep the guard from its work
MOST_GENERATIONS = 1000
FOLDER_PREFIX = "/memwatch-"  # where there are no sockets without a file


class JobListener:
    """Made before the job starts, so that it can connect at once. Raises OSError where there can be none."""

    def __init__(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self.folder: str | None = None  # of the socket, where it has a file
        if IS_LINUX:
            self.address = ADDRESS_PREFIX + os.urandom(16).hex()
            self._listener.bind("\0" + self.address[1:])
        else:
            self.folder = _bind_in_own_folder(self._listener)
            self.address = f"{self.folder}{SOCKET_NAME}"
        self._listener.listen(MOST_WAITING)
        self._listener.setblocking(False)

    def fileno(self) -> int:
        return self._listener.fileno()

    def close(self) -> None:
        self._listener.close()

    def accept(self, guard_pid: int) -> Channel | None:
        """A process of the guard's job that has connected, or None. Others are turned away."""
        try:
            line, _ = self._listener.accept()
        except OSError:
            return None
        if IS_LINUX and not is_of_job(*peer_of(line), guard_pid):
            line.close()
            return None
        return Channel(line)


class JobChannel:
    """The process of the job that reports and takes requests: the first to connect, then the next when it is gone."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: JobListener | None,
        handle: MessageHandler,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._selector = selector
        self._listener = listener
        self._handle = handle
        self._clock = clock
        self._reader: MessageReader | None = None
        self._callers = 0
        self._since_s = self._rest_until_s = float("-inf")
        self._is_registered = False
        self._register()

    def send(self, message: dict[str, Any]) -> bool:
        """False if it was not sent: no process of the job is connected, or it does not read."""
        return self._reader is not None and self._reader.channel.is_open and self._reader.channel.send(message)

    @property
    def due_s(self) -> float:
        """When `resume_reading` is to be called again."""
        own_s = self._rest_until_s if self._listener is not None and not self._is_registered else float("inf")
        return own_s if self._reader is None else min(own_s, self._reader.due_s)

    def resume_reading(self) -> None:
        now_s = self._clock()
        if self._rest_until_s <= now_s:
            self._register()
        if self._reader is not None and self._reader.due_s <= now_s:
            self._reader.resume_reading()

    def admit(self) -> None:
        """Take in who has connected. Called when the listener is readable, and before the job's processes are reaped:
        who connects and exits at once is still known to be of the job."""
        if self._listener is None:
            return
        now_s = self._clock()
        if now_s - self._since_s >= SHARE_S:
            self._since_s, self._callers = now_s, 0
        self._callers += 1
        channel = self._listener.accept(os.getpid())
        if channel is not None:
            self._take(channel)
        if self._callers >= MOST_CALLERS and self._is_registered:
            self._selector.unregister(self._listener)
            self._is_registered = False
            self._rest_until_s = self._since_s + SHARE_S

    def finish(self) -> None:
        """At the job's end: handle what was reported last, by any of the processes that wait for a connection too."""
        for _ in range(MOST_WAITING + 1):
            if self._reader is not None:
                self._reader.read_remaining()
            self.admit()
        self._hang_up()

    def _take(self, channel: Channel) -> None:
        """Accept a connection. It is closed if another one is connected."""
        if self._reader is not None:
            self._reader.read_remaining()  # A late guard does not know yet that the last one has gone.
            if self._reader.channel.is_open:
                channel.close()
                return
            self._hang_up()
        self._reader = MessageReader(self._selector, channel, self._handle, self._clock)

    def _hang_up(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader.channel.close()
            self._reader = None

    def _register(self) -> None:
        if self._listener is not None and not self._is_registered:
            self._selector.register(self._listener, selectors.EVENT_READ, self.admit)
            self._is_registered = True


def _bind_in_own_folder(listener: socket.socket) -> str:
    """Bind to a new path that only this user can reach, and remove it when the guard exits."""
    folder = f"{os.environ.get('TMPDIR', '/tmp').rstrip('/')}{FOLDER_PREFIX}{os.urandom(8).hex()}"
    if len(folder) + len(SOCKET_NAME) > MOST_ADDRESS_BYTES:
        folder = f"/tmp{FOLDER_PREFIX}{os.urandom(8).hex()}"
    os.mkdir(folder, 0o700)
    atexit.register(remove_socket_folder, folder)
    listener.bind(folder + SOCKET_NAME)
    return folder


def is_of_job(pid: int, uid: int, guard_pid: int, proc_root: str = "/proc") -> bool:
    """Whether a process descends from the guard: orphans of the job do, because the guard adopts them.

    A process that has ended already cannot be placed; it is believed if it belongs to the same user.
    """
    process = pid
    for _ in range(MOST_GENERATIONS):
        if process == guard_pid:
            return pid != guard_pid
        stat = read_stat(process, proc_root)
        if stat is None:
            return process == pid and pid > 0 and uid == os.geteuid()
        process = stat.parent_pid
        if process <= 1 and process != guard_pid:
            return False
    return False
