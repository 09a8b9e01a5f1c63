"""Signals that wait: a process that is stopped receives them when it runs on."""

import signal

from memwatch.probe.files import read_file

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_OF_INTEREST = (*ENDING, signal.SIGCONT)


def pending_signals(pid: int, proc_root: str = "/proc") -> set[signal.Signals]:
    """Of those that end most programs, and SIGCONT: what waits for it, and is not blocked or ignored by it."""
    status = read_file(f"{proc_root}/{pid}/status") or b""
    waiting = (_set_in(status, b"SigPnd:") | _set_in(status, b"ShdPnd:")) & ~_set_in(status, b"SigBlk:")
    # Of a process that is held by ptrace, the kernel keeps also the signals that it ignores. SIGCONT has its effect
    # on a stopped process even so.
    waiting &= ~_set_in(status, b"SigIgn:") | _bit(signal.SIGCONT)
    return {number for number in _OF_INTEREST if waiting & _bit(number)}


def _bit(number: signal.Signals) -> int:
    return 1 << (number - 1)


def is_suspended(pid: int, proc_root: str = "/proc") -> bool:
    """Whether Ctrl-Z waits for a process that is stopped otherwise, and will stop it when it runs on."""
    status = read_file(f"{proc_root}/{pid}/status") or b""
    waiting = _set_in(status, b"SigPnd:") | _set_in(status, b"ShdPnd:")
    passed_over = _set_in(status, b"SigBlk:") | _set_in(status, b"SigIgn:")
    return bool(waiting & ~passed_over & 1 << (signal.SIGTSTP - 1))


def _set_in(status: bytes, name: bytes) -> int:
    digits = status.partition(b"\n" + name)[2].split(b"\n", 1)[0].strip()
    return int(digits, 16) if digits else 0
