"""Signals, turned into something a loop can wait for."""

import signal
from types import FrameType

from memwatch.errors import Interrupted
from memwatch.signal_wakeup import SignalWakeup

ASK_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ASK_FOR_SHARDS = signal.SIGUSR1


class Signals:
    """Until it is `patient`, a signal ends what is going on; then it is noted, and wakes the loop through `wakeup`."""

    def __init__(self) -> None:
        self.patient = False
        self.stop: int | None = None
        self.shard = False
        # Not those that the caller wants to be ignored, as nohup does.
        numbers = [each for each in (*ASK_TO_STOP, ASK_FOR_SHARDS) if signal.getsignal(each) is not signal.SIG_IGN]
        self.wakeup = SignalWakeup(numbers, self._note)
        # Blocked since the process began: what came since then comes now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ASK_TO_STOP, ASK_FOR_SHARDS))

    def install(self) -> None:
        """Install the handlers again, after a library has put its own there."""
        self.wakeup.install()

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
        while self.wakeup.read():
            pass
