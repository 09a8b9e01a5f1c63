"""The guard's own process: `python -m memwatch.guard VIEW_FD`, started by `memwatch run` (start_guard.py)."""

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from functools import partial

from memwatch.channel import Channel
from memwatch.errors import ExitCode
from memwatch.guard import inherited, system
from memwatch.guard.job_channel import JobListener
from memwatch.guard.order import GuardOrder, wait_for_order
from memwatch.guard.scope.placement import Place, seek_place
from memwatch.guard.spawn import CannotStart, JobStart, spawn
from memwatch.guard.watchers import Watchers
from memwatch.probe.before_start import obstacle, read_before_start

# 16 views, the files of 96 processes, cgroups; a usual limit.
OPEN_FILES_WANTED = 1024


def main(view_fd: int) -> int:
    """Guard one job to its end and return its exit code. `view_fd` is the guard's end of the front's socket."""
    os.set_inheritable(view_fd, False)  # The job may leave processes behind that would hold it open.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # The front blocks them for itself.
    for_the_job = inherited.extra_descriptors()
    view = socket.socket(fileno=view_fd)
    open_files = system.allow_open_files(OPEN_FILES_WANTED)
    try:
        watchers = Watchers()  # Before more is loaded: a watcher stays as small as we are now.
    except OSError as error:
        wait_for_order(view)  # Or the front, which is about to send it, would fail at that and not read why.
        return _refuse(view, None, f"cannot start the guard's watcher: {error.strerror}", ExitCode.BROKEN)
    with suppress(OSError):  # A session's leader has a group of its own already.
        os.setpgid(0, 0)  # What a terminal sends is for the job, and reaches us by way of the front.
    system.adopt_orphans()
    try:
        return _guard(view, watchers, for_the_job, open_files)
    except Exception as error:
        return _refuse(view, watchers, f"the guard failed: {type(error).__name__}: {error}", ExitCode.BROKEN)


def _guard(view: socket.socket, watchers: Watchers, for_the_job: list[int], open_files: tuple[int, int]) -> int:
    order = wait_for_order(view)
    if order is None:
        watchers.dismiss()
        return ExitCode.OK
    config = order.config
    why_blind = None if config.may_be_unguarded else obstacle(system.most_open_files())
    if why_blind is not None:
        return _refuse(view, watchers, why_blind, ExitCode.BROKEN)
    place = seek_place()
    scope = into_scope = None
    # What is not needed on a machine without systemd is not waited for there.
    if config.reserve_bytes is not None or isinstance(place, Place):
        from memwatch.decide.reserve import ReserveTooLarge, reserve_for
        from memwatch.probe.cgroups import memory_sample

        try:
            machine = memory_sample()
            reserve = reserve_for(config.reserve_bytes, config.reserve_fraction, machine)
        except ReserveTooLarge as error:  # Nothing is run under a promise that cannot be kept.
            return _refuse(view, watchers, str(error), ExitCode.USAGE)
        if isinstance(place, Place):
            from memwatch.guard.scope.job_scope import JobScope

            scope = JobScope(place)
            into_scope = partial(scope.take_in, machine=machine, reserve=reserve)
    listener = _job_listener()
    if listener is not None and listener.folder is not None:
        watchers.remove_left_over(listener.folder)
    started_t = time.time()
    before = read_before_start()
    try:
        job_pid = spawn(_start(order, listener, open_files), into_scope)
    except CannotStart as error:
        return _refuse(view, watchers, str(error), error.exit_code)
    watchers.add_second()
    # The job has started, and does not share in it. Behind hundreds of busy processes the guard would be late.
    usual_niceness = system.raise_priority()
    front = Channel(view)
    try:
        front.send({"event": "spawned", "pid": job_pid})  # Whatever happens to us, the front knows whom to wait for.
        # Only the job holds its streams from here on: its reader sees the end of file when the job closes them.
        inherited.release_standard_streams()
        for fd in for_the_job:
            os.close(fd)
        if order.terminal is not None:
            os.close(order.terminal[1])
            watchers.keep_terminal(order.terminal[0])
        # The rest is loaded while the job starts, which has not taken much memory yet.
        from memwatch.guard.loop import Guard
        from memwatch.guard.scope.job_scope import JobScope

        scope = scope or JobScope(place)
        return Guard(order, watchers, front, job_pid, started_t, listener, scope, before, usual_niceness).run()
    except Exception as error:
        # The job is not to blame: it goes on, and its caller still gets its exit code, from the front.
        text = f"the guard failed, and the job goes on without it: {type(error).__name__}: {error}"
        front.send({"event": "failed", "text": text, "pid": job_pid})
        return ExitCode.BROKEN


def _job_listener() -> JobListener | None:
    try:
        return JobListener()
    except OSError:
        return None  # The job can report no progress; all else goes on.


def _start(order: GuardOrder, listener: JobListener | None, open_files: tuple[int, int]) -> JobStart:
    config = order.config
    return JobStart(
        command=order.command,
        channel_address=None if listener is None else listener.address,
        takes_terminal=config.takes_terminal,
        output_fd=None if order.terminal is None else order.terminal[1],
        lowers_priority=config.lowers_priority,
        closed_streams=config.closed_streams,
        ignored_signals=config.ignored_signals,
        blocked_signals=config.blocked_signals,
        open_files=open_files,
    )


def _refuse(view: socket.socket, watchers: Watchers | None, text: str, code: int) -> int:
    """No job was started. Watchers that nobody reaps would stay as zombies where init does not reap either."""
    Channel(view).send({"event": "refused", "text": text, "code": code})
    if watchers is not None:
        watchers.dismiss()
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
