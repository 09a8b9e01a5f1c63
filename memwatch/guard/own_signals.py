"""The signals that the guard itself receives: SIGCHLD wakes its loop, SIGTERM is meant for the job."""

import selectors
import signal
import socket
from collections.abc import Callable
from types import FrameType

from memwatch.guard.spawn import HANDLED, IGNORED


class OwnSignals:
    """Called by the loop's selector, so that no handler runs in the middle of anything.

    `pass_sigterm_on` is called for a SIGTERM, then `children_changed` for every signal.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        pass_sigterm_on: Callable[[], None],
        children_changed: Callable[[], None],
    ) -> None:
        self._pass_sigterm_on = pass_sigterm_on
        self._children_changed = children_changed
        self._got_sigterm = False
        self._readable, self._writable = socket.socketpair()
        self._readable.setblocking(False)
        self._writable.setblocking(False)
        signal.set_wakeup_fd(self._writable.fileno(), warn_on_full_buffer=False)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        for number in HANDLED:
            signal.signal(number, self._note)
        selector.register(self._readable, selectors.EVENT_READ, self._handle)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self._got_sigterm = True

    def _handle(self) -> None:
        self._readable.recv(4096)
        if self._got_sigterm:
            self._got_sigterm = False
            self._pass_sigterm_on()
        self._children_changed()
