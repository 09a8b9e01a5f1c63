"""The recorder's own process: `python -m memwatch.recorder SETTINGS`, which `memwatch record` turns into."""

import json
import os
import select
import signal
import sys
from typing import TYPE_CHECKING

from memwatch.errors import ExitCode, exit_with_sentence, printable
from memwatch.journal.folder import machine_path, state_path
from memwatch.journal.machine_record import MachineLog
from memwatch.on_linux import IS_LINUX
from memwatch.probe.biggest import ProcessSizes
from memwatch.probe.machine import Machine
from memwatch.recorder.recording import Recorder, RecorderSettings
from memwatch.signal_wakeup import SignalWakeup

if TYPE_CHECKING:
    from memwatch.probe.portable import PortableBiggest

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(settings: RecorderSettings) -> int:
    wakeup = SignalWakeup(SIGNALS)
    log = MachineLog(["memwatch", "record"], {"interval_s": settings.interval_s})
    # The recorder reads the processes itself, when it has something to write.
    machine = Machine(output_folder=state_path(), others_interval_s=float("inf"))
    recorder = Recorder(machine, _process_sizes(), log, settings)
    _say(f"recording this machine every {settings.interval_s:g} s in {machine_path()}; stop it with Ctrl-C")
    shown: str | None = None
    while True:
        wait_s = recorder.take_sample()
        if log.journal.problem != shown:
            shown = log.journal.problem
            _say(shown or "recording works again")
        number = _received(wakeup, wait_s)
        if number is not None:
            recorder.end(number)
            return ExitCode.OK


def _process_sizes() -> "ProcessSizes | PortableBiggest":
    if IS_LINUX:
        return ProcessSizes(in_background=True)
    from memwatch.probe.portable import PortableBiggest

    return PortableBiggest()


def _received(wakeup: SignalWakeup, wait_s: float) -> int | None:
    """A signal to end. It is waited for between samples, so that no line ends in the middle.

    Not by sigtimedwait: Python's returns a signal that was not sent if the process was stopped and continued meanwhile.
    """
    numbers = wakeup.read() if select.select([wakeup], [], [], wait_s)[0] else []
    return numbers[0] if numbers else None


def _say(sentence: str) -> None:
    """On standard error, which systemd keeps; whether anybody reads it does not matter."""
    try:
        os.write(2, f"memwatch: {printable(sentence)}\n".encode(errors="replace"))
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(exit_with_sentence(lambda: main(RecorderSettings(**json.loads(sys.argv[1])))))
