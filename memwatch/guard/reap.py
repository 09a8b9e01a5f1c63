"""What became of children: the job itself, its orphans, our own helpers."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from memwatch.model.units import KIB

MAXRSS_UNIT_BYTES = 1 if sys.platform == "darwin" else KIB


@dataclass(frozen=True, slots=True)
class JobExit:
    """How the job ended: by itself with a code, or by a signal."""

    code: int | None
    signal: int | None
    peak_bytes: int = 0  # of its largest process; samples may have missed it

    @property
    def exit_code(self) -> int:
        return self.code if self.code is not None else 128 + (self.signal or 0)


@dataclass(frozen=True, slots=True)
class ChildChanges:
    ended: JobExit | None = None
    stopped_by: int | None = None  # the signal that stopped the job, ours or another's
    was_continued: bool = False  # the job, by SIGCONT, ours or another's
    stopped: frozenset[int] = frozenset()  # children that a signal has stopped
    gone: frozenset[int] = frozenset()  # whose pids may be given to others from now on


def reap(job_pid: int, take_status: Callable[[int, int], bool] | None = None) -> ChildChanges:
    """Take in every child that has changed; most are orphans of the job, of no further interest.

    The threads that the guard holds by ptrace come along, whoever their parent is: `take_status` gets every status, and
    says whether it was one of these stopping. One that dies is reaped here, or its parent would never learn of it.
    """
    ended: JobExit | None = None
    stopped_by: int | None = None
    was_continued = False
    stopped: set[int] = set()
    gone: set[int] = set()
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        except ChildProcessError:
            break
        if pid == 0:
            break
        if os.WIFCONTINUED(status):
            if pid == job_pid:
                stopped_by, was_continued = None, True
            continue
        if take_status is not None and take_status(pid, status):
            continue
        if os.WIFSTOPPED(status):
            stopped.add(pid)
        else:
            gone.add(pid)
        if pid != job_pid:
            continue
        if os.WIFSTOPPED(status):
            stopped_by, was_continued = os.WSTOPSIG(status), False
        elif os.WIFSIGNALED(status):
            ended = JobExit(None, os.WTERMSIG(status), used.ru_maxrss * MAXRSS_UNIT_BYTES)
        elif os.WIFEXITED(status):
            ended = JobExit(os.WEXITSTATUS(status), None, used.ru_maxrss * MAXRSS_UNIT_BYTES)
    return ChildChanges(ended, stopped_by, was_continued, frozenset(stopped), frozenset(gone))
