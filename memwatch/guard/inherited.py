"""What memwatch was started with, and its job must find again: closed streams, descriptors, signals, environment.

`memwatch run` calls `note` before anything else, because Python and memwatch change some of it for themselves. The
front sends it to the guard (order.py), and the guard restores it in the job just before exec (spawn.py).
"""

import os
import signal
from contextlib import suppress
from typing import NamedTuple

from memwatch.on_linux import IS_LINUX

STANDARD_STREAMS = (0, 1, 2)
# Python ignores these two for itself before memwatch can see what they were; the job gets the default.
UNKNOWABLE = (signal.SIGPIPE, signal.SIGXFSZ)


class Inherited(NamedTuple):
    """How memwatch was started, which the job is to be started like."""

    closed_streams: tuple[int, ...] = ()
    ignored_signals: tuple[int, ...] = ()
    blocked_signals: tuple[int, ...] = ()


_noted = Inherited()


def note() -> None:
    """Remember what this process was started with, and make it fit for work.

    A closed standard stream is opened on /dev/null: the next file to be opened would take its number, and its output.
    """
    global _noted
    closed = tuple(fd for fd in STANDARD_STREAMS if not _is_open(fd))
    ignored = (n for n in signal.valid_signals() - set(UNKNOWABLE) if signal.getsignal(n) is signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    _noted = Inherited(closed, tuple(sorted(map(int, ignored))), tuple(sorted(map(int, blocked))))
    for fd in closed:
        os.open(os.devnull, os.O_RDWR)  # The lowest free number is this one.
        os.set_inheritable(fd, True)


def noted() -> Inherited:
    """What `note` has remembered."""
    return _noted


def extra_descriptors() -> list[int]:
    """Descriptors above the standard streams that the job inherits; Python opens none of its own so.

    Whoever else holds one open delays the end of file that its reader waits for: front, guard and watcher close them.
    """
    descriptors = []
    with suppress(OSError):
        for fd in open_descriptors():
            with suppress(OSError):  # The descriptor of the listing itself is closed by now.
                if fd > max(STANDARD_STREAMS) and os.get_inheritable(fd):
                    descriptors.append(fd)
    return descriptors


def open_descriptors() -> list[int]:
    """The descriptors that this process has open. Raises OSError."""
    return [int(name) for name in os.listdir("/proc/self/fd" if IS_LINUX else "/dev/fd")]


def environment() -> dict[str, str]:
    """This process's environment without LC_CTYPE if Python has added it (PEP 538, in the C locale)."""
    variables = dict(os.environ)
    if not IS_LINUX:
        return variables
    with suppress(OSError), open("/proc/self/environ", "rb") as file:
        if not any(entry.startswith(b"LC_CTYPE=") for entry in file.read().split(b"\0")):
            variables.pop("LC_CTYPE", None)
    return variables


def release_standard_streams(streams: tuple[int, ...] = STANDARD_STREAMS) -> None:
    """Put /dev/null in their place, so that only the job holds them and its reader sees when it closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in streams:
        os.dup2(null, fd)
    os.close(null)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
