"""The guard's own process: `python -m memwatch.guard VIEW_FD`, started by `memwatch run` (starting.py)."""

import os
import socket
import sys
import time
from contextlib import suppress
from functools import partial

from memwatch.channel import Channel
from memwatch.errors import ExitCode
from memwatch.guard import system
from memwatch.guard.order import Order, wait_for_order
from memwatch.guard.place import Place, seek_place
from memwatch.guard.readable import NOTHING_TO_GUARD_BY, memory_can_be_read
from memwatch.guard.spawn import CannotStart, Start, spawn
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
    order = wait_for_order(view)
    if order is None:
        return ExitCode.OK
    config = order.config
    if not config.may_be_unguarded and not memory_can_be_read():
        return _refuse(view, NOTHING_TO_GUARD_BY, ExitCode.BROKEN)
    place = seek_place()
    scope = into_scope = None
    # What is not needed on a machine without systemd is not waited for there.
    if config.reserve_bytes is not None or isinstance(place, Place):
        from memwatch.core.reserve import ReserveTooLarge
        from memwatch.guard.before import reserve_for
        from memwatch.probe.glance import glance

        try:
            machine = glance()
            reserve = reserve_for(config, machine)
        except ReserveTooLarge as error:  # Nothing is run under a promise that cannot be kept.
            return _refuse(view, str(error), ExitCode.USAGE)
        if isinstance(place, Place):
            from memwatch.guard.scope import JobScope

            scope = JobScope(place)
            into_scope = partial(scope.take_in, machine=machine, reserve=reserve)
    ours, theirs = socket.socketpair()
    started_t = time.time()
    from memwatch.probe.shmem import host_shmem_bytes

    shmem_before_bytes = host_shmem_bytes()
    try:
        job_pid = spawn(_start(order, theirs.fileno()), into_scope)
    except CannotStart as error:
        return _refuse(view, str(error), error.exit_code)
    front = Channel(view)
    try:
        front.send({"event": "spawned", "pid": job_pid})  # Whatever happens to us, the front knows whom to wait for.
        theirs.close()
        if order.terminal is not None:
            os.close(order.terminal[1])
            watcher.keep_terminal(order.terminal[0])
            _let_go_of_terminal()
        # The rest is loaded while the job starts, which has not taken much memory yet.
        from memwatch.guard.loop import Guard
        from memwatch.guard.scope import JobScope

        scope = scope or JobScope(place)
        return Guard(order, watcher, front, job_pid, started_t, Channel(ours), scope, shmem_before_bytes).run()
    except Exception as error:
        # The job is not to blame: it goes on, and whoever ran it still gets its exit code, from the front.
        text = f"the guard failed, and the job goes on without it: {type(error).__name__}: {error}"
        front.send({"event": "failed", "text": text, "pid": job_pid})
        return ExitCode.BROKEN


def _let_go_of_terminal() -> None:
    """The front's is not ours: it may be closed while the job, which has its own, goes on."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _start(order: Order, channel_fd: int) -> Start:
    return Start(
        command=order.command,
        channel_fd=channel_fd,
        terminal_fd=order.config.terminal_fd,
        output_fd=None if order.terminal is None else order.terminal[1],
        lowers_priority=order.config.lowers_priority,
        ignored_signals=order.config.ignored_signals,
    )


def _refuse(view: socket.socket, text: str, code: int) -> int:
    Channel(view).send({"event": "refused", "text": text, "code": code})
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
