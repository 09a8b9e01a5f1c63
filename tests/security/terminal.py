"""A command on a terminal of its own, and what it sent there that a terminal would obey."""

import os
import pty
import sys

# Colours, a bell, C1 control, a line of its own, right-to-left, a window title, and a byte that is not UTF-8.
HOSTILE = "\x1b[31m\x07\x9b2J\r\n\u202e\x1b]0;owned\x07\udcff"


def on_terminal(*arguments: object) -> tuple[int, str]:
    """`memwatch ARGUMENTS`: its exit code, and what it wrote."""
    pid, terminal = pty.fork()
    if pid == 0:
        # Of a screen that is drawn nothing could be told apart.
        os.execve(
            sys.executable,
            [sys.executable, "-m", "memwatch", *map(str, arguments)],
            {**os.environ, "TERM": "dumb"},
        )
    written = b""
    while data := _read(terminal):
        written += data
    os.close(terminal)
    text = written.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text


def obeyed(text: str) -> set[str]:
    """Characters that are not just shown."""
    return {c for c in text if not c.isprintable() and c != "\n"}


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # EIO is how a terminal says that nobody writes any more.
        return b""
