"""Another process of memwatch, to be signalled later: the same process, or none.

On Linux a pidfd names it. Elsewhere its pid and start time do.
"""

import os
import signal
from contextlib import suppress

from memwatch.guard.send_signal import send_signal
from memwatch.on_linux import IS_LINUX
from memwatch.probe.stat import is_same_start, read_stat


class ProcessHandle:
    """Raises OSError if there is no such process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = os.pidfd_open(pid) if IS_LINUX else None
        stat = None if IS_LINUX else read_stat(pid)
        if not IS_LINUX and stat is None:
            raise ProcessLookupError(pid)
        self._start_ticks = 0 if stat is None else stat.start_ticks

    def fileno(self) -> int | None:
        """Readable when the process has ended; None where there is no such descriptor."""
        return self._fd

    def send(self, number: signal.Signals) -> None:
        with suppress(OSError):
            if self._fd is not None:
                signal.pidfd_send_signal(self._fd, number)
            else:
                send_signal(self._pid, self._start_ticks, number)

    def is_alive(self) -> bool:
        """Where `fileno` is None."""
        stat = read_stat(self._pid)
        return stat is not None and stat.state not in "ZX" and is_same_start(stat.start_ticks, self._start_ticks)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
