"""One rank: hands segments to its worker processes until every segment of the run is done, by whomever."""

import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

from memwatch.cluster.nodes import BEAT_S, BEATS_UNTIL_LOST, NodeStatus, NodeWatch, announce
from memwatch.cluster.ranks import Rank, next_segment
from memwatch.cluster.run_folder import RunFolder
from memwatch.cluster.worker_process import (
    FromWorker,
    SegmentDone,
    SegmentFailed,
    WorkerFailed,
    WorkerProcess,
    WorkerReady,
)
from memwatch.errors import MemwatchError
from memwatch.storage.retrying import StorageUnavailable

ATTEMPTS = 3
LISTING_INTERVAL_S = 30.0
SHORTEST_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class RunTiming:
    """`beat_s` is how often a process shows that it lives, and how often it looks for what others have finished."""

    beat_s: float = BEAT_S

    @property
    def lost_after_s(self) -> float:
        return self.beat_s * BEATS_UNTIL_LOST


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The whole run as this rank knows it."""

    segments: int
    done: Collection[int]
    failed: dict[int, str]
    tokens_here: int
    running: int
    retried: int


class RankRun:
    def __init__(
        self,
        folder: RunFolder,
        rank: Rank,
        status: NodeStatus,
        segment_bytes: list[int],
        start_worker: Callable[[], WorkerProcess],
        wait_for_user: Callable[["RankRun"], list[Any]],
        timing: RunTiming,
        keep_problem: Callable[[int, str], None],
        show_guard: Callable[[NodeStatus], NodeStatus],
    ) -> None:
        """`wait_for_user` returns what else to wait for, and is called in each round: it reports progress, and raises
        to stop the run. `show_guard` adds what the guard finds to a status.
        `keep_problem` records why an attempt at a segment failed."""
        self._folder = folder
        self._rank = rank
        self._status = status
        self._segment_bytes = segment_bytes
        self._start_worker = start_worker
        self._wait_for_user = wait_for_user
        self._timing = timing
        self._keep_problem = keep_problem
        self._show_guard = show_guard
        self._watch = NodeWatch(folder, timing.lost_after_s)
        self._others: list[NodeStatus] = []
        self._workers: list[WorkerProcess] = []
        self._wanted_workers = status.workers
        self._done: set[int] = set()
        self._attempts: Counter[int] = Counter()
        self._failed: dict[int, str] = {}
        self._retried = 0
        self._knows_twin = False
        self._tokens = 0
        self._done_here = 0
        self._done_here_bytes = 0
        self._beat_s = self._listed_s = float("-inf")
        self._started_s = time.monotonic()
        self.engines: list[str] = []
        self.notes: list[str] = []

    @property
    def progress(self) -> RunProgress:
        segments, running = len(self._segment_bytes), len(self._running)
        return RunProgress(segments, self._done, self._failed, self._tokens, running, self._retried)

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers]

    def shrink(self) -> None:
        """Memory is short: one worker from now on; the others end after the segment they have."""
        self._wanted_workers = 1

    def run(self) -> None:
        """Until every segment is done or has failed here. Raises what `wait_for_user` raises."""
        try:
            self._list_done()
            while self._unfinished:
                self._keep_up()
                self._assign()
                self._wait()
            self._wait_for_user(self)  # Reports the last segment.
        finally:
            for worker in self._workers:
                worker.end()
            self._workers.clear()
        if self._failed:
            self.leave()
            raise failure_of(self._failed, len(self._segment_bytes))

    def wait_for_finisher(self) -> bool:
        """True if this process is to write the manifest: of those that live, the one with the lowest rank does."""
        while not self._folder.is_finished:
            self._keep_up()
            self._read_others()
            alive = [other for other in self._others if self._watch.is_alive(other)]
            ranks = [(other.rank, other.node) for other in alive if other.rank is not None]
            if min(ranks, default=None) in (None, (self._rank.number, self._status.node)):
                return True
            wait(self._wait_for_user(self), self._timing.beat_s / 2)
        return False

    def leave(self) -> None:
        """Show the others that this process no longer works on anything."""
        with suppress(StorageUnavailable, FileNotFoundError):
            announce(self._folder, replace(self._status, beat=self._status.beat + 1, running=(), ended=True))

    @property
    def _unfinished(self) -> set[int]:
        return set(range(len(self._segment_bytes))) - self._done - self._failed.keys()

    @property
    def _running(self) -> set[int]:
        return {worker.segment for worker in self._workers if worker.segment is not None}

    def _assign(self) -> None:
        for worker in [worker for worker in self._workers if worker.ready and worker.segment is None]:
            if len(self._workers) > self._wanted_workers:
                worker.end()
                self._workers.remove(worker)
                continue
            number = self._next()
            if number is None:
                return
            worker.start(number)
        while len(self._workers) < min(self._wanted_workers, len(self._unfinished)):
            self._workers.append(self._start_worker())

    def _next(self) -> int | None:
        """The next segment that nobody has finished or works on. Asks the folder about each before it is started."""
        while (number := self._candidate()) is not None:
            if not self._folder.is_done(number):
                return number
            self._done.add(number)
        return None

    def _candidate(self) -> int | None:
        open_here = self._unfinished - self._running
        own = {number for number in open_here if number % self._rank.world_size == self._rank.number}
        if not own and open_here and time.monotonic() >= self._listed_s + self._timing.beat_s / 2:
            self._list_done()
            self._read_others()
            open_here = self._unfinished - self._running
        number = next_segment(self._rank, open_here, self._taken_by_others())
        if number is not None and not own:
            # Others choose from the same rest: show at once what is taken.
            self._announce({number})
        return number

    def _taken_by_others(self) -> set[int]:
        return {
            number
            for other in self._others
            if other.node != self._status.node and self._watch.is_alive(other)
            for number in other.running
        }

    def _wait(self) -> None:
        waitables = [*(worker.connection for worker in self._workers), *self._wait_for_user(self)]
        timeout_s = max(self._beat_s + self._timing.beat_s - time.monotonic(), SHORTEST_WAIT_S)
        for ready in wait(waitables, min(timeout_s, 1.0)):
            worker = next((worker for worker in self._workers if worker.connection is ready), None)
            if worker is not None:
                self._take(worker, worker.receive())

    def _take(self, worker: WorkerProcess, message: FromWorker | None) -> None:
        match message:
            case WorkerReady(engine, note):
                worker.ready = True
                self.engines += [engine] if engine not in self.engines else []
                self.notes += [note] if note else []
            case SegmentDone(number, tokens):
                worker.segment = None
                self._done.add(number)
                self._done_here += 1
                self._done_here_bytes += self._segment_bytes[number]
                self._tokens += tokens
            case SegmentFailed(number, problem, may_pass):
                worker.segment = None
                self._failed_once(number, problem, may_pass)
            case WorkerFailed(problem):
                raise MemwatchError(problem)
            case None:
                self._workers.remove(worker)
                how = worker.how_it_ended()
                if worker.segment is None:
                    raise MemwatchError(f"a worker {how} before it could start")
                self._failed_once(worker.segment, f"its worker {how}", True)
                worker.end()

    def _failed_once(self, number: int, problem: str, may_pass: bool) -> None:
        if self._folder.is_done(number):
            # Another process made it too, and may have removed what was unfinished.
            self._done.add(number)
            return
        self._attempts[number] += 1
        self._keep_problem(number, problem)
        if may_pass and self._attempts[number] < ATTEMPTS:
            self._retried += 1
            self.notes.append(f"segment {number} is repeated: {problem}")
        else:
            self._failed[number] = problem

    def _keep_up(self) -> None:
        now = time.monotonic()
        if now >= self._beat_s + self._timing.beat_s:
            self._announce(self._running)
        if now >= self._listed_s + LISTING_INTERVAL_S:
            self._list_done()
            self._read_others()

    def _list_done(self) -> None:
        self._done |= self._folder.done()
        self._listed_s = time.monotonic()

    def _read_others(self) -> None:
        self._others = self._watch.read()
        same = [other for other in self._others if other.rank == self._rank.number and other.node != self._status.node]
        if not self._knows_twin and any(self._watch.is_alive(other) for other in same):
            self._knows_twin = True
            self.notes.append(f"another process works as {self._rank} in this folder; both make the same files")

    def _announce(self, running: set[int]) -> None:
        self._beat_s = time.monotonic()
        seconds = self._beat_s - self._started_s
        self._status = replace(
            self._status,
            beat=self._status.beat + 1,
            running=tuple(sorted(running | self._running)),
            done=self._done_here,
            retried=self._retried,
            failed=tuple(sorted(self._failed)),
            done_bytes=self._done_here_bytes,
            rate_bytes_s=self._done_here_bytes / seconds if seconds and self._done_here else None,
        )
        # A beat that cannot be written is missed; what is done is not lost by it.
        with suppress(StorageUnavailable):
            announce(self._folder, self._show_guard(self._status))


def failure_of(failed: dict[int, str], segments: int) -> MemwatchError:
    number, problem = min(failed.items())
    others = f" (and {len(failed) - 1} more segments)" if len(failed) > 1 else ""
    what_next = "" if "--fresh" in problem else ". All other segments are kept: repeat the same command to resume"
    return MemwatchError(f"segment {number} of {segments} failed{others}: {problem}{what_next}")
