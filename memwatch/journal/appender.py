"""Appends lines to a file, and never blocks the guard.

A line is one write, which goes to the page cache: microseconds. What makes it last, fsync, waits for the disk, and on a
machine in trouble that takes seconds; so a thread does it. Whatever goes wrong turns the file off and is reported in
`problem`; where the disk was full, it is tried again later.
"""

import errno
import os
import threading
import time
from collections.abc import Callable

from memwatch.errors import MemwatchError
from memwatch.journal.folder import why_not

RETRY_S = 10.0
_PASSING = (errno.ENOSPC, errno.EDQUOT)
# Small, because a guard that locks its memory pays for the whole stack.
_STACK_BYTES = 256 * 1024

Opener = Callable[[], tuple[int, str]]


class Appender:
    """`opener` gives a descriptor and its path; it is called again if the disk was too full even for an empty file."""

    def __init__(self, opener: Opener, clock: Callable[[], float] = time.monotonic) -> None:
        self.path: str | None = None
        self.problem: str | None = None
        self.size_bytes = 0
        self._opener = opener
        self._clock = clock
        self._fd: int | None = None
        self._syncer: _Syncer | None = None
        self._torn = False
        self._retry_s: float | None = None
        self._open()

    @property
    def is_on(self) -> bool:
        """Whether lines can be written now."""
        return self.problem is None or (self._retry_s is not None and self._clock() >= self._retry_s)

    def append(self, data: bytes) -> bool:
        """Append with one write; False if not all of it was written."""
        if self._fd is None and not self._open():
            return False
        assert self._fd is not None
        if self._torn:
            data = b"\n" + data  # So that what is left of a line spoils no other.
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            self._turn_off(error)
            return False
        self.size_bytes += written
        self._torn = written < len(data)
        if self._torn:
            self._turn_off(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            return False
        self.problem = None
        return True

    def sync(self) -> None:
        if self._syncer is None and self._fd is not None:
            self._syncer = _Syncer(self._fd)
        if self._syncer is not None:
            self._syncer.ask()
            if self._syncer.error is not None:
                self._turn_off(self._syncer.error)
                self._syncer = None

    def close(self, wait_s: float) -> None:
        """Waits for the disk at most that long; the kernel writes the rest later."""
        is_idle = self._syncer is None or self._syncer.stop(wait_s)
        if self._fd is not None and is_idle:
            os.close(self._fd)
        self._fd = self._syncer = self._retry_s = None
        self.problem = "the journal is closed"

    def _open(self) -> bool:
        try:
            self._fd, self.path = self._opener()
        except OSError as error:
            self._turn_off(error)
        except MemwatchError as error:
            self.problem, self._retry_s = str(error), None
        return self._fd is not None

    def _turn_off(self, error: OSError) -> None:
        self.problem = why_not(error, self.path or "the state folder")
        self._retry_s = self._clock() + RETRY_S if error.errno in _PASSING else None


class NoFile:
    """In place of an Appender for a run that is not recorded (--no-record): nothing is written, and that is fine."""

    path: str | None = None
    problem: str | None = None
    size_bytes = 0
    is_on = False

    def append(self, data: bytes) -> bool:
        return False

    def sync(self) -> None:
        pass

    def close(self, wait_s: float) -> None:
        pass


class _Syncer:
    """A thread that calls fsync on request. It is a daemon: a dead disk must not keep the guard from exiting."""

    def __init__(self, fd: int) -> None:
        self.error: OSError | None = None
        self._fd = fd
        self._wanted = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = threading.Thread(target=self._run, name="fsync", daemon=True)
        stack_bytes = threading.stack_size(_STACK_BYTES)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None  # No more threads for this user. The kernel writes by itself within half a minute.
        finally:
            threading.stack_size(stack_bytes)

    def ask(self) -> None:
        self._wanted.set()

    def stop(self, wait_s: float) -> bool:
        """False if it is still running."""
        if self._thread is None:
            return True
        self._stopping = True
        self._wanted.set()
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._wanted.wait()
            self._wanted.clear()
            is_last = self._stopping  # Read before the fsync, so that the last one covers all that was written.
            try:
                os.fsync(self._fd)
            except OSError as error:
                self.error = error
                return
