"""The command line: one file a command."""

import signal
import sys
from contextlib import suppress

from memwatch.guard import inherited


def main() -> int:
    inherited.note()
    # Ctrl-C while modules are loaded ends us as it ends any program, without a traceback.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:2] == ["run"]:
        from memwatch.guard import start_guard

        with suppress(OSError):  # No process or no descriptor to be had: the front tries again, and says so.
            start_guard.begin()
    from memwatch.cli.commands import memwatch
    from memwatch.command_line import invoke

    return invoke(memwatch, "memwatch", sys.argv[1:])
