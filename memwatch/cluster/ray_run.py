"""memwatch run --on ray: the whole command in the driver. The driver may die; the same command continues."""

import json
import os
import socket
import time

from memwatch import __version__
from memwatch.cluster.driver import SegmentDriver
from memwatch.cluster.finish import finish_run
from memwatch.cluster.joining import JoinedRun, RunResult, join_run
from memwatch.cluster.nodes import BEATS_UNTIL_LOST, NodeStatus, NodeWatch
from memwatch.cluster.planning import TaskMeans, segment_sizes, task_means
from memwatch.cluster.ray_connection import HeadWatch, connected
from memwatch.cluster.ray_pool import RayPool
from memwatch.cluster.run_report import RunReporter
from memwatch.cluster.segment_tasks import SegmentTask
from memwatch.errors import Interrupted, MemwatchError
from memwatch.job import Channel
from memwatch.storage.address import is_remote
from memwatch.tokenize.engine_choice import chosen_engine, description
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.session import show_note
from memwatch.tokenize.settings import EngineName, TokenizeRequest
from memwatch.tokenize.vocabulary_file import encoding_of


class RayRun:
    def __init__(
        self,
        request: TokenizeRequest,
        out: str | None,
        segment_bytes: int | None,
        address: str,
        beat_s: float,
        channel: Channel | None,
        signals: Signals,
    ) -> None:
        self._request = request
        self._out = out
        self._segment_bytes = segment_bytes
        self._address = address
        self._beat_s = beat_s
        self._channel = channel
        self._signals = signals
        self._started_s = time.monotonic()

    def run(self) -> RunResult:
        # First, because it is what may be missing, and takes no time.
        ray = connected(self._address)
        self._signals.install()
        head = HeadWatch(ray.get_runtime_context().gcs_address, lambda text: show_note(self._channel, text))
        head.start()
        try:
            joined = join_run(self._request, self._out, self._segment_bytes, may_delete=True)
            if isinstance(joined, RunResult):
                return joined
            engine = self._engine(joined)
            means = task_means(self._request, joined.inputs, engine)
            self._signals.patient = True
            workers = self._request.resources.workers
            pool = RayPool(ray, self._task(joined, means, engine), means.memory_bytes, workers)
            return self._made(joined, pool)
        finally:
            ray.shutdown()
            head.end()

    def _engine(self, joined: JoinedRun) -> EngineName:
        """The engine of all tasks: decided once, by the driver."""
        settings = self._request.settings
        encoding = encoding_of(settings)
        choice = chosen_engine(self._request.resources.engine, encoding, settings, joined.inputs)
        for note in (description(encoding), choice.note):
            if note is not None:
                show_note(self._channel, note)
        return choice.engine

    def _task(self, joined: JoinedRun, means: TaskMeans, engine: EngineName) -> SegmentTask:
        out = joined.folder.out if is_remote(joined.folder.out) else os.path.abspath(joined.folder.out)
        changed = json.dumps(self._request.settings.changeable())
        return SegmentTask(out, 0, engine, means.budget_bytes, __version__, self._beat_s, joined.plan.sha256, changed)

    def _work(self, joined: JoinedRun, pool: RayPool) -> int | None:
        sizes = segment_sizes(joined.plan)
        token_bytes = encoding_of(self._request.settings).token_bytes
        watch = NodeWatch(joined.folder, BEATS_UNTIL_LOST * self._beat_s)
        reporter = RunReporter(self._channel, self._signals, sizes, token_bytes, watch, self._beat_s)
        host = socket.gethostname()
        status = NodeStatus(f"driver-{host}-{os.getpid()}", host, None, None, workers=0)
        driver = SegmentDriver(joined.folder, joined.plan, pool, reporter, status, self._beat_s)
        driver.run()
        return driver.peak_task_bytes

    def _made(self, joined: JoinedRun, pool: RayPool) -> RunResult:
        try:
            return self._finished(joined, self._work(joined, pool))
        except (FileNotFoundError, MemwatchError) as error:
            # Another command in this folder was first, and has removed what is unfinished.
            if isinstance(error, Interrupted) or not joined.folder.is_finished:
                raise
            joined.folder.drop_partial()  # What this one has written since then.
            return RunResult(joined.folder.out, False, joined.folder.load_manifest())

    def _finished(self, joined: JoinedRun, peak_bytes: int | None) -> RunResult:
        for source in joined.inputs:
            source.check_unchanged()
        seconds = time.monotonic() - self._started_s
        finish_run(joined.folder, joined.plan, seconds, peak_bytes, self._request.bad_limit)
        joined.folder.drop_partial()
        return RunResult(joined.folder.out, True, joined.folder.load_manifest())
