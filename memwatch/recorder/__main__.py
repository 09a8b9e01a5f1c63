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

if TYPE_CHECKING:
    from memwatch.probe.portable import PortableBiggest

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(settings: RecorderSettings) -> int:
    ending = _Ending()
    log = MachineLog(["memwatch", "record"], {"interval_s": settings.interval_s})
    # It asks for the processes itself, when it has something to write.
    machine = Machine(output_folder=state_path(), others_interval_s=float("inf"))
    recorder = Recorder(machine, _process_sizes(), log, settings)
    _say(f"recording this machine every {settings.interval_s:g} s in {machine_path()}; stop it with Ctrl-C")
    told: str | None = None
    while True:
        wait_s = recorder.look()
        if log.journal.problem != told:
            told = log.journal.problem
            _say(told or "recording works again")
        number = ending.wait(wait_s)
        if number is not None:
            recorder.end(number)
            return ExitCode.OK


def _process_sizes() -> "ProcessSizes | PortableBiggest":
    if IS_LINUX:
        return ProcessSizes(in_background=True)
    from memwatch.probe.portable import PortableBiggest

    return PortableBiggest()


class _Ending:
    """A signal to end, waited for between looks, so that it ends no line in the middle.

    Not by sigtimedwait: Python's gives back a signal that nobody sent when it was stopped and continued meanwhile.
    """

    def __init__(self) -> None:
        self._heard, bell = os.pipe()
        os.set_blocking(bell, False)
        signal.set_wakeup_fd(bell)
        for number in SIGNALS:
            signal.signal(number, lambda number, frame: None)

    def wait(self, seconds: float) -> int | None:
        is_heard = select.select([self._heard], [], [], seconds)[0]
        return os.read(self._heard, 1)[0] if is_heard else None


def _say(sentence: str) -> None:
    """On standard error, which systemd keeps; whether anybody reads it does not matter."""
    try:
        os.write(2, f"memwatch: {printable(sentence)}\n".encode(errors="replace"))
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(exit_with_sentence(lambda: main(RecorderSettings(**json.loads(sys.argv[1])))))
