"""With plain lines or no view, `memwatch run` stands for the job: what happens to one happens to the other.

The caller of `memwatch run` knows the front's pid only. The front passes on the signals it can catch (cli/front.py);
here the guard sees to the rest. A front that is killed takes the job with it. A front that is stopped stops the job. A
job that stops is reported to the front, which stops too, so that the shell takes over; when the job goes on or ends by
another hand, the front is continued.

With the full screen the front is a view among others, and `front_pid` is None: the job outlives it.
"""

import os
import signal
from contextlib import suppress

from memwatch.probe.stat import read_stat


class StandIn:
    """Keeps front and job stopped or running together. `front_pid` is None if the front does not stand for the job."""

    def __init__(self, front_pid: int | None, job_pid: int) -> None:
        self._front_pid = front_pid
        self._job_pid = job_pid
        self._has_stopped_job = False  # because the front was stopped
        self._is_suspended = False  # The job was stopped by another hand, and the front stops with it.
        self._has_continued_front = False

    def front_was_killed(self) -> bool:
        """The front never exits before its guard; and the guard is its child until it dies."""
        return self._front_pid is not None and os.getppid() != self._front_pid

    def follow_front(self) -> None:
        """At every sample: stop the job if somebody has stopped the front with SIGSTOP, which cannot be caught."""
        if self._has_stopped_job or self._is_suspended or not self._front_is_stopped():
            return
        self._has_stopped_job = True
        self._signal_job(signal.SIGSTOP)

    def job_was_stopped(self) -> bool:
        """Whether the front must be informed."""
        if self._has_stopped_job:
            return False
        self._is_suspended = True
        return True

    def front_passes_on_continue(self) -> bool:
        """Whether the job must be continued: not if it runs already, and the front was only made to follow it."""
        follows_job, self._has_continued_front = self._has_continued_front, False
        if not follows_job:
            self._is_suspended = self._has_stopped_job = False
        return not follows_job

    def job_was_continued(self) -> None:
        """Continue the front, which has stopped with the job."""
        if self._is_suspended or self._has_stopped_job:
            self._continue_front()

    def job_has_ended(self) -> None:
        """A stopped front could not return the exit code."""
        if self._is_suspended or self._front_is_stopped():
            self._continue_front()

    def _continue_front(self) -> None:
        self._is_suspended = self._has_stopped_job = False
        if self._front_pid is not None and not self.front_was_killed():
            self._has_continued_front = True
            with suppress(OSError):
                os.kill(self._front_pid, signal.SIGCONT)

    def _front_is_stopped(self) -> bool:
        if self._front_pid is None or self.front_was_killed():
            return False
        stat = read_stat(self._front_pid)
        return stat is not None and stat.state == "T"

    def _signal_job(self, number: int) -> None:
        with suppress(OSError):
            os.kill(self._job_pid, number)  # Our child, not reaped: the pid is still its own.
