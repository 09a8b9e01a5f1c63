"""The crew: worker processes, and the shared memory in which they take text and leave tokens.

Each worker has a few slots' worth of work waiting, so that reading and writing overlap with encoding. Workers are
forked while the coordinator is small and has one thread; they load the engine themselves, all at the same time.
"""

import mmap
import os
import signal
import traceback
from collections import deque
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

from memwatch.errors import Broken, MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize import messages
from memwatch.tokenize.blocks import MOST_BLOCK_BYTES, Block
from memwatch.tokenize.messages import BlockDone, BlockFailed, Ready, Shrink, Task
from memwatch.tokenize.plan import SLOTS_A_WORKER, Plan
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.settings import Resources, TokenizeSettings
from memwatch.tokenize.vocabulary import Encoding

# A block of one-byte documents has two tokens a byte. Pages that are not touched cost nothing.
MOST_TOKENS_A_BYTE = 2
# A slot that grew beyond this for one large record is emptied again.
KEEP_SLOT_BYTES = 4 * MIB


class _Member:
    """One worker process, as the coordinator sees it."""

    def __init__(self, pid: int, connection: Connection) -> None:
        self.pid = pid
        self.connection = connection
        self.ready = False
        self.tasks = 0

    def end(self) -> None:
        self.connection.close()
        os.waitpid(self.pid, 0)


class Crew:
    def __init__(
        self,
        plan: Plan,
        settings: TokenizeSettings,
        resources: Resources,
        encoding: Encoding,
        ranks: Path,
        not_for_workers: list[int],
    ) -> None:
        self._plan = plan
        self._not_for_workers = not_for_workers
        self._token_bytes = encoding.token_bytes
        slot_bytes = MOST_BLOCK_BYTES * MOST_TOKENS_A_BYTE * encoding.token_bytes
        flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self._slots = [mmap.mmap(-1, slot_bytes, flags=flags) for _ in range(plan.workers * SLOTS_A_WORKER + 1)]
        self._free = deque(range(len(self._slots)))
        self._members: list[_Member] = []
        for i in range(plan.workers):
            # The first one checks the engine against tiktoken; one answer is enough.
            self._hire((settings, encoding, ranks, resources.engine, i == 0, plan.worker_budget_bytes))
        self.engine: str | None = None
        self.notes: list[str] = []

    def _hire(self, arguments: tuple[Any, ...]) -> None:
        ours, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            # With these open in a worker, nobody would notice the end of the coordinator.
            others = [ours.fileno(), *(member.connection.fileno() for member in self._members)]
            _be_a_worker(theirs, others + self._not_for_workers, self._slots, arguments)
        theirs.close()
        self._members.append(_Member(pid, ours))

    @property
    def has_room(self) -> bool:
        return bool(self._free) and self._least_busy() is not None

    @property
    def connections(self) -> list[Connection]:
        return [member.connection for member in self._members]

    def _least_busy(self) -> _Member | None:
        # Nobody works before the first has found the engine to be right.
        if self.engine is None:
            return None
        able = [member for member in self._members if member.ready and member.tasks < SLOTS_A_WORKER]
        return min(able, key=lambda member: member.tasks, default=None)

    def submit(self, number: int, block: Block) -> None:
        member = self._least_busy()
        assert member is not None
        slot = self._free.popleft()
        self._slots[slot][: len(block.data)] = block.data
        member.tasks += 1
        self._send(member, Task(number, slot, len(block.data), block.layout))

    def results(self, ready: Iterable[Any]) -> list[BlockDone | BlockFailed]:
        """What the workers whose connections are ready have to say."""
        results: list[BlockDone | BlockFailed] = []
        for member in self._members:
            if member.connection in ready:
                results += self._read_results(member)
        return results

    def _read_results(self, member: _Member) -> list[BlockDone | BlockFailed]:
        try:
            message = member.connection.recv()
        except (EOFError, ConnectionError):
            self._lost(member)
        match message:
            case Ready(engine, note):
                member.ready = True
                if member is self._members[0]:
                    self.engine = engine
                    self.notes += [note] if note else []
            case messages.WorkerBroken(problem):
                raise MemwatchError(problem)
            case BlockDone() | BlockFailed():
                member.tasks -= 1
                return [message]
        return []

    def _lost(self, member: _Member) -> None:
        _, status = os.waitpid(member.pid, 0)
        self._members.remove(member)
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        cause = "; possibly an OOM kill by the kernel" if code == -signal.SIGKILL else ""
        raise Broken(f"a worker {how}{cause}. Partial output is kept: repeat the same command to resume")

    def tokens(self, done: BlockDone) -> memoryview:
        return memoryview(self._slots[done.slot])[: done.tokens * self._token_bytes]

    def release(self, result: BlockDone | BlockFailed) -> None:
        if isinstance(result, BlockDone) and result.tokens * self._token_bytes > KEEP_SLOT_BYTES:
            _empty(self._slots[result.slot])
        self._free.append(result.slot)

    def shrink(self) -> None:
        """One worker, with nothing remembered. Only when nobody has work."""
        assert all(member.tasks == 0 for member in self._members)
        while len(self._members) > 1:
            self._members.pop().end()
        self._send(self._members[0], Shrink(self._plan.floor_budget_bytes))
        for slot in self._slots:
            _empty(slot)

    def count_tokens(self, blocks: list[Block]) -> list[int]:
        """Encode some blocks only to see how many tokens each has. Only when nobody has work."""
        tokens = [0] * len(blocks)
        waiting = deque(enumerate(blocks))
        under_way = 0
        while waiting or under_way:
            while waiting and self.has_room:
                self.submit(*waiting.popleft())
                under_way += 1
            for result in self.results(wait_for(self.connections)):
                under_way -= 1
                tokens[result.number] = result.tokens if isinstance(result, BlockDone) else 0
                self.release(result)
        return tokens

    def rss_bytes(self) -> int:
        pids = [os.getpid(), *(member.pid for member in self._members)]
        return sum(rss_bytes(pid) or 0 for pid in pids)

    def end(self) -> None:
        while self._members:
            member = self._members.pop()
            os.kill(member.pid, signal.SIGKILL)  # Ours, and not waited for yet: the pid cannot be another's.
            member.end()

    def _send(self, member: _Member, message: Task | Shrink) -> None:
        try:
            member.connection.send(message)
        except (BrokenPipeError, ConnectionError):
            self._lost(member)


def _empty(slot: mmap.mmap) -> None:
    if hasattr(mmap, "MADV_REMOVE"):
        slot.madvise(mmap.MADV_REMOVE)


def wait_for(waitables: Sequence[Any], timeout_s: float | None = None) -> list[Any]:
    return wait(waitables, timeout_s)


def _be_a_worker(
    connection: Connection, to_close: list[int], slots: list[mmap.mmap], arguments: tuple[Any, ...]
) -> None:
    """In the forked child: never returns."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)  # Sent to the whole job; the coordinator decides what they mean.
        signal.set_wakeup_fd(-1)
        for fd in to_close:
            os.close(fd)
        # One thread a worker: there is a worker for every core.
        os.environ.update(OPENBLAS_NUM_THREADS="1", RAYON_NUM_THREADS="1")
        from memwatch.tokenize import worker

        worker.main(connection, slots, *arguments)
        os._exit(0)
    except BaseException:  # Whatever it is: in this fork nothing of the coordinator's may run on.
        if os.environ.get("MEMWATCH_DEBUG"):
            traceback.print_exc()
        os._exit(1)
