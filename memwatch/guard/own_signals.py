"""The signals that the guard itself receives: SIGCHLD wakes its loop, SIGTERM is meant for the job."""

import selectors
import signal
from collections.abc import Callable
from types import FrameType

from memwatch.guard.spawn import HANDLED, IGNORED
from memwatch.signal_wakeup import SignalWakeup


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
        self._wakeup = SignalWakeup(HANDLED, self._note)
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        selector.register(self._wakeup, selectors.EVENT_READ, self._handle)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self._got_sigterm = True

    def _handle(self) -> None:
        self._wakeup.read()
        if self._got_sigterm:
            self._got_sigterm = False
            self._pass_sigterm_on()
        self._children_changed()
