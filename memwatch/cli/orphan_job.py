"""The job after its guard was killed, where the front cannot become its parent: only Linux has subreapers.

The front can still see when the job ends, but not its exit code.
"""

import os
import signal
from contextlib import suppress

from memwatch.probe.process_waits import ENDING
from memwatch.probe.stat import is_same_start, read_stat

NO_EXIT_CODE = "the job has ended; its exit code is unknown, because the guard was killed before it"
LOOK_INTERVAL_S = 0.2


class OrphanJob:
    """The job, by pid and start time. Must be made when the job starts, before its pid can belong to another."""

    def __init__(self, pid: int) -> None:
        stat = read_stat(pid)
        self._pid = pid
        self._start_ticks = None if stat is None else stat.start_ticks

    def is_alive(self) -> bool:
        stat = read_stat(self._pid)
        if stat is None or self._start_ticks is None or stat.state in "ZX":
            return False
        return is_same_start(stat.start_ticks, self._start_ticks)

    def send(self, number: int, to_group: bool) -> None:
        with suppress(OSError):
            if self.is_alive():
                is_for_group = to_group or number in (*ENDING, signal.SIGCONT)
                (os.killpg if is_for_group else os.kill)(self._pid, number)
