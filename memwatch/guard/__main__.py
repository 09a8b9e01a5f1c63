"""The guard's own process: `python -m memwatch.guard VIEW_FD`, started by `memwatch run` (starting.py)."""

import os
import socket
import sys
from contextlib import suppress

from memwatch.channel import Channel
from memwatch.errors import ExitCode
from memwatch.guard import system
from memwatch.guard.spawn import CannotStart, Start, spawn
from memwatch.guard.starting import wait_for_config
from memwatch.guard.watcher import Watcher


def main(view_fd: int) -> int:
    os.set_inheritable(view_fd, False)  # The job may leave processes behind that would hold it open.
    view = socket.socket(fileno=view_fd)
    # Before more is loaded: the watcher stays as small as we are now.
    watcher = Watcher()
    with suppress(OSError):  # A session's leader has a group of its own already.
        os.setpgid(0, 0)  # What a terminal sends is for the job, and reaches us by way of the front.
    system.adopt_orphans()
    try:
        return _guard(view, watcher)
    except Exception as error:
        # Whatever it was, the kernel and the watcher see to it that the job is not left stopped.
        return _refuse(view, f"the guard failed: {type(error).__name__}: {error}", ExitCode.BROKEN)


def _guard(view: socket.socket, watcher: Watcher) -> int:
    asked = wait_for_config(view)
    if asked is None:
        return ExitCode.OK
    config, command = asked
    if config.reserve_bytes is not None:
        from memwatch.core.reserve import ReserveTooLarge
        from memwatch.guard.loop import check_reserve_first

        try:
            check_reserve_first(config)
        except ReserveTooLarge as error:
            return _refuse(view, str(error), ExitCode.USAGE)
    ours, theirs = socket.socketpair()
    try:
        start = Start(command, theirs.fileno(), config.terminal_fd, config.lowers_priority, config.ignored_signals)
        job_pid = spawn(start)
    except CannotStart as error:
        return _refuse(view, str(error), error.exit_code)
    theirs.close()
    # The rest is loaded while the job starts, which has not taken much memory yet.
    from memwatch.guard.loop import Guard

    return Guard(config, command, watcher, Channel(view), job_pid, Channel(ours)).run()


def _refuse(view: socket.socket, text: str, code: int) -> int:
    Channel(view).send({"event": "refused", "text": text, "code": code})
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
