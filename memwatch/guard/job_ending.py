"""The end of a job: who has ended it, what of it still lives, and the exit code that memwatch returns for it."""

import signal
import time
from collections.abc import Callable, Iterable

from memwatch.decide.actions import Action, By, Step
from memwatch.decide.pause_check import Runaway
from memwatch.errors import ExitCode
from memwatch.guard.act import ActionResult, Actor
from memwatch.guard.event_stream import EventStream
from memwatch.guard.reap import JobExit
from memwatch.model.sample import Process, Sample

KILLED = 128 + signal.SIGKILL
# What SIGKILL does not end in this time hangs in the kernel; nobody is to wait for that.
UNKILLABLE_S = 60.0
# A process of many GiB takes a while to exit, and samples are at most a second apart.
LATELY_S = 10.0


class KernelKills:
    """Whether an OOM kill by the kernel has just happened, from the kernel's count of OOM kills.

    The count does not say whom: the whole machine has one. A job that ends by SIGKILL in the same moment is the likely
    one, the more so as the guard has put it first in line.
    """

    def __init__(self, count_before: int | None = None) -> None:
        self._count = count_before  # before the job started: it may be killed before the first sample
        self._rose_s = float("-inf")

    def look(self, sample: Sample) -> None:
        """Called with every sample: note whether the count has risen."""
        count = None if sample.paging is None else sample.paging.oom_kills
        if count is not None and self._count is not None and count > self._count:
            self._rose_s = sample.clock_s
        self._count = count

    def happened_by(self, clock_s: float) -> bool:
        """Whether the count has risen within the last seconds."""
        return clock_s - self._rose_s <= LATELY_S


class JobEnding:
    """`job_exit` is None until the job's first process has ended. `processes` reads all of the job's now."""

    def __init__(self, actor: Actor, events: EventStream, processes: Callable[[], Iterable[Process]]) -> None:
        self.job_exit: JobExit | None = None
        self.has_lost_front = False
        self._actor = actor
        self._events = events
        self._processes = processes
        self._stopped_by: By | None = None
        self._killed: set[int] = set()
        self._killed_s: float | None = None
        self._killed_one = False  # a single process, because its pause did not hold

    def is_over(self) -> bool:
        """After a stop, what the job has left behind belongs to it: the guard stays until all of it has ended."""
        if self.job_exit is None:
            return False
        if self._stopped_by is None:
            return True  # It ended by itself; daemons that it has started live on.
        if self._killed_s is not None and time.monotonic() - self._killed_s > UNKILLABLE_S:
            return True
        return not self.alive()

    def alive(self) -> list[Process]:
        """The job's processes that have not ended."""
        return [process for process in self._processes() if process.state not in "ZX"]

    def note_action(self, step: Step, by: By, result: ActionResult) -> None:
        """After every action of guard or user: the first who stops or kills the job has ended it."""
        if step == Step.KILL:
            self._killed |= set(result.pids)
            self._killed_s = time.monotonic()
        if step in (Step.STOP, Step.KILL) and self._stopped_by is None:
            self._stopped_by = by

    def kill_runaway(self, culprit: Runaway) -> None:
        """Kill, once, a process that goes on to grow although it is paused."""
        if culprit.process.pid in self._killed:
            return
        self._killed.add(culprit.process.pid)
        self._killed_one = True
        result = self._actor.kill_one(culprit.process)
        self._events.action(Action(Step.KILL, culprit.reason), By.GUARD, result, None)

    def kill_newborn(self) -> None:
        """Called at every sample: after a kill, also kill what was started while the rest was being killed."""
        if self._killed_s is None:
            return
        new = [process for process in self.alive() if process.pid not in self._killed]
        if new:
            result = self._actor.kill()
            self._killed |= set(result.pids) | {process.pid for process in new}
            self._events.action(Action(Step.KILL, "started while the job was being killed"), By.GUARD, result, None)

    def kill_with_front(self) -> None:
        """Somebody has killed `memwatch run`, and means the job: subprocess.run(timeout=) does so."""
        self.has_lost_front = True
        if self.job_exit is None:
            self._actor.forward(signal.SIGKILL, to_group=True)
        result = ActionResult([self._actor.job_pid], "done")
        self._events.action(Action(Step.KILL, "memwatch run was killed"), By.USER, result, None)

    def outcome(self, job_exit: JobExit) -> tuple[int, By | None]:
        """memwatch's exit code, and who has ended the job; None: it ended by itself, or by a signal from elsewhere."""
        stopped_by = self._stopped_by
        if self._killed_one and job_exit.exit_code != ExitCode.OK and stopped_by is None:
            stopped_by = By.GUARD  # It did not survive the loss of a process that the guard had to kill.
        code = ExitCode.STOPPED if stopped_by == By.GUARD else job_exit.exit_code
        return code, stopped_by or (By.USER if self.has_lost_front else None)
