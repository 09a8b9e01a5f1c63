"""System calls that Python has no name for."""

import ctypes
import os
import signal
from contextlib import suppress

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_IOPRIO_BEST_EFFORT = 2


def signal_me_when_my_parent_dies(number: signal.Signals) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def adopt_orphans() -> None:
    """Descendants whose parent ends become our children, not init's."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def lock_memory() -> bool:
    """Keep what we use in RAM, and take no more than that. Only root may: for others it would break allocations."""
    if os.geteuid() != 0:
        return False
    return bool(_libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) == 0)


def set_io_priority(level: int) -> bool:
    """Best effort, 0 (first) to 7 (last), for this process and what it starts."""
    number = _IOPRIO_SET.get(os.uname().machine)
    if number is None:
        return False
    return bool(_libc.syscall(number, 1, 0, (_IOPRIO_BEST_EFFORT << 13) | level) == 0)


def raise_oom_score(score: int) -> bool:
    """So that the kernel's own killer takes this process before any other."""
    with suppress(OSError):
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(score))
        return True
    return False


def set_command_line(line: bytes) -> None:
    """What ps and pkill -f see of this process from now on; cut off where the old command line was shorter."""
    with suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end
        if 0 < start < end:
            ctypes.memmove(start, line[: end - start - 1].ljust(end - start, b"\0"), end - start)
    _libc.prctl(_PR_SET_NAME, line[:15], 0, 0, 0)
