"""The only sender of signals to the job. Every process is signalled by what it is, not by its number (send_signal.py).

A pause holds the job by ptrace (hold.py), which ends with the guard whatever it dies of. Where the system does not
allow that for a process (it is undumpable, a debugger has it, a container forbids ptrace), that process gets SIGSTOP;
watchers and front are informed before, and send SIGCONT if the guard dies.
"""

import errno
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from memwatch.guard.hold import ThreadHolder
from memwatch.guard.send_signal import send_signal
from memwatch.guard.watchers import Watchers
from memwatch.model.sample import Process
from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import number_after, read_file
from memwatch.probe.stat import read_stat

# A tree that forks while it is being stopped is looked at again until nothing new is found.
MOST_LOOKS = 50
# For a process that starts a program just now, before it is looked at again.
_EXEC_WAIT_S = 0.001

Tree = Callable[[], tuple[Process, ...]]
WillStop = Callable[[list[Process]], None]


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Whom an action has reached, and what became of it, in words for the journal."""

    pids: list[int]
    result: str


class Actor:
    """`tree` looks at the job's processes now, parents before children.

    `will_stop` informs the front of processes that SIGSTOP is sent to; none: they were continued.
    """

    def __init__(self, job_pid: int, tree: Tree, watchers: Watchers, holder: ThreadHolder, will_stop: WillStop) -> None:
        self.job_pid = job_pid
        self._tree = tree
        self._watchers = watchers
        self._holder = holder
        self._will_stop = will_stop
        self._stopped: list[Process] = []  # by SIGSTOP
        self._seen_stopped: set[int] = set()
        self.is_paused = False

    def pause(self, deadline_s: float | None = None) -> ActionResult:
        """Hold the whole tree, with the children born meanwhile. The job counts as paused if anything was."""
        # First: a watcher that knows of no pause would not look whether the guard still beats.
        self._watchers.paused(deadline_s)
        paused: list[int] = []
        refused: list[int] = []
        seen: set[tuple[int, int]] = set()
        for look in range(MOST_LOOKS):
            new = [process for process in self._alive() if (process.pid, process.start_ticks) not in seen]
            if not new:
                break
            to_stop = []
            for process in new:
                error = self._hold(process, paused)
                if error == errno.EAGAIN and look < MOST_LOOKS - 1:
                    time.sleep(_EXEC_WAIT_S)
                    continue
                seen.add((process.pid, process.start_ticks))
                if error == 0:
                    paused.append(process.pid)
                elif error != errno.ESRCH:
                    to_stop.append(process)
            refused += self._stop_by_signal(to_stop, paused)
        self.is_paused = bool(paused)
        if not self.is_paused:
            self._watchers.all_continued()
        return ActionResult(paused, _result(paused, refused, "paused"))

    def resume(self) -> ActionResult:
        """Let everything run on that the pause has stopped, and nothing else: what the job had stopped stays so."""
        held = self._holder.held_pids()
        self._holder.release()
        pids = [*held, *self._send(self._stopped, signal.SIGCONT)[0]]
        self._forget_pause()
        return ActionResult(pids, _result(pids, [], "resumed"))

    def stop(self) -> ActionResult:
        """Send SIGTERM to the whole tree; a paused one must run on to receive it."""
        reached, refused = self._send(self._alive(), signal.SIGTERM)
        if self.is_paused:
            self.resume()
        return ActionResult(reached, _result(reached, refused, "sent SIGTERM"))

    def kill(self) -> ActionResult:
        """Send SIGKILL to every process of the job."""
        killed, refused = self._send(self._alive(), signal.SIGKILL)
        if self.is_paused:
            self.resume()  # For those that could not be killed.
        return ActionResult(killed, _result(killed, refused, "killed"))

    def kill_one(self, process: Process) -> ActionResult:
        """Send SIGKILL to a single process."""
        killed, refused = self._send([process], signal.SIGKILL)
        return ActionResult(killed, _result(killed, refused, "killed"))

    def forward(self, number: int, to_group: bool) -> None:
        """A signal meant for the job, from a terminal or the front; to its first process, or to its process group.

        Only before the job is reaped: until then its pid, which names its group too, is its own.
        """
        with suppress(OSError):
            (os.killpg if to_group else os.kill)(self.job_pid, number)

    def not_yet_stopped(self) -> set[int]:
        """Of the paused processes, those that still run: in the kernel, where a stop does not reach them at once."""
        running = {p.pid for p in self._stopped if _state(p.pid) not in (*"TtZX", None)}
        return self._holder.not_yet_stopped() | running

    def was_continued(self) -> bool:
        """Whether somebody else has sent SIGCONT to a process that a SIGSTOP of ours had stopped."""
        states = {process.pid: _state(process.pid) for process in self._stopped}
        runs_again = any(states[pid] not in (*"TtZX", None) for pid in self._seen_stopped)
        self._seen_stopped |= {pid for pid, state in states.items() if state == "T"}
        return runs_again

    def _hold(self, process: Process, paused: list[int]) -> int:
        tracer = _tracer(process.pid) if IS_LINUX and process.state == "t" else None
        if tracer is not None and tracer in paused:
            # A nested memwatch or a debugger that is held itself. When it has stopped, what it holds cannot run; before
            # that it may still let it run.
            if _state(tracer) not in ("t", "T"):
                return errno.EAGAIN
            if _state(process.pid) == "t":
                return 0
        return self._holder.hold(process)

    def _stop_by_signal(self, processes: list[Process], paused: list[int]) -> list[int]:
        """Adds the pids that were stopped to `paused`, and returns those that could not be."""
        # What is stopped already was stopped by the job, or by its user, who will want to find it so.
        paused += [process.pid for process in processes if process.state == "T"]
        to_stop = [process for process in processes if process.state != "T"]
        if not to_stop:
            return []
        # Before: if we die between the two, the watcher continues what was never stopped, which does no harm.
        self._watchers.will_stop(to_stop)
        self._will_stop(to_stop)
        stopped, refused = self._send(to_stop, signal.SIGSTOP)
        paused += stopped
        self._stopped += [process for process in to_stop if process.pid in stopped]
        return refused

    def _forget_pause(self) -> None:
        self.is_paused = False
        self._watchers.all_continued()
        if self._stopped:
            self._will_stop([])
        self._stopped.clear()
        self._seen_stopped.clear()

    def _alive(self) -> list[Process]:
        return [process for process in self._tree() if process.state not in "ZX" or _has_threads(process.pid)]

    def _send(self, processes: Iterable[Process], number: int) -> tuple[list[int], list[int]]:
        """The pids that got it, and those that must not be signalled by us."""
        errors = {p.pid: send_signal(p.pid, p.start_ticks, number) for p in processes}
        sent = [pid for pid, error in errors.items() if error == 0]
        return sent, [pid for pid, error in errors.items() if error == errno.EPERM]


def _result(reached: list[int], refused: list[int], done: str) -> str:
    if not refused:
        return "done" if reached else "no process was left"
    total = len(reached) + len(refused)
    belong = "belongs" if len(refused) == 1 else "belong"
    were = "was" if len(refused) == 1 else "were"
    return f"{len(refused)} of {total} processes {belong} to another user and {were} not {done}"


def _state(pid: int) -> str | None:
    """None if it is gone."""
    stat = read_stat(pid)
    return None if stat is None else stat.state


def _has_threads(pid: int) -> bool:
    """Whether threads of it live on though its first one has ended, so that it looks like a zombie."""
    if not IS_LINUX:
        return False
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def _tracer(pid: int) -> int | None:
    return number_after(read_file(f"/proc/{pid}/status") or b"", b"TracerPid:")
