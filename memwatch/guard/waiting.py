"""What the guard does between two samples: it waits, and serves views, job, watcher and terminal meanwhile."""

import selectors
import time
from collections.abc import Callable

from memwatch.decide.fill_windows import NOISE_BYTES
from memwatch.decide.forecast import SLOWEST_INTERVAL_S
from memwatch.guard.job_channel import JobChannel
from memwatch.guard.output_relay import OutputRelay
from memwatch.guard.views import Views
from memwatch.guard.watchers import Watchers
from memwatch.model.units import MIB

# A guard that thrashes with everybody else is late, too; it takes half a second to know again what goes on.
LATE_S = 5.0
# Less is what a machine at rest moves to and fro within a second, and in a large room what a forecast calls noise.
MOVED_SHARE = 1 / 256
MOVED_BYTES = (4 * MIB, NOISE_BYTES)  # at least, at most


class Waiting:
    """`check_front` is called after every wake-up. `is_cut_short` ends the wait: the next sample is wanted now."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        views: Views,
        job_channel: JobChannel,
        watchers: Watchers,
        output: OutputRelay,
        check_front: Callable[[], None],
    ) -> None:
        self.is_cut_short = False
        self._selector = selector
        self._views = views
        self._job_channel = job_channel
        self._watchers = watchers
        self._output = output
        self._check_front = check_front
        self._sample_due_s = time.monotonic()

    def was_too_long(self) -> bool:
        """Whether a sample is long overdue: somebody has stopped the guard (SIGSTOP), or the machine has stood still.
        What the guard knows is old then."""
        return time.monotonic() - self._sample_due_s > LATE_S

    def wait(self, seconds: float) -> None:
        """Wait this long, or until the wait is cut short, and serve whoever sends something meanwhile."""
        self._sample_due_s = deadline_s = time.monotonic() + seconds
        while True:
            for key, _ in self._selector.select(max(self._next_due_s(deadline_s) - time.monotonic(), 0)):
                key.data()
            now_s = time.monotonic()
            if self._output.due_s <= now_s:
                self._output.pass_on()
            self._views.resume_reading(now_s)
            if self._job_channel.due_s <= now_s:
                self._job_channel.resume_reading()
            self._watchers.beat(now_s)
            self._check_front()
            if self.is_cut_short or now_s >= deadline_s:
                return

    def rest(self, interval_s: float, room_use: Callable[[], tuple[int, ...]]) -> float | None:
        """Up to a second without a sample, in which only the use of memory is read: small rooms are small for long.

        Returns until when nothing has moved, if something has moved since; None if nothing has.
        """
        before = room_use()
        began_s = time.monotonic()
        while not self.is_cut_short:
            checked_s = time.monotonic()
            self.wait(interval_s)
            if has_moved(before, room_use()):
                return checked_s
            if time.monotonic() + interval_s > began_s + SLOWEST_INTERVAL_S:
                break
        return None

    def _next_due_s(self, deadline_s: float) -> float:
        return min(deadline_s, self._views.due_s, self._job_channel.due_s, self._watchers.due_s, self._output.due_s)


def has_moved(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether the use of any room has changed by more than a machine at rest changes it."""
    if len(before) != len(after):
        return True
    least, most = MOVED_BYTES
    return any(
        abs(now - then) >= min(max(now * MOVED_SHARE, least), most) for then, now in zip(before, after, strict=True)
    )
