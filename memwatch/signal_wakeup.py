"""A descriptor that becomes readable when a signal arrives, for loops that wait: no work is done in a handler."""

import os
import signal
from collections.abc import Callable, Iterable
from types import FrameType

_READ_AT_ONCE = 4096


def _ignore(number: int, frame: FrameType | None) -> None:
    """A handler that does nothing: the descriptor is enough."""


class SignalWakeup:
    """One per process. `handler` is also called for each of `numbers`."""

    def __init__(self, numbers: Iterable[int], handler: Callable[[int, FrameType | None], None] = _ignore) -> None:
        self._numbers = tuple(numbers)
        self._handler = handler
        self._readable, self._writable = os.pipe()
        os.set_blocking(self._readable, False)
        os.set_blocking(self._writable, False)
        self.install()

    def install(self) -> None:
        """To be repeated after a library has installed its own handlers."""
        signal.set_wakeup_fd(self._writable, warn_on_full_buffer=False)
        for number in self._numbers:
            signal.signal(number, self._handler)

    def fileno(self) -> int:
        return self._readable

    def read(self) -> list[int]:
        """The numbers of the signals that have arrived, in order; empty if there are none."""
        try:
            return list(os.read(self._readable, _READ_AT_ONCE))
        except BlockingIOError:
            return []
