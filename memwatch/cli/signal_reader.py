"""Reads the signals that `memwatch run` receives, so that the job gets them as if it had been sent them itself."""

import os
import signal
import struct
from typing import NamedTuple

from memwatch.guard import system

# struct signalfd_siginfo: number, errno, code, sender's pid, and 112 bytes that are not used here.
_RECORD = struct.Struct("IiiI112x")
_MOST_AT_ONCE = 64
_SI_USER = 0  # Codes up to this are from a process (kill, sigqueue, tgkill), codes above from the kernel.


class ReceivedSignal(NamedTuple):
    number: int
    is_from_kernel: bool  # from the terminal (Ctrl-C, Ctrl-Z, a new window size): meant for a whole process group


class SignalReader:
    """Signals must stay blocked while this is used. A blocked signal is kept even if its default is to be ignored.

    Not Python's handlers: a handler for SIGSEGV and the like never returns if the fault is real, while blocking leaves
    a real fault fatal; and a handler does not see who sent the signal.
    """

    def __init__(self) -> None:
        self._fd = system.signal_descriptor(signal.valid_signals())

    def fileno(self) -> int:
        return self._fd

    def read(self) -> list[ReceivedSignal]:
        """What has arrived, without what this process and its children cause: SIGPIPE, SIGXFSZ, SIGCHLD."""
        try:
            data = os.read(self._fd, _RECORD.size * _MOST_AT_ONCE)
        except BlockingIOError:
            return []
        received = []
        for number, _, code, sender_pid in _RECORD.iter_unpack(data):
            is_from_kernel = code > _SI_USER
            if not (is_from_kernel and number == signal.SIGCHLD) and sender_pid != os.getpid():
                received.append(ReceivedSignal(number, is_from_kernel))
        return received
