"""ptrace, as much of it as holding a thread takes. Python has no name for it.

Every call returns 0 or an errno, because each failure means something else to the caller (hold.py). Where Linux is not
used (on_linux.py), every call is refused with EPERM.
"""

import ctypes
import errno
import os
from contextlib import suppress

from memwatch.on_linux import IS_LINUX

_libc = ctypes.CDLL(None, use_errno=True)
if IS_LINUX:
    _libc.ptrace.argtypes = [ctypes.c_long] * 4
    _libc.ptrace.restype = ctypes.c_long

_DETACH = 17
_SEIZE = 0x4206
_INTERRUPT = 0x4207
# In a wait status, above the signal: the thread is held by us (or by us and by a stop signal at once).
EVENT_STOP = 128


def seize(tid: int) -> int:
    """Become the tracer of a thread. It runs on; when this process dies by any cause, the kernel lets go of it."""
    return _call(_SEIZE, tid)


def interrupt(tid: int) -> int:
    """Stop a seized thread as soon as it leaves the kernel. Its wait status says when that is."""
    return _call(_INTERRUPT, tid)


def detach(tid: int, signal_number: int = 0) -> int:
    """Let a held thread run on, with the signal that it was about to receive. ESRCH: it is gone or not stopped yet."""
    return _call(_DETACH, tid, signal_number)


def works_on_child(pid: int) -> bool:
    """Whether this system lets us hold `pid`, a child of ours that has not started its program yet."""
    if seize(pid) != 0:
        return False
    interrupt(pid)
    with suppress(ChildProcessError):
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            detach(pid, 0 if status >> 16 == EVENT_STOP else os.WSTOPSIG(status))
            return True
    return False


def _call(request: int, tid: int, data: int = 0) -> int:
    if not IS_LINUX:
        return errno.EPERM
    return 0 if _libc.ptrace(request, tid, 0, data) == 0 else ctypes.get_errno()
