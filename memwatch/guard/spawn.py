"""Starts the job: in a process group of its own, first in line for the kernel's killer, a little behind the desktop.

All else is as if the job had been started without memwatch; docs/DIFFERENCES.md lists the exceptions.
"""

import errno
import fcntl
import os
import resource
import signal
import termios
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from memwatch import channel as job_channel
from memwatch.errors import ExitCode
from memwatch.guard import inherited, ptrace, system
from memwatch.guard.inherited import UNKNOWABLE
from memwatch.on_linux import IS_LINUX

OOM_SCORE = 1000
NICENESS = 5
IO_PRIORITY = 6

BY_TERMINAL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)  # which stop their receiver
# By the guard; the job must not inherit that.
HANDLED = (signal.SIGCHLD, signal.SIGTERM)
IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, *BY_TERMINAL)


class CannotStart(Exception):
    """The command cannot be executed. `exit_code` is what env and timeout would return."""

    def __init__(self, command: str, number: int) -> None:
        super().__init__(f"cannot run {command or 'an empty name'}: {os.strerror(number)}")
        self.exit_code = ExitCode.NOT_FOUND if number == errno.ENOENT else ExitCode.CANNOT_EXECUTE


class JobStart(NamedTuple):
    """How to start the job: its command, and what it is to inherit of the way memwatch was started."""

    command: tuple[str, ...]
    channel_address: str | None
    takes_terminal: bool
    output_fd: int | None  # the job's end of a terminal of its own
    lowers_priority: bool
    closed_streams: tuple[int, ...]
    ignored_signals: tuple[int, ...]
    blocked_signals: tuple[int, ...]
    open_files: tuple[int, int]  # soft and hard limit; the guard has raised its own


def spawn(start: JobStart, before_it_runs: Callable[[int], None] | None = None) -> int:
    """Start the job and return its pid, with which `before_it_runs` was called. Raises CannotStart."""
    if not start.command[0]:
        raise CannotStart(start.command[0], errno.ENOENT)  # As the kernel would return; Python does not call it.
    parent = os.getpid()
    has_own_session = start.output_fd is not None or _needs_own_session()
    reader, writer = os.pipe()
    gate, opener = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(opener)
        _become_the_job(start, has_own_session, parent, writer, gate)
    os.close(writer)
    os.close(gate)
    if not has_own_session:
        with suppress(OSError):
            os.setpgid(pid, pid)  # Both sides do it, so that neither has to wait for the other.
    try:
        if before_it_runs is not None:
            before_it_runs(pid)
        if not ptrace.works_on_child(pid):
            os.write(opener, b"s")
    finally:
        os.close(opener)
    failure = os.read(reader, 16)
    os.close(reader)
    if failure:
        os.waitpid(pid, 0)
        raise CannotStart(start.command[0], int(failure))
    return pid


def containment(lowers_priority: bool) -> dict[str, object]:
    """What is in force for the job, for the journal and the view."""
    if not IS_LINUX:
        return {"process_group": True, **({"nice": NICENESS} if lowers_priority else {})}
    priority = {"nice": NICENESS, "io_priority": IO_PRIORITY} if lowers_priority else {}
    return {"process_group": True, "oom_score_adj": OOM_SCORE, **priority}


def _needs_own_session() -> bool:
    """Where the job becomes init's child when the guard dies, and there is no terminal that ties it to this session.

    A stopped process group that loses its last parent in its session gets SIGHUP from the kernel, and most programs end
    by it. One in a session of its own has none to lose.
    """
    if IS_LINUX:
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return True
    return False


def _become_the_job(start: JobStart, has_own_session: bool, parent: int, writer: int, gate: int) -> None:
    """In the forked child: never returns."""
    try:
        if has_own_session:
            os.setsid()
        else:
            os.setpgid(0, 0)
        if start.output_fd is not None:
            _take_own_terminal(start.output_fd)
        _take_signals(start)
        for number in BY_TERMINAL:  # Until it runs: here nobody would continue it.
            signal.signal(number, signal.SIG_IGN)
        if start.takes_terminal:
            _take_terminal()
        # Until it is closed. What comes before says that this job can be paused only by SIGSTOP: then it must not stay
        # stopped when the guard is gone. Where ptrace works, SIGCONT would only continue what others have stopped.
        if os.read(gate, 1):
            system.signal_me_when_my_parent_dies(signal.SIGCONT)
            os.read(gate, 1)
        if os.getppid() != parent:
            os._exit(ExitCode.BROKEN)
        system.set_oom_score(OOM_SCORE)
        if start.lowers_priority:
            with suppress(OSError):
                os.nice(NICENESS)
            system.set_io_priority(system.io_priority(IO_PRIORITY))
        resource.setrlimit(resource.RLIMIT_NOFILE, start.open_files)
        environment = inherited.environment()
        if start.channel_address is not None:
            environment[job_channel.VARIABLE] = start.channel_address
        for fd in start.closed_streams if start.output_fd is None else ():
            os.close(fd)
        _take_signals(start)
        os.execvpe(start.command[0], start.command, environment)
    except OSError as error:
        os.write(writer, str(error.errno).encode())
    finally:
        os._exit(ExitCode.BROKEN)


def _take_signals(start: JobStart) -> None:
    """As memwatch was started with them; what Python and the guard handle or ignore for themselves is reset."""
    for number in (*HANDLED, *IGNORED, *UNKNOWABLE):
        signal.signal(number, signal.SIG_IGN if number in start.ignored_signals else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, start.blocked_signals)


def _take_terminal() -> None:
    """Make this process's group the foreground group of the controlling terminal."""
    with suppress(OSError):
        fd = os.open("/dev/tty", os.O_RDWR)
        os.tcsetpgrp(fd, os.getpid())
        os.close(fd)


def _take_own_terminal(fd: int) -> None:
    """Nobody types there: the job reads an empty input, and writes where the guard can read."""
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(fd, 1)
    os.dup2(fd, 2)


def restore_rank(pids: Iterable[int], lowers_priority: bool, niceness: int) -> None:
    """Resets oom_score_adj, nice and I/O priority of processes that the job leaves behind, such as a daemon.

    Called by the guard at the job's end. `niceness` is what memwatch was started with; the guard itself still has the
    rest of it. Only what still has exactly the value that the guard set is changed. Lowering a nice value needs root or
    RLIMIT_NICE; where it is refused, it stays.
    """
    for pid in pids:
        usual_score = system.oom_score()
        if usual_score is not None and system.oom_score(pid) == OOM_SCORE:
            system.set_oom_score(usual_score, pid)
        for thread_id in _threads(pid) if lowers_priority else ():
            _restore_priority(thread_id, niceness)


def _restore_priority(thread_id: int, niceness: int) -> None:
    with suppress(OSError):  # Gone, or not permitted.
        if os.getpriority(os.PRIO_PROCESS, thread_id) == niceness + NICENESS:
            os.setpriority(os.PRIO_PROCESS, thread_id, niceness)
    usual = system.get_io_priority(0)
    if usual is not None and system.get_io_priority(thread_id) == system.io_priority(IO_PRIORITY):
        system.set_io_priority(usual, thread_id)


def _threads(pid: int) -> list[int]:
    if not IS_LINUX:
        return [pid]
    with suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    return []
