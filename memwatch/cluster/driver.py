"""The driver of a run: keeps tasks under way until every segment is done or has failed. All state is in the folder."""

import time
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import replace

from memwatch.cluster.kept_journals import keep_problem
from memwatch.cluster.nodes import NodeStatus, announce
from memwatch.cluster.rank_run import ATTEMPTS, LISTING_INTERVAL_S, RunProgress, failure_of
from memwatch.cluster.run_folder import RunFolder, SharedPlan
from memwatch.cluster.run_report import RunReporter
from memwatch.cluster.segment_tasks import TaskPool, TaskResult
from memwatch.errors import MemwatchError
from memwatch.storage.retrying import StorageUnavailable

WAIT_S = 0.5
NOTHING_STARTED_S = 60.0


class SegmentDriver:
    """Memory grows with the number of segments by some bytes each: their numbers, and which are done."""

    def __init__(
        self,
        folder: RunFolder,
        plan: SharedPlan,
        pool: TaskPool,
        reporter: RunReporter,
        status: NodeStatus,
        beat_s: float,
    ) -> None:
        """`status` is shown to others with what is retried and failed; it has no workers."""
        self._folder = folder
        self._source_of = plan.source_of
        self._status = status
        self._beat_s = beat_s
        self._announced_s = float("-inf")
        self._pool = pool
        self._segments = len(plan.segments)
        self._reporter = reporter
        self._done: set[int] = set()
        self._waiting: deque[int] = deque()
        self._under_way: set[int] = set()
        self._attempts: Counter[int] = Counter()
        self._avoid: defaultdict[int, set[str]] = defaultdict(set)
        self._failed: dict[int, str] = {}
        self._retried = 0
        self._knows_twin = False
        self._tokens = 0
        self._listed_s = self._result_s = time.monotonic()
        self.peak_task_bytes: int | None = None
        self.notes: list[str] = []

    @property
    def progress(self) -> RunProgress:
        running = min(len(self._under_way), self._pool.most_running)
        return RunProgress(self._segments, self._done, self._failed, self._tokens, running, self._retried)

    @property
    def pids(self) -> list[int]:
        return []

    def shrink(self) -> None:
        """Does nothing: the driver holds almost no memory."""

    def run(self) -> None:
        """Until every segment is done or has failed three times. Raises what the reporter raises to stop the run."""
        self._done = self._folder.done()
        self._waiting.extend(number for number in range(self._segments) if number not in self._done)
        try:
            while self._waiting or self._under_way:
                self._submit()
                for result in self._pool.finished(WAIT_S):
                    self._take(result)
                self._list_done()
                self._announce()
                self._reporter.step(self)
                self._look_for_twin()
        finally:
            self._pool.cancel()
        if self._failed:
            raise failure_of(self._failed, self._segments)

    def _submit(self) -> None:
        slots = self._pool.slots
        while self._waiting and len(self._under_way) < slots:
            number = self._waiting.popleft()
            if number in self._done:
                continue  # Another process has made it.
            self._under_way.add(number)
            self._pool.submit(number, self._avoid.get(number, ()))

    def _take(self, result: TaskResult) -> None:
        number = result.number
        self._under_way.discard(number)
        self._result_s = time.monotonic()
        if result.peak_bytes is not None:
            self.peak_task_bytes = max(self.peak_task_bytes or 0, result.peak_bytes)
        if result.tokens is not None:
            self._done.add(number)
            self._tokens += result.tokens
            self._avoid.pop(number, None)
            return
        if result.ends_run:
            raise MemwatchError(str(result.problem))
        self._attempts[number] += 1
        keep_problem(self._folder, number, result.host, str(result.problem), self._source_of(number))
        self._avoid[number].add(result.machine)
        problem = f"{result.problem} (node {result.host})"
        if self._attempts[number] < ATTEMPTS:
            self._retried += 1
            self.notes.append(f"segment {number} is repeated: {problem}")
            self._waiting.append(number)
        else:
            self._failed[number] = problem
            self.notes.append(f"segment {number} failed {ATTEMPTS} times and is left out: {problem}")

    def _announce(self) -> None:
        now = time.monotonic()
        if now < self._announced_s + self._beat_s:
            return
        self._announced_s = now
        self._status = replace(
            self._status, beat=self._status.beat + 1, retried=self._retried, failed=tuple(sorted(self._failed))
        )
        with suppress(StorageUnavailable):
            announce(self._folder, self._status)

    def _look_for_twin(self) -> None:
        if not self._knows_twin and self._reporter.drivers - {self._status.node}:
            self._knows_twin = True
            self.notes.append("another command works in this folder; both make the same files")

    def _list_done(self) -> None:
        now = time.monotonic()
        if now >= self._listed_s + LISTING_INTERVAL_S:
            self._listed_s = now
            self._done |= self._folder.done()
        if self._under_way and now >= self._result_s + NOTHING_STARTED_S and not self._done:
            self._result_s = float("inf")
            self.notes.append("no segment is done yet; if no node has a CPU and enough memory free, tasks wait for one")
