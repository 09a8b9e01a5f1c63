"""One rank from beginning to end: join the run, work, and write the manifest if nobody else does."""

import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence

from memwatch.cluster.finish import finish_run
from memwatch.cluster.joining import JoinedRun, RunResult, join_run
from memwatch.cluster.kept_journals import journal_name, keep_problem
from memwatch.cluster.nodes import NodeStatus, NodeWatch
from memwatch.cluster.planning import WorkerMeans, segment_sizes
from memwatch.cluster.rank_run import RankRun, RunTiming
from memwatch.cluster.ranks import Rank
from memwatch.cluster.run_folder import SharedPlan
from memwatch.cluster.run_report import RankGuard, RunReporter
from memwatch.cluster.worker_process import WorkerOrder, WorkerProcess
from memwatch.errors import Interrupted, MemwatchError
from memwatch.job import HELLO, Channel
from memwatch.storage.address import is_remote
from memwatch.tokenize.engine_choice import chosen_engine, description
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.loader_notes import encoding_notes, segment_notes
from memwatch.tokenize.rss import guarded_peak_bytes
from memwatch.tokenize.run_inputs import binary_notes
from memwatch.tokenize.session import show_note
from memwatch.tokenize.settings import EngineName, TokenizeRequest, TokenizeSettings
from memwatch.tokenize.vocabulary_file import encoding_of


class RankSession:
    def __init__(
        self,
        request: TokenizeRequest,
        out: str | None,
        rank: Rank,
        segment_bytes: int | None,
        timing: RunTiming,
        means: Callable[[list[Input], EngineName], WorkerMeans],
        channel: Channel | None,
        signals: Signals,
    ) -> None:
        self._request = request
        self._out = out
        self._rank = rank
        self._segment_bytes = segment_bytes
        self._timing = timing
        self._means = means
        self._channel = channel
        self._signals = signals
        self._started_s = time.monotonic()

    def run(self) -> RunResult:
        if self._channel is not None:
            self._channel.send(HELLO)
        joined = join_run(self._request, self._out, self._segment_bytes, self._rank.world_size == 1)
        if isinstance(joined, RunResult):
            return joined
        if self._channel is not None and not is_remote(joined.folder.out):
            self._channel.send({"event": "output", "folder": os.path.abspath(joined.folder.out)})
        return self._worked(joined)

    def _show_loader_notes(self, plan: SharedPlan, sizes: list[int], inputs: Sequence[Input]) -> None:
        settings = TokenizeSettings(**plan.settings)
        notes = binary_notes(inputs) + encoding_notes(settings, encoding_of(settings))
        notes += segment_notes(settings, sizes) if all(source.is_plain for source in inputs) else []
        for note in notes:
            show_note(self._channel, note)

    def _worked(self, joined: JoinedRun) -> RunResult:
        folder, plan = joined.folder, joined.plan
        settings = self._request.settings
        encoding = encoding_of(settings)
        choice = chosen_engine(self._request.resources.engine, encoding, settings, joined.inputs)
        means = self._means(joined.inputs, choice.engine)
        sizes = segment_sizes(plan)
        if self._rank.number == 0 and not folder.done():
            self._show_loader_notes(plan, sizes, joined.inputs)
        node = f"{self._rank.number:05d}-{secrets.token_hex(4)}"
        status = NodeStatus(node, socket.gethostname(), self._rank.number, self._rank.world_size, means.workers)
        for note in (description(encoding), choice.note):
            if note is not None:
                show_note(self._channel, note)
        order = WorkerOrder(folder.out, node, choice.engine, means.budget_bytes, settings.changeable(), encoding.path)
        watch = NodeWatch(folder, self._timing.lost_after_s)
        reporter = RunReporter(self._channel, self._signals, sizes, encoding.token_bytes, watch, self._timing.beat_s)
        name = journal_name(self._rank)
        run = RankRun(
            folder,
            self._rank,
            status,
            sizes,
            lambda: WorkerProcess(order),
            reporter.step,
            self._timing,
            lambda number, problem: keep_problem(folder, number, name, problem, plan.source_of(number)),
            RankGuard(folder, name, reporter).shown,
        )
        self._signals.patient = True
        try:
            run.run()
            for source in joined.inputs:
                source.check_unchanged()
            wrote = run.wait_for_finisher()
            if wrote:
                seconds = time.monotonic() - self._started_s
                peak_bytes = guarded_peak_bytes(self._channel) or reporter.peak_rss_bytes
                finish_run(folder, plan, seconds, peak_bytes, self._request.bad_limit)
        except (FileNotFoundError, MemwatchError) as error:
            # The finisher removes what is unfinished; whoever still reads it finds the manifest instead.
            if isinstance(error, Interrupted) or not folder.is_finished:
                raise
            wrote = False
        # Also what a straggler wrote after the finisher had cleaned up.
        folder.drop_partial()
        return RunResult(folder.out, wrote, folder.load_manifest())
