"""Signals, turned into something a loop can wait for."""

import signal
import socket
from types import FrameType

from memwatch.errors import Interrupted

ASK_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ASK_FOR_SHARDS = signal.SIGUSR1


class Signals:
    """Until it is `patient`, a signal ends what is going on; then it is noted, and wakes whoever waits on `wakeup`."""

    def __init__(self) -> None:
        self.patient = False
        self.stop: int | None = None
        self.shard = False
        self.wakeup, self._ring = socket.socketpair()
        self.wakeup.setblocking(False)
        self._ring.setblocking(False)
        self.install()
        # Blocked since the process began: what came since then comes now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ASK_TO_STOP, ASK_FOR_SHARDS))

    def install(self) -> None:
        """Again after a library has put its own handlers there."""
        signal.set_wakeup_fd(self._ring.fileno(), warn_on_full_buffer=False)
        for number in (*ASK_TO_STOP, ASK_FOR_SHARDS):
            # Whoever started us may have wanted a signal to be ignored, as nohup does.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == ASK_FOR_SHARDS:
            self.shard = True
            return
        already_stopping, self.stop = self.stop is not None, number
        if not self.patient and not already_stopping:
            raise Interrupted("interrupted; partial output is kept: repeat the same command to resume", number)

    def finish(self) -> None:
        """All is read; from here on it takes less time to end than to explain why not. While Python shuts down, handled
        signals get their default meaning back; ignored ones do not."""
        for number in (*ASK_TO_STOP, ASK_FOR_SHARDS):
            signal.signal(number, signal.SIG_IGN)

    def drain(self) -> None:
        try:
            while self.wakeup.recv(4096):
                pass
        except BlockingIOError:
            pass
