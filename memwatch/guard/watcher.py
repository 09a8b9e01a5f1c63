"""The watcher: a second small process that undoes a pause if the guard dies.

When a guard is killed, the kernel continues the job itself (PDEATHSIG) but none of its descendants that the guard had
stopped too. The watcher is told of every process before it is stopped; at the end of the guard it continues them.
"""

import fcntl
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from memwatch.guard.signals import signal_process

if TYPE_CHECKING:
    from memwatch.core.sample import Process

# Room for a tree of fifty thousand processes.
PIPE_BYTES = 1 << 20


class Watcher:
    def __init__(self, not_for_it: int) -> None:
        """`not_for_it` is a descriptor whose other end must see when the guard is gone."""
        reader, self._writer = os.pipe()
        with suppress(OSError):  # Users have a limit to what all their pipes hold.
            fcntl.fcntl(self._writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(self._writer, False)  # A watcher that was stopped must not stop the guard.
        self.pid = os.fork()
        if self.pid == 0:
            os.close(not_for_it)
            _watch(reader, self._writer)
        os.close(reader)
        self._pidfd = os.pidfd_open(self.pid)  # Before anybody can reap it: the pid alone may be another's one day.

    def will_stop(self, processes: "Iterable[Process]") -> None:
        self._tell("".join(f"{process.pid} {process.start_ticks}\n" for process in processes))

    def all_continued(self) -> None:
        self._tell("clear\n")

    def dismiss(self) -> None:
        """The guard ends in good order."""
        os.close(self._writer)
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)  # It may be stopped, and would not end by itself.
        os.close(self._pidfd)
        with suppress(ChildProcessError):  # Killed before, and reaped with the job's orphans.
            os.waitpid(self.pid, 0)

    def _tell(self, text: str) -> None:
        # Somebody may have killed or stopped it; the job itself is still continued by the kernel.
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._writer, text.encode())


def _watch(reader: int, writer: int) -> None:
    """In the forked child: never returns."""
    os.setsid()  # Out of reach of the terminal's signals.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.close(writer)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)  # Or whoever waits for the end of the job's output would wait for ours.
    received = b""
    while data := os.read(reader, 65536):
        received = (received + data).rpartition(b"clear\n")[2]
    for line in received.splitlines():
        pid, _, start_ticks = line.partition(b" ")
        if start_ticks.isdigit():
            signal_process(int(pid), int(start_ticks), signal.SIGCONT)
    os._exit(0)
