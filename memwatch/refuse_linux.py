"""Refuses what macOS does not have. Loaded by memwatch/__init__.py where MEMWATCH_PROBE=portable, and nowhere else.

- Names that Python does not have on macOS are removed from its modules, so that hasattr() answers as it does there.
- Files of /proc and /sys, abstract sockets and functions of Linux's C library raise LinuxOnly if memwatch's own code
  uses them. psutil may: on macOS it has other ways.

With MEMWATCH_REFUSED_LOG set, every refusal is also appended to that file, because a caller may swallow the exception.
"""

import os
import select
import selectors
import signal
import socket
import sys
import time
import traceback
from types import FrameType

LOG_VARIABLE = "MEMWATCH_REFUSED_LOG"
# What CPython's documentation lists as absent on macOS, as far as a program of this kind could use it.
ABSENT = {
    os: (
        "pidfd_open", "memfd_create", "eventfd", "eventfd_read", "eventfd_write", "timerfd_create",
        "sched_getaffinity", "sched_setaffinity", "posix_fadvise", "posix_fallocate", "fdatasync", "pipe2",
        "copy_file_range", "splice", "waitid", "getrandom",
        "getxattr", "setxattr", "setns", "unshare", "getresuid", "setresuid",
        "O_PATH", "O_TMPFILE", "O_LARGEFILE", "O_DIRECT", "P_PID", "P_PIDFD",
    ),
    select: ("epoll", "EPOLLIN", "EPOLLOUT", "EPOLL_CLOEXEC", "POLLRDHUP"),
    signal: (
        "pidfd_send_signal", "sigwaitinfo", "sigtimedwait", "SIGRTMIN", "SIGRTMAX", "SIGPWR", "SIGSTKFLT", "SIGPOLL",
    ),
    socket: ("SO_PEERCRED", "MSG_NOSIGNAL", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_PASSCRED", "AF_NETLINK"),
    time: ("CLOCK_BOOTTIME",),
}  # fmt: skip
LINUX_FOLDERS = ("/proc", "/sys")
LINUX_FUNCTIONS = {
    "prctl", "ptrace", "signalfd", "eventfd", "inotify_init1", "memfd_create", "sync_file_range", "mlockall", "syscall",
    "pidfd_open", "process_madvise",
}  # fmt: skip
_FILE_EVENTS = {"open", "os.listdir", "os.scandir"}
_SOCKET_EVENTS = {"socket.bind", "socket.connect"}


class LinuxOnly(Exception):
    """A call that macOS does not have was reached."""


def install() -> None:
    for module, names in ABSENT.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore[assignment,misc]
    _wrap_unaudited()
    sys.addaudithook(_check)


def _check(event: str, arguments: tuple[object, ...]) -> None:
    if event in _FILE_EVENTS:
        _check_path(event, arguments[0])
    elif event in _SOCKET_EVENTS:
        address = arguments[1]
        if isinstance(address, str | bytes) and address[:1] in ("\0", b"\0") and _is_ours(sys._getframe()):
            _refuse(f"{event} of an abstract address")
    elif event == "ctypes.dlsym" and arguments[1] in LINUX_FUNCTIONS and _is_ours(sys._getframe()):
        _refuse(f"the C function {arguments[1]}")


def _wrap_unaudited() -> None:
    """os.stat and os.readlink raise no audit event."""
    for name in ("stat", "readlink"):
        original = getattr(os, name)

        def checked(path: object, *rest: object, original=original, name=name, **named: object) -> object:  # type: ignore[no-untyped-def]
            _check_path(f"os.{name}", path)
            return original(path, *rest, **named)

        setattr(os, name, checked)


def _check_path(event: str, path: object) -> None:
    text = os.fsdecode(path) if isinstance(path, str | bytes) else ""
    is_linuxs = any(text == folder or text.startswith(f"{folder}/") for folder in LINUX_FOLDERS)
    if is_linuxs and _is_ours(sys._getframe()):
        _refuse(f"{event} of {text}")


def _is_ours(frame: FrameType | None) -> bool:
    """Whether the nearest caller outside the standard library is memwatch."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__:
            package = name.partition(".")[0]
            if package == "memwatch":
                return True
            if package not in sys.stdlib_module_names and package != "__main__":
                return False
        frame = frame.f_back
    return False


def _refuse(what: str) -> None:
    log = os.environ.get(LOG_VARIABLE)
    if log:
        where = "".join(traceback.format_stack(limit=8))
        fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, f"{what}\n{where}\n".encode())
        os.close(fd)
    raise LinuxOnly(f"{what} exists on Linux only")
