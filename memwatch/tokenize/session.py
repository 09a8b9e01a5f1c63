"""One run from beginning to end: look at the inputs and the folder, start or resume, work, publish.

nothing there        start
a partial run        resume it, if it is the same job; --fresh drops it
a finished run       refuse; --force replaces it once there is something to replace it with
"""

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from memwatch.errors import MemwatchError, OutOfSpace, printable
from memwatch.job import HELLO, Channel
from memwatch.model.units import format_count
from memwatch.tokenize import checkpoint as checkpoints
from memwatch.tokenize import manifest as manifests
from memwatch.tokenize.apart import apart_if_remote
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import Checkpoint, Totals
from memwatch.tokenize.crew import Crew
from memwatch.tokenize.engine_choice import chosen_engine, description
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.reading_memory import reading_memory
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.loader_notes import encoding_notes, finished_notes, sampled_notes
from memwatch.tokenize.output_folder import OutputFolder
from memwatch.tokenize.output_state import FileRecord, OutputState
from memwatch.tokenize.outputs import Outputs
from memwatch.tokenize.pipeline import Pipeline, PipelineLimits
from memwatch.tokenize.plan import with_engine_memory
from memwatch.tokenize.progress_report import Meter
from memwatch.tokenize.resume_check import check_resumable, check_untouched
from memwatch.tokenize.rss import guarded_peak_bytes
from memwatch.tokenize.run_inputs import binary_notes, run_inputs, shuffle_notes
from memwatch.tokenize.run_memory import RunMemory
from memwatch.tokenize.settings import VAL_RULES, TokenizeRequest
from memwatch.tokenize.sizing import Expected
from memwatch.tokenize.tally import check_bad_records
from memwatch.tokenize.vocabulary import Encoding
from memwatch.tokenize.vocabulary_file import encoding_of, loadable_file


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run, for its summary."""

    folder: Path
    files: tuple[FileRecord, ...]
    totals: Totals
    notes: list[str]


class Session:
    """One run of the command line. `channel` reaches the guard, if there is one."""

    def __init__(self, request: TokenizeRequest, channel: Channel | None, signals: Signals) -> None:
        self._request = request
        self._channel = channel
        self._signals = signals
        self._settings = request.settings
        self._encoding: Encoding = encoding_of(request.settings)
        self._inputs: list[Input] = []
        self._replaces: tuple[str, ...] = ()

    @property
    def _addresses(self) -> list[str]:
        return [source.path for source in self._inputs]

    @property
    def _opener(self) -> BlockOpener:
        return BlockOpener(self._inputs, self._settings, self._encoding)

    def run(self) -> Result:
        """Look at the inputs, start or resume, and return what was made. Errors are raised as sentences."""
        if self._channel is not None:
            self._channel.send(HELLO)
        self._look_at_inputs()
        self._choice = chosen_engine(self._request.resources.engine, self._encoding, self._settings, self._inputs)
        self._memory = self._run_memory()
        first = self._inputs[0]
        self._names = Names.of_run(self._settings, "stdin" if first.is_standard_input else Path(first.path).name)
        self._folder = OutputFolder(self._request.out, self._inputs, self._names)
        if self._channel is not None:
            self._channel.send({"event": "output", "folder": str(self._folder.path.resolve())})
        keeps_partial = self._settings.mode != "memory"
        with self._folder.errors_as_sentences(keeps_partial), checkpoints.locked(self._folder.path) as lock:
            return self._run_locked(lock)

    def _look_at_inputs(self) -> None:
        request = self._request
        named = request.inputs if request.settings.val in VAL_RULES else (*request.inputs, request.settings.val)
        self._inputs, self._settings = apart_if_remote(named, lambda: run_inputs(request))
        if all(source.size_bytes == 0 for source in self._inputs):
            names = ", ".join(source.name for source in self._inputs)
            raise MemwatchError(f"{names} is empty: nothing to tokenize")

    def _run_locked(self, lock: int) -> Result:
        checkpoint = self._resumed() or self._started()
        peak_before = checkpoint.totals.peak_rss_bytes  # of an earlier run that this one resumes
        if not checkpoint.finished:
            checkpoint = self._worked(checkpoint, lock)
            if (peak := guarded_peak_bytes(self._channel)) is not None:
                checkpoint.totals.peak_rss_bytes = max(peak, peak_before)
        self._publish(checkpoint.outputs)
        manifest = manifests.manifest_of(checkpoint, self._encoding)
        manifests.save(manifest, self._folder.partial, self._folder.path)
        self._folder.drop_partial()
        files = [record for record in checkpoint.outputs.complete if record.holds == "tokens"]
        train, val = ([record.tokens for record in files if record.split == split] for split in ("train", "val"))
        notes = finished_notes(self._settings, train, val)
        return Result(self._folder.path, checkpoint.outputs.complete, checkpoint.totals, notes)

    def _resumed(self) -> Checkpoint | None:
        partial_folder = self._folder.partial
        if self._request.fresh:
            checkpoints.drop_partial_run(partial_folder)
        checkpoint = checkpoints.load(partial_folder)
        if checkpoint is None:
            self._folder.drop_partial()  # Without a checkpoint, what lies there was never promised to anyone.
            return None
        may_change = self._request.resume_changed
        note = partial(show_note, self._channel)
        apart_if_remote(
            self._addresses, lambda: check_resumable(checkpoint, self._settings, self._opener, may_change, note)
        )
        if self._settings.exact and checkpoint.totals.inexact_cuts:
            raise MemwatchError("the partial run has inexact cuts; leave out --exact, or add --fresh to start over")
        self._replaces = checkpoint.replaces
        if checkpoint.totals.tokens:
            show_note(self._channel, self._resumes_at(checkpoint.totals))
        self._publish(checkpoint.outputs)
        return checkpoint

    def _resumes_at(self, totals: Totals) -> str:
        total_bytes = _total_bytes(self._inputs)
        share = f"{100 * totals.file_bytes / total_bytes:.1f} %, " if total_bytes else ""
        return f"resuming at {share}{format_count(totals.tokens)} tokens; --fresh starts over"

    def _started(self) -> Checkpoint:
        existing = self._folder.finished_files()
        if existing and not self._request.force:
            raise MemwatchError(
                f"{self._folder.path} already holds finished output ({', '.join(existing[:3])}); "
                "--force replaces it, or choose another --out"
            )
        self._replaces = tuple(existing)
        checkpoints.make_partial_folder(self._folder.partial)
        checkpoint = self._checkpoint(ReadPosition(), OutputState(self._settings.mode == "shard"), Totals())
        checkpoints.save(checkpoint, self._folder.partial)
        return checkpoint

    def _checkpoint(
        self, position: ReadPosition, outputs: OutputState, totals: Totals, finished: bool = False
    ) -> Checkpoint:
        inputs = [source.as_json() for source in self._inputs]
        return Checkpoint(self._settings.as_json(), inputs, position, outputs, totals, self._replaces, finished)

    def _worked(self, checkpoint: Checkpoint, lock: int) -> Checkpoint:
        totals = checkpoint.totals
        resources = self._request.resources
        crew = self._crew(lock, totals)

        def save(position: ReadPosition, totals: Totals, outputs: OutputState) -> None:
            checkpoints.save(self._checkpoint(position, outputs, totals), self._folder.partial)
            self._publish(outputs)

        try:
            marks = crew.expected_marks()
            expected = None if marks is None else Expected(marks, not all(source.is_plain for source in self._inputs))
            if expected is not None:
                self._check_space(expected.tokens - totals.tokens, totals)
            if not totals.tokens:
                self._show_loader_notes(expected)
            outputs = Outputs(
                self._folder.partial, self._settings, self._encoding, self._names, checkpoint.outputs, crew.hasher.send
            )
            total_bytes = _total_bytes(self._inputs)
            meter = Meter(total_bytes, self._encoding.token_bytes, expected)
            task_bytes = self._memory.plan.task_bytes(resources.block_bytes, total_bytes)
            limits = PipelineLimits(
                resources.block_bytes,
                task_bytes,
                self._memory.held_limit_bytes,
                self._request.bad_limit,
                self._settings.shuffle,
            )
            holds = self._settings.mode == "memory" and not outputs.sharded
            pipeline = Pipeline(
                self._inputs, checkpoint.position, crew, outputs, totals, limits, self._signals, self._channel, meter,
                save, self._memory.has_room, holds,
            )  # fmt: skip
            pipeline.run()
            self._signals.finish()
            self._check_inputs_again(totals, pipeline.position)
            if crew.engine is not None and crew.engine not in totals.engines:
                totals.engines.append(crew.engine)
            pipeline.finish()
            finished = self._checkpoint(pipeline.position, outputs.final_state, totals, finished=True)
            checkpoints.save(finished, self._folder.partial)
            return finished
        finally:
            crew.end()
            for source in self._inputs:
                source.forget()

    def _show_loader_notes(self, expected: Expected | None) -> None:
        notes = binary_notes(self._inputs) + encoding_notes(self._settings, self._encoding)
        notes += shuffle_notes(self._settings, self._inputs)
        if expected is not None:
            named = self._inputs[: self._settings.train_inputs]
            notes += sampled_notes(self._settings, expected, sum(source.size_bytes or 0 for source in named))
        for note in notes:
            show_note(self._channel, note)

    def _crew(self, lock: int, totals: Totals) -> Crew:
        not_for_others = [lock] + ([] if self._channel is None else [self._channel.fileno()])
        try:
            ranks = loadable_file(self._encoding)
        except MemwatchError:
            self._drop_if_nothing_made(totals)
            raise
        for note in (description(self._encoding), self._choice.note):
            if note is not None:
                show_note(self._channel, note)
        resources = replace(self._request.resources, engine=self._choice.engine)
        return Crew(self._memory.plan, self._opener, self._settings, resources, self._encoding, ranks, not_for_others)

    def _run_memory(self) -> RunMemory:
        column = self._settings.text_column
        reading = apart_if_remote(self._addresses, lambda: reading_memory(self._inputs, column))
        reading = with_engine_memory(reading, self._encoding, self._choice.engine)
        return RunMemory(self._request.resources, self._encoding.token_bytes, reading, self._settings.mode == "memory")

    def _check_space(self, tokens: int, totals: Totals) -> None:
        try:
            self._folder.check_space(max(tokens, 0) * self._encoding.token_bytes)
        except OutOfSpace:
            self._drop_if_nothing_made(totals)
            raise

    def _check_inputs_again(self, totals: Totals, position: ReadPosition) -> None:
        apart_if_remote(self._addresses, lambda: check_untouched(self._opener, totals, position))
        check_bad_records(totals.bad_records, totals.records, self._request.bad_limit, totals.bad, grace=0)
        if totals.text_bytes == 0:
            self._drop_if_nothing_made(totals)
            names = ", ".join(source.name for source in self._inputs)
            raise MemwatchError(f"{names} is empty: nothing to tokenize")

    def _publish(self, outputs: OutputState) -> None:
        self._folder.publish(outputs.complete, self._replaces)

    def _drop_if_nothing_made(self, totals: Totals) -> None:
        if totals.tokens == 0:
            self._folder.drop_partial()


def show_note(channel: Channel | None, text: str) -> None:
    """A sentence for the user: through the guard, or on standard error where there is none."""
    if channel is not None:
        channel.send({"event": "note", "text": text})
    else:
        print(f"memwatch: {printable(text)}", file=sys.stderr)


def _total_bytes(inputs: list[Input]) -> int | None:
    sizes = [source.size_bytes for source in inputs]
    return None if None in sizes else sum(size for size in sizes if size is not None)
