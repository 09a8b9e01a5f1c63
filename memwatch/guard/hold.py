"""Holds the threads of processes by ptrace, so that a pause lives exactly as long as the guard.

When a tracer dies by any cause, the kernel lets go of all it holds: nothing has to be sent, so no order in which
memwatch's processes are killed leaves anything stopped. A process that was stopped before (by the job itself, by
Ctrl-Z) is stopped again when it is let go of; signals that arrive meanwhile wait, and are delivered then. The parents
of held processes do not see a stop, as they do with SIGSTOP.

`cgroup.freeze` is not used: when all of memwatch is killed, nobody is left to unfreeze the job.

The calls here never wait for a thread. One in uninterruptible sleep stops when it leaves the kernel; its wait status
says so (`take_status`), and only then can it be let go of.
"""

import errno
import os
from collections.abc import Iterable

from memwatch.guard import ptrace
from memwatch.model.sample import Process
from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import read_file
from memwatch.probe.stat import parse_stat

# A process that starts threads while it is being held is looked at again until no new one is found.
MOST_LOOKS = 50
# A thread in execve holds a lock that ptrace would wait for; on a slow disk for long, and for ever if it waits itself
# for the end of threads that we hold.
_EXEC = {"x86_64": (b"59", b"322"), "aarch64": (b"221", b"281")}.get(os.uname().machine, ())


class _Thread:
    __slots__ = ("is_stopped", "is_wanted", "pid", "signal")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.is_stopped = False
        self.is_wanted = True  # False: let go of it as soon as it stops
        self.signal = 0  # what it was about to receive when it stopped


class ThreadHolder:
    """`take_status` must get every wait status, because those of held threads come among those of children."""

    def __init__(self) -> None:
        self._threads: dict[int, _Thread] = {}

    def hold(self, process: Process) -> int:
        """Hold every thread of it. Returns 0, or why it cannot be: ESRCH gone, EPERM forbidden, EAGAIN try again."""
        if not IS_LINUX:
            return errno.EPERM
        ended: set[int] = set()
        for _ in range(MOST_LOOKS):
            tids = _tids(process.pid)
            new = [tid for tid in tids if tid not in ended and not self._is_wanted(tid)]
            if not new:
                return 0 if any(self._is_wanted(tid) for tid in tids) else errno.ESRCH
            for tid in new:
                error = self._hold_thread(process, tid)
                if error == errno.ESRCH:
                    ended.add(tid)
                elif error:
                    self.release([process.pid])
                    return error
        return 0

    def _is_wanted(self, tid: int) -> bool:
        thread = self._threads.get(tid)
        return thread is not None and thread.is_wanted

    def _hold_thread(self, process: Process, tid: int) -> int:
        known = self._threads.get(tid)
        if known is not None:
            known.is_wanted = True  # It is still on its way to an earlier stop.
            return 0
        folder = f"/proc/{process.pid}/task/{tid}"
        if (read_file(f"{folder}/syscall") or b"").partition(b" ")[0] in _EXEC:
            return errno.EAGAIN
        error = ptrace.seize(tid)
        if error:
            return errno.ESRCH if _has_ended(folder) else error
        # From here on the number cannot go to another. Is it the process that is meant?
        self._threads[tid] = _Thread(process.pid)
        ptrace.interrupt(tid)
        text = read_file(f"/proc/{process.pid}/stat")
        if not text or parse_stat(text).start_ticks != process.start_ticks or not os.path.exists(folder):
            self._threads[tid].is_wanted = False
            return errno.ESRCH
        return 0

    def take_status(self, tid: int, status: int) -> bool:
        """Whether the status is that of a thread held here, and of no concern to anybody else: it has stopped."""
        thread = self._threads.get(tid)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self._threads.pop(tid, None)
        if not os.WIFSTOPPED(status):
            return False
        if thread is None:
            # Seized under another number, before it started another program.
            if status >> 16 == ptrace.EVENT_STOP:
                ptrace.detach(tid)
            return status >> 16 == ptrace.EVENT_STOP
        thread.is_stopped = True
        thread.signal = 0 if status >> 16 == ptrace.EVENT_STOP else os.WSTOPSIG(status)
        if not thread.is_wanted:
            self._let_go(tid, thread)
        return True

    def release(self, pids: Iterable[int] | None = None) -> None:
        """Let all threads of these processes run on, or of all. What has not stopped yet follows when it does."""
        wanted = None if pids is None else set(pids)
        for tid, thread in list(self._threads.items()):
            if wanted is None or thread.pid in wanted:
                thread.is_wanted = False
                self._let_go(tid, thread)

    def held_pids(self) -> list[int]:
        """In the order in which they were held: parents before children."""
        return list(dict.fromkeys(thread.pid for thread in self._threads.values() if thread.is_wanted))

    def not_yet_stopped(self) -> set[int]:
        """Processes of which a thread still runs: it is in the kernel, and may go on to allocate there."""
        return {thread.pid for thread in self._threads.values() if thread.is_wanted and not thread.is_stopped}

    def _let_go(self, tid: int, thread: _Thread) -> None:
        # It fails if the thread has not stopped yet: its status is still to come, or it is gone.
        if ptrace.detach(tid, thread.signal) == 0 or not os.path.exists(f"/proc/{thread.pid}/task/{tid}"):
            del self._threads[tid]
        else:
            thread.is_stopped = False


def _tids(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _has_ended(folder: str) -> bool:
    text = read_file(f"{folder}/stat")
    return not text or parse_stat(text).state in "ZX"
