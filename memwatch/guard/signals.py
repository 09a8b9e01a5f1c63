"""One signal to one process, and to no other: the pid is held by a descriptor while its start time is compared."""

import os
import signal

from memwatch.probe.stat import parse_stat


def signal_process(pid: int, start_ticks: int, number: int) -> bool:
    """Whether it was sent. False: the process is gone, is another one by now, or is not ours to signal."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # From here on the descriptor means the process that has this pid now; is it the one we mean?
        with open(f"/proc/{pid}/stat", "rb") as file:
            if parse_stat(file.read()).start_ticks != start_ticks:
                return False
        signal.pidfd_send_signal(fd, number)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
