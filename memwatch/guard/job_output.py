"""The job's own output, where a view shows it in a pane: read from the job's terminal, passed on, its tail kept.

The job is never slowed down by a view: what comes faster than views can draw is passed over, all but its end.
"""

import codecs
import fcntl
import os
import struct
import termios

# Ten times a second is as often as anybody can read; a message must fit into a channel's line, escapes and all.
PASS_ON_INTERVAL_S = 0.1
MOST_AT_ONCE_CHARACTERS = 8192
MOST_PENDING_CHARACTERS = 4 * MOST_AT_ONCE_CHARACTERS
TAIL_CHARACTERS = 8192
# A terminal gives 4 KiB at a time, and holds little more.
_READ_BYTES = 65536
MOST_READS_AT_THE_END = 64


class JobOutput:
    """`master_fd` is the guard's end of the job's terminal."""

    def __init__(self, master_fd: int) -> None:
        os.set_blocking(master_fd, False)
        self._fd = master_fd
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._passed_on_s = float("-inf")
        self._unread = ""
        self.tail = ""
        self.is_open = True

    def fileno(self) -> int:
        return self._fd

    def take(self) -> bool:
        """Whether there was something to read. When nobody has the terminal open any more, `is_open` turns false."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""  # EIO is how a terminal says that the other end is closed.
        self.is_open = bool(data)
        text = self._decoder.decode(data, final=not data)
        self._pending = (self._pending + text)[-MOST_PENDING_CHARACTERS:]
        self._unread = (self._unread + text)[-TAIL_CHARACTERS:]
        self.tail = (self.tail + text)[-TAIL_CHARACTERS:]
        return self.is_open

    def read_remaining(self) -> None:
        """At the job's end: what is still in the terminal, but nothing more of those it has left behind."""
        for _ in range(MOST_READS_AT_THE_END):
            if not self.take():
                return

    @property
    def due_s(self) -> float:
        """When something is to be passed on; never, if there is nothing."""
        return self._passed_on_s + PASS_ON_INTERVAL_S if self._pending else float("inf")

    def pieces(self, now_s: float) -> list[str]:
        """What is to be passed on now."""
        pending, self._pending = self._pending, ""
        self._passed_on_s = now_s
        return [pending[at : at + MOST_AT_ONCE_CHARACTERS] for at in range(0, len(pending), MOST_AT_ONCE_CHARACTERS)]

    def unread(self) -> tuple[str, bool]:
        """What came since the last call, to look for progress in; and whether its beginning is missing."""
        unread, self._unread = self._unread, ""
        return unread, len(unread) == TAIL_CHARACTERS

    def resize(self, rows: int, columns: int) -> None:
        set_size(self._fd, rows, columns)


def set_size(fd: int, rows: int, columns: int) -> None:
    """Set the size of a terminal. The job receives SIGWINCH."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", rows & 0xFFFF, columns & 0xFFFF, 0, 0))
