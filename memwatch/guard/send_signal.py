"""One signal to one process, and to no other: the pid is held by a descriptor while its start time is compared."""

import errno
import os
import signal

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
