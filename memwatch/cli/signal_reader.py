"""Reads the signals that `memwatch run` receives, so that the job gets them as if it had been sent them itself."""

import os
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from memwatch.guard import system
from memwatch.signal_wakeup import SignalWakeup

# struct signalfd_siginfo: number, errno, code, sender's pid, and 112 bytes that are not used here.
_RECORD = struct.Struct("IiiI112x")
_READ_AT_ONCE = 64
_SI_USER = 0  # Codes up to this are from a process (kill, sigqueue, tgkill), codes above from the kernel.

# Real faults, what cannot be caught, and what Python ignores for itself.
_NOT_HANDLED = {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ} | {
    signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGSYS
}  # fmt: skip


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

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """A context in which to wait for `fileno`; nothing to do here, because a signalfd receives at any time."""
        yield

    def read(self) -> list[ReceivedSignal]:
        """The signals that have arrived, without those that this process and its children cause: SIGPIPE, SIGXFSZ,
        SIGCHLD."""
        try:
            data = os.read(self._fd, _RECORD.size * _READ_AT_ONCE)
        except BlockingIOError:
            return []
        received = []
        for number, _, code, sender_pid in _RECORD.iter_unpack(data):
            is_from_kernel = code > _SI_USER
            if not (is_from_kernel and number == signal.SIGCHLD) and sender_pid != os.getpid():
                received.append(ReceivedSignal(number, is_from_kernel))
        return received


class HandlerReader:
    """The same where there is no signalfd: Python's handlers, which run only inside `receiving`.

    Nothing says who sent a signal, so none counts as the terminal's. Faults of this process stay fatal.
    """

    def __init__(self) -> None:
        self._numbers = signal.valid_signals() - _NOT_HANDLED
        self._wakeup = SignalWakeup(self._numbers)

    def fileno(self) -> int:
        return self._wakeup.fileno()

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Around a wait for `fileno`. Before and after, signals are blocked and wait."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._numbers)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, self._numbers)

    def read(self) -> list[ReceivedSignal]:
        """The signals that have arrived, without SIGCHLD."""
        numbers = self._wakeup.read()
        return [ReceivedSignal(number, is_from_kernel=False) for number in numbers if number != signal.SIGCHLD]
