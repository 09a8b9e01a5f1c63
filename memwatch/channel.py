"""The connection between a job and its guard. `memwatch.job` documents the messages, and is the public API."""

import json
import os
import socket
import struct
from contextlib import suppress
from typing import Any

from memwatch.on_linux import IS_LINUX

VARIABLE = "MEMWATCH_CHANNEL"
# A socket without a file (man 7 unix, "abstract"); @ stands for its first byte, NUL, as in ss and /proc/net/unix. Where
# Linux is not used, the address is the path of a socket in a folder of its owner.
ADDRESS_PREFIX = "@memwatch-"
MOST_ADDRESS_BYTES = 100
SOCKET_NAME = "/job"
# macOS has no such flag; Python ignores SIGPIPE anyway, unless a script has changed that.
NO_SIGNAL: int = getattr(socket, "MSG_NOSIGNAL", 0)
_PEER = struct.Struct("3i")  # struct ucred: pid, uid, gid
# What has no end is not a message. A guard must not keep it.
MOST_LINE_BYTES = 65536
MOST_LINES_AT_ONCE = 2048  # no message is so short that more of them make a read


class Channel:
    """One end of the connection. Sending never blocks: a peer that does not read misses messages."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._received = b""
        self._unsent = b""  # the rest of a message that went out in part
        self.is_open = True

    def fileno(self) -> int:
        return self._line.fileno()

    def send(self, message: dict[str, Any]) -> bool:
        """False if it was not sent."""
        if not self._flushed():
            return False  # The other side is stalled; progress it misses now is old by the time it looks.
        self._unsent = json.dumps(message).encode() + b"\n"
        self._flushed()
        return self.is_open

    def _flushed(self) -> bool:
        """Whether nothing is left over; a message must not begin inside another."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self._line.send(self._unsent, NO_SIGNAL) :]
        except BlockingIOError:
            return False
        except OSError:
            self.is_open = False
            return False
        return True

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have come. After the last one, `is_open` turns false."""
        try:
            data = self._line.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.is_open = False
        *lines, self._received = (self._received + data).split(b"\n")
        self._received = self._received[:MOST_LINE_BYTES]
        return [message for message in map(_parsed, lines[:MOST_LINES_AT_ONCE]) if message is not None]

    def close(self) -> None:
        self.is_open = False
        self._line.close()


def _parsed(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def peer_of(line: socket.socket) -> tuple[int, int]:
    """Pid and user of the process at the other end, as the kernel saw it when it connected or listened.

    Where Linux is not used (on_linux.py), nobody but the owner of the socket's folder or file can connect; pid 0 is
    unknown.
    """
    if not IS_LINUX:
        return 0, os.geteuid()
    pid, uid, _ = _PEER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return pid, uid


def remove_socket_folder(folder: str) -> None:
    """The folder that a job's socket is in, where sockets have files."""
    with suppress(OSError):
        os.unlink(folder + SOCKET_NAME)
    with suppress(OSError):
        os.rmdir(folder)


def channel() -> Channel | None:
    """This job's channel, or None outside memwatch. It can be had once: what this process starts will not find it."""
    address = os.fsencode(os.environ.get(VARIABLE, ""))
    prefix = ADDRESS_PREFIX.encode() if IS_LINUX else b"/"
    if not address.startswith(prefix) or len(address) > MOST_ADDRESS_BYTES:
        return None
    line = socket.socket(socket.AF_UNIX)
    line.setblocking(False)  # A guard that does not accept must not keep the job waiting.
    try:
        if not IS_LINUX:
            owner_uid = os.stat(os.path.dirname(address)).st_uid
            line.connect(address)
        else:
            line.connect(b"\0" + address[1:])
            owner_uid = peer_of(line)[1]
        is_guard = owner_uid in (os.geteuid(), 0)
    except OSError:
        is_guard = False  # The guard has gone; this process was left behind by its job.
    if not is_guard:
        line.close()
        return None
    os.environ.pop(VARIABLE, None)
    return Channel(line)
