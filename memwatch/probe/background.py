"""One piece of work at a time, on a daemon thread.

Some files answer late: /proc/PID/cmdline and smaps_rollup wait for the memory map lock of the process, /proc/PID/io
waits for its exec, and a file system of the network waits for its server. The guard must not wait with them, neither
between two samples nor at its end, so whatever can block is read here.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

# Small, because a guard that locks its memory pays for the whole stack.
_STACK_BYTES = 128 * 1024

Work = Callable[[], None]


class Background:
    """`is_threaded=False` does the work at once: for tests, and for commands that read a single sample."""

    def __init__(self, name: str, is_threaded: bool) -> None:
        self._name = name
        self._is_threaded = is_threaded
        self._work: Work | None = None
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping = False

    @property
    def is_busy(self) -> bool:
        return self._work is not None

    def start(self, work: Work) -> bool:
        """False if the last work is not done yet, or no thread can be had."""
        if not self._is_threaded:
            work()
            return True
        if self.is_busy or (self._thread is None and not self._start_thread()):
            return False
        self._work = work
        self._wanted.set()
        return True

    def close(self) -> None:
        """Does not wait for a thread that is blocked: it is a daemon, and ends with the process."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None and not self.is_busy:
            self._thread.join(timeout=1.0)

    def _start_thread(self) -> bool:
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        stack_bytes = threading.stack_size(_STACK_BYTES)
        try:
            self._thread.start()
        except RuntimeError:  # No more threads for this user.
            self._thread = None
        finally:
            threading.stack_size(stack_bytes)
        return self._thread is not None

    def _run(self) -> None:
        while not self._stopping:
            self._wanted.wait()
            self._wanted.clear()
            if self._work is not None and not self._stopping:
                with suppress(Exception):  # What cannot be read stays unknown; the thread must outlive it.
                    self._work()
            self._work = None
