"""The line between a job and whoever runs it: progress goes up, commands come down.

`memwatch run` hands its job one end of a socket, named in MEMWATCH_CHANNEL. Both sides write JSON, a line each:

    up      {"event": "progress", "done": 1048576, "total": 4194304, "unit": "bytes", ...}
    down    {"command": "shard"}

Outside memwatch there is no channel, and nothing here does anything.
"""

import json
import os
import socket
from typing import Any

VARIABLE = "MEMWATCH_CHANNEL"


class Channel:
    """One end of the line. Sending never blocks: whoever does not listen misses something."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._line = line
        self._received = b""
        self.is_open = True

    def fileno(self) -> int:
        return self._line.fileno()

    def send(self, message: dict[str, Any]) -> None:
        try:
            self._line.send(json.dumps(message).encode() + b"\n", socket.MSG_NOSIGNAL)
        except BlockingIOError:
            pass  # The other side is stalled; progress it misses now is old by the time it looks.
        except OSError:
            self.is_open = False

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
        return [message for message in map(_parsed, lines) if message is not None]

    def close(self) -> None:
        self.is_open = False
        self._line.close()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def channel() -> Channel | None:
    """This job's channel, or None outside memwatch."""
    number = os.environ.get(VARIABLE, "")
    if not number.isdecimal():
        return None
    try:
        line = socket.socket(fileno=int(number))
    except OSError:
        return None
    os.set_inheritable(line.fileno(), False)
    return Channel(line)
