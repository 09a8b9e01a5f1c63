"""The line between a job and whoever runs it. `memwatch.job` tells what is said on it, and is the public face."""

import json
import os
import socket
from typing import Any

VARIABLE = "MEMWATCH_CHANNEL"
# What has no end is not a message. A guard must not keep it.
MOST_LINE_BYTES = 65536
MOST_LINES_AT_ONCE = 2048  # no message is so short that more of them make a read


class Channel:
    """One end of the line. Sending never blocks: whoever does not listen misses something."""

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
                self._unsent = self._unsent[self._line.send(self._unsent, socket.MSG_NOSIGNAL) :]
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


def channel() -> Channel | None:
    """This job's channel, or None outside memwatch. It can be had once: what this process starts will not find it."""
    number = os.environ.get(VARIABLE, "")
    if not number.isdecimal() or int(number[:9]) <= 2:
        return None  # A guard gives no standard stream away.
    try:
        line = socket.socket(fileno=int(number))
    except (OSError, OverflowError):
        return None
    if line.family != socket.AF_UNIX or line.type != socket.SOCK_STREAM:
        line.detach()  # The number is from an ancestor's environment, and has been given to something else since.
        return None
    os.set_inheritable(line.fileno(), False)
    os.environ.pop(VARIABLE, None)
    return Channel(line)
