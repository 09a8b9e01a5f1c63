"""The processes of a run beside the coordinator: workers, the feeder, and the hasher.

They are forked while the coordinator has one thread. What workers import is imported once, before they are forked, and
shared; each loads its own tables of the engine, all at the same time. Each worker has its next blocks waiting, so that
it never waits for the coordinator.
"""

import gc
import mmap
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn

from memwatch.errors import Broken, MemwatchError
from memwatch.model.wording import how_it_ended
from memwatch.on_linux import IS_LINUX
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import MOST_BLOCK_BYTES
from memwatch.tokenize.messages import Message, Ready, SampledTokens, SampleTask, Shrink, WorkerBroken, receive, send
from memwatch.tokenize.plan import Plan
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.settings import Resources, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

# Beside the text, a slot has room for the ends of rows: a block of empty rows is nothing but ends. Pages that are not
# touched cost nothing.
SLOT_BYTES = 2 * MOST_BLOCK_BYTES
SLOTS_A_WORKER = 2


def import_for_workers() -> None:
    """To import this takes half of a worker's start. No thread may start here: a fork has none of them. One thread a
    process: there is a worker for every core."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", RAYON_NUM_THREADS="1")
    from memwatch.tokenize import worker  # noqa: F401

    with suppress(Exception):  # Without it, or with a broken one, engines.py decides what is used instead.
        import gigatoken  # noqa: F401
    gc.freeze()  # Workers need not look at all that again, and its pages stay shared.


def process_name(role: str) -> str:
    """What top and ps show for a process of a run."""
    return f"memwatch-{role}"


class CrewMember:
    """One process, as the coordinator sees it."""

    def __init__(self, role: str, pid: int, connection: Connection) -> None:
        self.role = role
        self.pid = pid
        self.connection = connection
        self.is_ready = False
        self.is_leaving = False
        self.tasks = 0

    def send(self, message: Message) -> None:
        try:
            send(self.connection, message)
        except (BrokenPipeError, ConnectionError):
            self.lost()

    def receive(self) -> Message:
        try:
            return receive(self.connection)
        except (EOFError, ConnectionError):
            self.lost()

    def lost(self) -> NoReturn:
        """Raise Broken with how the process ended."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = -1
        code = os.waitstatus_to_exitcode(status)
        cause = "; possibly an OOM kill by the kernel" if code == -signal.SIGKILL else ""
        raise Broken(
            f"a {self.role} {how_it_ended(code)}{cause}. Partial output is kept: repeat the same command to resume"
        )

    def end(self) -> None:
        """Kill it and wait for its end; does nothing if it has ended."""
        self.connection.close()
        if self.pid > 0:
            os.kill(self.pid, signal.SIGKILL)  # Ours, and not waited for yet: the pid cannot be another's.
            os.waitpid(self.pid, 0)
            self.pid = -1


class Crew:
    """Starts the hasher and all workers at once, and the feeder when it is needed. `not_for_others` are descriptors
    that the new processes close."""

    def __init__(
        self,
        plan: Plan,
        opener: BlockOpener,
        settings: TokenizeSettings,
        resources: Resources,
        encoding: Encoding,
        ranks: Path,
        not_for_others: list[int],
    ) -> None:
        self._plan = plan
        self._opener = opener
        self._not_for_others = not_for_others
        self._arguments = (settings, encoding, ranks, resources.engine)
        self._block_bytes = resources.block_bytes
        self.workers: list[CrewMember] = []
        self.feeder: CrewMember | None = None
        self.engine: str | None = None
        self.note: str | None = None
        flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self._slots = [mmap.mmap(-1, SLOT_BYTES, flags=flags) for _ in range(plan.workers * SLOTS_A_WORKER + 1)]
        self.hasher = self._forked("hasher", self._be_hasher)
        import_for_workers()
        # The first one checks the engine against tiktoken; one answer is enough.
        for i in range(plan.workers):
            self.hire(check_engine=i == 0)

    @property
    def slots(self) -> int:
        return len(self._slots)

    @property
    def members(self) -> list[CrewMember]:
        return [self.hasher, *([] if self.feeder is None else [self.feeder]), *self.workers]

    @property
    def is_full(self) -> bool:
        return len(self.workers) >= self._plan.workers

    def hire(self, check_engine: bool = False) -> CrewMember:
        """Start another worker."""

        def be_worker(connection: Connection) -> None:
            from memwatch.tokenize import worker

            budget = self._plan.worker_budget_bytes
            worker.main(
                connection, self._slots, self._opener, *self._arguments, check_engine, budget, self._block_bytes
            )  # fmt: skip

        member = self._forked("worker", be_worker)
        self.workers.append(member)
        return member

    def expected_marks(self) -> tuple[tuple[int, float], ...] | None:
        """What the first worker finds when it samples the inputs (sizing.py). Before anybody has work."""
        first = self.workers[0]
        while True:
            match first.receive():
                case Ready(engine, note):
                    first.is_ready, self.engine, self.note = True, engine, note
                    first.send(SampleTask())
                case SampledTokens(marks):
                    return None if marks is None else tuple((at, tokens) for at, tokens in marks)
                case WorkerBroken(problem):
                    raise MemwatchError(problem)

    def start_feeder(self) -> CrewMember:
        """The feeder, started if there is none yet."""
        if self.feeder is None:
            self.feeder = self._forked("feeder", self._be_feeder)
        return self.feeder

    def _be_feeder(self, connection: Connection) -> None:
        from memwatch.tokenize.feeder import Feeder

        Feeder(connection, self._slots, self._opener).work()

    def _be_hasher(self, connection: Connection) -> None:
        from memwatch.tokenize.hasher import Hasher

        Hasher(connection).work()

    def least_busy(self) -> CrewMember | None:
        """The worker that gets the next task; None if all have enough."""
        # Nobody works before the first has found the engine to be right.
        if self.engine is None:
            return None
        most = self._plan.tasks_a_worker
        able = [each for each in self.workers if each.is_ready and not each.is_leaving and each.tasks < most]
        return min(able, key=lambda member: member.tasks, default=None)

    def shrink(self) -> None:
        """One worker, with nothing remembered; the others leave when they have no work left."""
        for member in self.workers[1:]:
            member.is_leaving = True
        self.workers[0].send(Shrink(self._plan.floor_budget_bytes))

    def grow(self) -> None:
        """Take back what `shrink` gave away. Whoever has not left yet stays."""
        for member in self.workers:
            member.is_leaving = False
        self.workers[0].send(Shrink(self._plan.worker_budget_bytes))

    def empty_slot(self, slot: int) -> None:
        """Give the memory of a slot back to the system."""
        if hasattr(mmap, "MADV_REMOVE"):
            self._slots[slot].madvise(mmap.MADV_REMOVE)

    def rss_bytes(self) -> int:
        """The resident memory of the run's processes together."""
        pids = [os.getpid(), *(member.pid for member in self.members)]
        return sum(rss_bytes(pid) or 0 for pid in pids if pid > 0)

    def end(self) -> None:
        """End all processes of the run."""
        for member in self.members:
            member.end()
        self.workers, self.feeder = [], None

    def _forked(self, role: str, work: Callable[[Connection], None]) -> CrewMember:
        ours, theirs = Pipe()
        others = [ours, *(member.connection for member in getattr(self, "workers", []))]
        others += [] if self.feeder is None else [self.feeder.connection]
        others += [self.hasher.connection] if hasattr(self, "hasher") else []
        pid = os.fork()
        if pid == 0:
            # With these open in another process, nobody would notice the end of the coordinator.
            _be(role, work, theirs, [each.fileno() for each in others] + self._not_for_others)
        theirs.close()
        return CrewMember(role, pid, ours)


def _be(role: str, work: Callable[[Connection], Any], connection: Connection, to_close: list[int]) -> NoReturn:
    """In the forked child: never returns."""
    try:
        if IS_LINUX:
            with suppress(OSError), open("/proc/self/comm", "w") as name:
                name.write(process_name(role))  # So that top and ps tell them apart.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)  # Sent to the whole job; the coordinator decides what they mean.
        signal.set_wakeup_fd(-1)
        for fd in to_close:
            os.close(fd)
        work(connection)
        os._exit(0)
    except (EOFError, ConnectionError):
        os._exit(0)  # The coordinator has gone.
    except BaseException:  # Whatever it is: in this fork nothing of the coordinator's may run on.
        if os.environ.get("MEMWATCH_DEBUG"):
            traceback.print_exc()
        os._exit(1)
