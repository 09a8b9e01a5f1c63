"""What a process waits for: signals that a stopped process receives when it continues, and terminal input."""

import os
import signal

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import read_file

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OF_INTEREST = (*ENDING, signal.SIGCONT)


def pending_signals(pid: int, proc_root: str = "/proc") -> set[signal.Signals]:
    """Of those that end most programs, and SIGCONT: what waits for it, and is not blocked or ignored by it.

    The kernel keeps for a process that is held by ptrace also the signals that it ignores. SIGCONT has its effect on a
    stopped process even if it is ignored or blocked, as between fork and exec in some shells.
    """
    status = _status(pid, proc_root)
    passed_over = (_set_in(status, b"SigBlk:") | _set_in(status, b"SigIgn:")) & ~_bit(signal.SIGCONT)
    waiting = (_set_in(status, b"SigPnd:") | _set_in(status, b"ShdPnd:")) & ~passed_over
    return {number for number in _OF_INTEREST if waiting & _bit(number)}


def _bit(number: signal.Signals) -> int:
    return 1 << (number - 1)


def is_suspended(pid: int, proc_root: str = "/proc") -> bool:
    """Whether Ctrl-Z waits for a process that is stopped otherwise, and will stop it when it runs on."""
    status = _status(pid, proc_root)
    waiting = _set_in(status, b"SigPnd:") | _set_in(status, b"ShdPnd:")
    passed_over = _set_in(status, b"SigBlk:") | _set_in(status, b"SigIgn:")
    return bool(waiting & ~passed_over & 1 << (signal.SIGTSTP - 1))


def _status(pid: int, proc_root: str) -> bytes:
    """Only Linux shows what waits."""
    return (read_file(f"{proc_root}/{pid}/status") or b"") if IS_LINUX else b""


def _set_in(status: bytes, name: bytes) -> int:
    digits = status.partition(b"\n" + name)[2].split(b"\n", 1)[0].strip()
    return int(digits, 16) if digits else 0


# The number of read() by machine; elsewhere nothing is found, and nothing is said.
_READ = {"x86_64": b"0", "aarch64": b"63", "riscv64": b"63"}


def waits_for_input(pid: int, proc_root: str = "/proc") -> bool:
    """Whether it is inside read() on a terminal now. A program that polls its terminal is not found.

    Needs the right to trace the process, which its ancestors have. For views: the guard never reads this file.
    """
    if not IS_LINUX:
        return False
    words = (read_file(f"{proc_root}/{pid}/syscall") or b"").split()
    if len(words) < 2 or words[0] != _READ.get(os.uname().machine):
        return False
    try:
        target = os.readlink(f"{proc_root}/{pid}/fd/{int(words[1], 16)}")
    except (OSError, ValueError):
        return False
    return target == "/dev/tty" or target.startswith("/dev/pts/")
