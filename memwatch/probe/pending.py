"""Signals that wait: a process that is stopped does not hear that it is to end until it runs on."""

import signal

from memwatch.probe.files import read_file

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_MASK = sum(1 << (number - 1) for number in ENDING)


def is_told_to_end(pid: int, proc_root: str = "/proc") -> bool:
    """Whether a signal that ends most programs waits for it, and is not one that it keeps waiting itself."""
    status = read_file(f"{proc_root}/{pid}/status") or b""
    waiting = _set_in(status, b"SigPnd:") | _set_in(status, b"ShdPnd:")
    return bool(waiting & ~_set_in(status, b"SigBlk:") & _MASK)


def _set_in(status: bytes, name: bytes) -> int:
    digits = status.partition(b"\n" + name)[2].split(b"\n", 1)[0].strip()
    return int(digits, 16) if digits else 0
