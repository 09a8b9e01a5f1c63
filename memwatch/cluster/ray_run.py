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
from memwatch.cluster.ray_connection import connected
from memwatch.cluster.ray_pool import RayPool
from memwatch.cluster.run_report import RunReporter
from memwatch.cluster.segment_tasks import SegmentTask
from memwatch.job import Channel
from memwatch.storage.address import is_remote
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.settings import TokenizeRequest
from memwatch.tokenize.vocabulary import encoding_named


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
        try:
            joined = join_run(self._request, self._out, self._segment_bytes, may_delete=True)
            if isinstance(joined, RunResult):
                return joined
            means = task_means(self._request, joined.inputs)
            self._signals.patient = True
            workers = self._request.resources.workers
            peak_bytes = self._work(joined, RayPool(ray, self._task(joined, means), means.memory_bytes, workers))
            return self._finished(joined, peak_bytes)
        finally:
            ray.shutdown()

    def _task(self, joined: JoinedRun, means: TaskMeans) -> SegmentTask:
        out = joined.folder.out if is_remote(joined.folder.out) else os.path.abspath(joined.folder.out)
        engine = self._request.resources.engine
        changed = json.dumps(self._request.settings.changeable())
        return SegmentTask(out, 0, engine, means.budget_bytes, __version__, self._beat_s, changed)

    def _work(self, joined: JoinedRun, pool: RayPool) -> int | None:
        sizes = segment_sizes(joined.plan)
        token_bytes = encoding_named(self._request.settings.encoding).token_bytes
        watch = NodeWatch(joined.folder, BEATS_UNTIL_LOST * self._beat_s)
        reporter = RunReporter(self._channel, self._signals, sizes, token_bytes, watch, self._beat_s)
        host = socket.gethostname()
        status = NodeStatus(f"driver-{host}-{os.getpid()}", host, None, None, workers=0)
        driver = SegmentDriver(joined.folder, joined.plan, pool, reporter, status, self._beat_s)
        driver.run()
        return driver.peak_task_bytes

    def _finished(self, joined: JoinedRun, peak_bytes: int | None) -> RunResult:
        for source in joined.inputs:
            source.check_unchanged()
        seconds = time.monotonic() - self._started_s
        finish_run(joined.folder, joined.plan, seconds, peak_bytes, self._request.bad_limit)
        joined.folder.drop_partial()
        return RunResult(joined.folder.out, True, joined.folder.load_manifest())
