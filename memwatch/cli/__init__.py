"""The command line: one file a command."""

import os
import signal
import sys


def main() -> int:
    _have_standard_streams()
    # Ctrl-C while modules are loaded ends us as it ends any program, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:2] == ["run"]:
        from memwatch.guard import starting

        starting.begin()
    from memwatch.cli.commands import memwatch
    from memwatch.cli.invoke import invoke

    return invoke(memwatch, "memwatch", sys.argv[1:])


def _have_standard_streams() -> None:
    """Where one of the three was closed, the next file to be opened would take its place, and get its output."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest free number is this one.
            os.set_inheritable(fd, True)
