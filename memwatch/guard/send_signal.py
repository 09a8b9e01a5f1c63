"""Signals to one process, and to no other.

act.py, the front and the watchers know a process of the job by pid and start time: `send_signal` holds the pid by a
descriptor while it compares the start time. The guard and its watchers know each other by a `ProcessHandle`: a pidfd on
Linux, pid and start time elsewhere.
"""

import errno
import os
import signal
from contextlib import suppress

from memwatch.on_linux import IS_LINUX
from memwatch.probe.stat import is_same_start, parse_stat, read_stat


def signal_process(pid: int, start_ticks: int, number: int) -> bool:
    """Whether it was sent. False: the process is gone, is another one by now, or is not ours to signal."""
    return send_signal(pid, start_ticks, number) == 0


def send_signal(pid: int, start_ticks: int, number: int) -> int:
    """Returns 0 if it was sent, or why not: ESRCH the process is gone, EPERM it is another user's."""
    if not IS_LINUX:
        return _send_by_pid(pid, start_ticks, number)
    try:
        fd = os.pidfd_open(pid)
    except OSError as error:
        return error.errno or errno.ESRCH
    try:
        # From here on the descriptor means the process that has this pid now; is it the one we mean?
        with open(f"/proc/{pid}/stat", "rb") as file:
            if parse_stat(file.read()).start_ticks != start_ticks:
                return errno.ESRCH
        signal.pidfd_send_signal(fd, number)
        return 0
    except FileNotFoundError:
        return errno.ESRCH
    except OSError as error:
        return error.errno or errno.ESRCH
    finally:
        os.close(fd)


def _send_by_pid(pid: int, start_ticks: int, number: int) -> int:
    """Where there is no pidfd: the start time is compared just before, so that another process has microseconds."""
    stat = read_stat(pid)
    if stat is None or not is_same_start(stat.start_ticks, start_ticks):
        return errno.ESRCH
    try:
        os.kill(pid, number)
    except OSError as error:
        return error.errno or errno.ESRCH
    return 0


class ProcessHandle:
    """Another process of memwatch, to be signalled later. Raises OSError if there is no such process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = os.pidfd_open(pid) if IS_LINUX else None
        stat = None if IS_LINUX else read_stat(pid)
        if not IS_LINUX and stat is None:
            raise ProcessLookupError(pid)
        self._start_ticks = 0 if stat is None else stat.start_ticks

    def fileno(self) -> int | None:
        """Readable when the process has ended; None where there is no such descriptor."""
        return self._fd

    def send(self, number: signal.Signals) -> None:
        """Does nothing if the process has gone."""
        with suppress(OSError):
            if self._fd is not None:
                signal.pidfd_send_signal(self._fd, number)
            else:
                send_signal(self._pid, self._start_ticks, number)

    def is_alive(self) -> bool:
        """For callers where `fileno` is None."""
        stat = read_stat(self._pid)
        return stat is not None and stat.state not in "ZX" and is_same_start(stat.start_ticks, self._start_ticks)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
