"""The recorder's own process: `python -m memwatch.recorder SETTINGS`, which `memwatch record` turns into."""

import json
import os
import signal
import sys

from memwatch.errors import ExitCode, exit_with_sentence, printable
from memwatch.probe.biggest import ProcessSizes
from memwatch.probe.machine import Machine
from memwatch.record.folder import machine_path, state_path
from memwatch.record.segments import MachineLog
from memwatch.recorder.loop import Recorder, RecorderSettings

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(settings: RecorderSettings) -> int:
    # Waited for between looks, so that none ends a line in the middle. Threads inherit it.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    log = MachineLog(["memwatch", "record"], {"interval_s": settings.interval_s})
    # It asks for the processes itself, when it has something to write.
    machine = Machine(output_folder=state_path(), others_interval_s=float("inf"))
    recorder = Recorder(machine, ProcessSizes(), log, settings)
    _say(f"recording this machine every {settings.interval_s:g} s in {machine_path()}; end it with Ctrl-C")
    told: str | None = None
    while True:
        wait_s = recorder.look()
        if log.journal.problem != told:
            told = log.journal.problem
            _say(told or "the record is written again")
        ended_by = signal.sigtimedwait(ENDING, wait_s)
        if ended_by is not None:
            recorder.end(ended_by.si_signo)
            return ExitCode.OK


def _say(sentence: str) -> None:
    """On standard error, which systemd keeps; whether anybody reads it does not matter."""
    try:
        os.write(2, f"memwatch: {printable(sentence)}\n".encode(errors="replace"))
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(exit_with_sentence(lambda: main(RecorderSettings(**json.loads(sys.argv[1])))))
