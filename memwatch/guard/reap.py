"""What became of children: the job itself, its orphans, our own helpers."""

import os
import resource
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from memwatch.on_linux import MAXRSS_UNIT_BYTES


@dataclass(frozen=True, slots=True)
class JobExit:
    """How the job ended: by itself with a code, or by a signal."""

    code: int | None
    signal: int | None

    @property
    def exit_code(self) -> int:
        return self.code if self.code is not None else 128 + (self.signal or 0)


@dataclass(frozen=True, slots=True)
class ChildChanges:
    """What has happened to the guard's children since the last call of `reap`."""

    ended: JobExit | None = None
    stopped_by: int | None = None  # the signal that stopped the job, ours or another's
    was_continued: bool = False  # the job, by SIGCONT, ours or another's
    stopped: frozenset[int] = frozenset()  # children that a signal has stopped
    gone: frozenset[int] = frozenset()  # whose pids may be given to others from now on
    peaks: Mapping[int, int] = field(default_factory=dict)  # pid -> bytes: of each that has gone, and of its children


def reap(job_pid: int, take_status: Callable[[int, int], bool] | None = None) -> ChildChanges:
    """Take in every child that has changed; most are orphans of the job, of no further interest.

    The threads that the guard holds by ptrace come along, whoever their parent is: `take_status` gets every status, and
    says whether it was one of these stopping. One that dies is reaped here, or its parent would never learn of it.
    """
    ended: JobExit | None = None
    stopped_by: int | None = None
    was_continued = False
    stopped: set[int] = set()
    peaks: dict[int, int] = {}
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
            peaks[pid] = used.ru_maxrss * MAXRSS_UNIT_BYTES
        if pid != job_pid:
            continue
        if os.WIFSTOPPED(status):
            stopped_by, was_continued = os.WSTOPSIG(status), False
        elif os.WIFSIGNALED(status):
            ended = JobExit(None, os.WTERMSIG(status))
        elif os.WIFEXITED(status):
            ended = JobExit(os.WEXITSTATUS(status), None)
    return ChildChanges(ended, stopped_by, was_continued, frozenset(stopped), frozenset(peaks), peaks)


def proven_peak_bytes(peaks: Mapping[int, int], helpers: Collection[int]) -> int | None:
    """The largest peak of a process of the job that has gone; None if there is none that proves anything.

    `helpers` are the guard's own children. A process begins with the peak of whoever started it, which is the guard's:
    what is not above that says nothing of the job.
    """
    own_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT_BYTES
    of_job = [peak_bytes for pid, peak_bytes in peaks.items() if pid not in helpers and peak_bytes > own_bytes]
    return max(of_job, default=None)
