"""Calls over D-Bus without a helper program: to systemd on its own socket, or to a bus. See dbus_message.py."""

import os
import socket
import time
from collections.abc import Callable

from memwatch.guard.scope.dbus_message import (
    HEADER_BYTES,
    DBusError,
    Message,
    MessageType,
    Target,
    Value,
    decode,
    encode_call,
    message_length,
)


class Connection:
    """A connection to `path`, a Unix socket. Nothing takes longer than until `deadline_s` (monotonic)."""

    def __init__(self, path: str, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._received = b""
        self._serial = 0
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._wait_no_longer()
            self._socket.connect(path)
            # In one breath: a server that does not like it hangs up.
            self._socket.sendall(b"\0AUTH EXTERNAL %s\r\nBEGIN\r\n" % str(os.geteuid()).encode().hex().encode())
        except OSError as error:
            self.close()
            raise _trouble(error) from error
        self._greeted = False

    def call(self, target: Target, member: str, signature: str, *arguments: Value) -> Message:
        """Call and wait for the answer. Raises DBusError."""
        serial = self.send(target, member, signature, *arguments)
        while True:
            message = self.next_message()
            if message.reply_to != serial:
                continue
            if message.kind == MessageType.ERROR:
                raise DBusError(str((*message.body, "it refused")[0]))
            return message

    def send(self, target: Target, member: str, signature: str, *arguments: Value, wants_reply: bool = True) -> int:
        """Call, and let the answer come when it may. Returns the call's number."""
        self._serial += 1
        try:
            self._wait_no_longer()
            self._socket.sendall(encode_call(self._serial, target, member, signature, arguments, wants_reply))
        except OSError as error:
            raise _trouble(error) from error
        return self._serial

    def signal(self, member: str, is_meant: Callable[[tuple[Value, ...]], bool]) -> tuple[Value, ...]:
        """Wait for a signal, and return its body."""
        while True:
            message = self.next_message()
            if message.kind == MessageType.SIGNAL and message.member == member and is_meant(message.body):
                return message.body

    def next_message(self) -> Message:
        if not self._greeted:
            line = self._take_line()
            if not line.startswith(b"OK"):
                raise DBusError("it refuses this user")
            self._greeted = True
        head = self._take(HEADER_BYTES)
        length = message_length(head)
        return decode(head + self._take(length - HEADER_BYTES))

    def close(self) -> None:
        self._socket.close()

    def _take_line(self) -> bytes:
        while b"\r\n" not in self._received:
            self._receive()
        line, _, self._received = self._received.partition(b"\r\n")
        return line

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            self._receive()
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _receive(self) -> None:
        try:
            self._wait_no_longer()
            data = self._socket.recv(65536)
        except OSError as error:
            raise _trouble(error) from error
        if not data:
            raise DBusError("it hung up")
        self._received += data

    def _wait_no_longer(self) -> None:
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)


def _trouble(error: OSError) -> DBusError:
    if isinstance(error, TimeoutError):
        return DBusError("it does not answer")
    return DBusError(f"it cannot be reached ({error.strerror or error})")
