"""A real terminal: memwatch runs on a pty, and pyte shows what a person would see there."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping
from typing import Any

import pyte

from tests.guard.processes import children, send
from tests.helpers import HANG_S

RUN = (sys.executable, "-m", "memwatch")


class Terminal:
    def __init__(self, *command: str, rows: int = 36, columns: int = 120, **environment: Any) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            self._become(command, environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
        self._code: int | None = None

    def _become(self, command: tuple[str, ...], environment: Mapping[str, str]) -> None:
        base = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LC_", "LANG", "NO_COLOR", "COLUMNS", "LINES"))
        }
        try:
            os.execvpe(command[0], command, {**base, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})
        finally:
            os._exit(127)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self._code is None:
            # A guard and its job outlive their front.
            family = [self.pid]
            for pid in family:
                family += children(pid)
            for pid in family:
                send(pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def hang_up(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def see(self, *words: str) -> str:
        """Wait until all of the words stand on the screen."""
        deadline = time.monotonic() + HANG_S
        while not all(word in self.text for word in words):
            assert time.monotonic() < deadline, f"never seen: {words}\n{self.text}"
            assert self._read(1.0), f"ended before it was seen: {words}\n{self.text}"
        return self.text

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        deadline = time.monotonic() + HANG_S
        while not (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
            assert time.monotonic() < deadline, f"never ended\n{self.text}"
            if not self._read(0.05):
                time.sleep(0.01)
        while self._read(0.1) and self._has_read:
            pass
        self._code = os.waitstatus_to_exitcode(ended[1])
        return self._code

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def _read(self, seconds: float) -> bool:
        """False when nobody has the terminal open any more."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        self._has_read = bool(ready)
        if not ready:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)
