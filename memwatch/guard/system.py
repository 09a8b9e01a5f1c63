"""System calls that Python has no name for. Where Linux is not used (on_linux.py), they do nothing."""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress

from memwatch.on_linux import IS_LINUX

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
_IOPRIO_WHO_PROCESS = 1
_IOPRIO_BEST_EFFORT = 2
_SIGNAL_SET_BYTES = 128
FIRST_NICENESS = -20
_PROCESS_MADVISE = 440  # the same number on every architecture
_MADV_PAGEOUT = 21


def signal_me_when_my_parent_dies(number: signal.Signals) -> None:
    """Does nothing where Linux is not used."""
    if IS_LINUX:
        _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def adopt_orphans() -> None:
    """Descendants whose parent ends become our children, not init's."""
    if IS_LINUX:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def lock_memory() -> bool:
    """Keep what we use in RAM, and take no more than that. Only root may: for others it would break allocations."""
    if os.geteuid() != 0 or not IS_LINUX:
        return False
    return bool(_libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) == 0)


def raise_priority() -> int:
    """Let this thread, and those that it starts, run before hundreds of others. Returns the niceness from before.

    Only root may, or a user with RLIMIT_NICE. For others it stays as it is.
    """
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, FIRST_NICENESS)
    return usual


def allow_open_files(most: int) -> tuple[int, int]:
    """Let this process open so many files, as far as it may. Returns the limits from before, which are the job's."""
    soft, hard = before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return before
    # Root may go beyond the hard limit, others up to it.
    for raised in ((most, most), (hard, hard)) if hard != resource.RLIM_INFINITY and hard < most else ((most, hard),):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, raised)
            break
    return before


def most_open_files() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def io_priority(level: int) -> int:
    """The kernel's number for best effort, 0 (first) to 7 (last)."""
    return (_IOPRIO_BEST_EFFORT << 13) | level


def get_io_priority(thread_id: int) -> int | None:
    """The kernel's number, 0 if none was set; `thread_id` 0 is this process."""
    number = _IOPRIO_GET.get(os.uname().machine) if IS_LINUX else None
    if number is None:
        return None
    value = int(_libc.syscall(number, _IOPRIO_WHO_PROCESS, thread_id))
    return value if value >= 0 else None


def set_io_priority(value: int, thread_id: int = 0) -> bool:
    """`value` is the kernel's number; for this process (0) and what it starts, or for one thread of another."""
    number = _IOPRIO_SET.get(os.uname().machine) if IS_LINUX else None
    if number is None:
        return False
    return bool(_libc.syscall(number, _IOPRIO_WHO_PROCESS, thread_id, value) == 0)


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def page_out(pid: int, address: int, length: int) -> bool:
    """Write memory of another process to swap, as far as there is some. Only root may."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        vector = _IoVec(address, length)
        done = _libc.syscall(
            _PROCESS_MADVISE, fd, ctypes.byref(vector), ctypes.c_size_t(1), _MADV_PAGEOUT, ctypes.c_uint(0)
        )
        return bool(done >= 0)
    finally:
        os.close(fd)


def oom_score(pid: int | str = "self") -> int | None:
    """oom_score_adj of a process; None if it cannot be read."""
    if not IS_LINUX:
        return None
    with suppress(OSError, ValueError), open(f"/proc/{pid}/oom_score_adj") as file:
        return int(file.read())
    return None


def set_oom_score(score: int, pid: int | str = "self") -> bool:
    """1000: the kernel's own killer takes this process before any other."""
    if not IS_LINUX:
        return False
    with suppress(OSError):
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write(str(score))
        return True
    return False


def signal_descriptor(numbers: Iterable[int]) -> int:
    """A descriptor that the given signals are read from while they are blocked (signalfd). Raises OSError."""
    mask = ctypes.create_string_buffer(_SIGNAL_SET_BYTES)
    _libc.sigemptyset(mask)
    for number in numbers:
        _libc.sigaddset(mask, int(number))
    fd = int(_libc.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def set_command_line(line: bytes) -> None:
    """What ps and pkill -f see of this process from now on; cut off where the old command line was shorter."""
    if not IS_LINUX:
        return
    with suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end
        if 0 < start < end:
            ctypes.memmove(start, line[: end - start - 1].ljust(end - start, b"\0"), end - start)
    _libc.prctl(_PR_SET_NAME, line[:15], 0, 0, 0)
