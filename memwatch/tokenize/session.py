"""One run from beginning to end: look at the inputs and the folder, start or resume, work, publish.

nothing there        start
a partial run        resume it, if it is the same job; --fresh drops it
a finished run       refuse; --force replaces it once there is something to replace it with
"""

import errno
import itertools
import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.errors import MemwatchError, OutOfSpace, UsageError, printable
from memwatch.job import HELLO, Channel
from memwatch.model.units import format_count, format_size
from memwatch.probe.cgroups import memory_sample
from memwatch.storage.address import is_remote
from memwatch.tokenize import checkpoint as checkpoints
from memwatch.tokenize import manifest as manifests
from memwatch.tokenize.apart import apart_if_remote
from memwatch.tokenize.block_opener import BlockOpener
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.checkpoint import PARTIAL, Checkpoint, Totals
from memwatch.tokenize.crew import Crew
from memwatch.tokenize.engine_choice import chosen_engine, description
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.reading_memory import reading_memory
from memwatch.tokenize.interrupts import Signals
from memwatch.tokenize.loader_notes import encoding_notes, expected_notes, finished_notes, likely, likely_split
from memwatch.tokenize.output_state import FileRecord, OutputState
from memwatch.tokenize.outputs import Outputs, publish
from memwatch.tokenize.pipeline import Pipeline, PipelineLimits
from memwatch.tokenize.plan import Plan, cores_here, least_bytes, plan, usual_limit_bytes, with_engine_memory
from memwatch.tokenize.progress_report import Meter
from memwatch.tokenize.resume_check import check_resumable, check_untouched
from memwatch.tokenize.rss import guarded_peak_bytes
from memwatch.tokenize.run_inputs import binary_notes, run_inputs, shuffle_notes
from memwatch.tokenize.settings import VAL_RULES, TokenizeRequest
from memwatch.tokenize.sizing import Expected
from memwatch.tokenize.tally import check_bad_records
from memwatch.tokenize.vocabulary import Encoding
from memwatch.tokenize.vocabulary_file import encoding_of, loadable_file

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class Result:
    folder: Path
    files: tuple[FileRecord, ...]
    totals: Totals
    notes: list[str]


class Session:
    def __init__(self, request: TokenizeRequest, channel: Channel | None, signals: Signals) -> None:
        self._request = request
        self._channel = channel
        self._signals = signals
        self._settings = request.settings
        self._encoding: Encoding = encoding_of(request.settings)
        self._inputs: list[Input] = []
        self._folder = Path()
        self._replaces: tuple[str, ...] = ()

    @property
    def _partial(self) -> Path:
        return self._folder / PARTIAL

    @property
    def _addresses(self) -> list[str]:
        return [source.path for source in self._inputs]

    @property
    def _opener(self) -> BlockOpener:
        return BlockOpener(self._inputs, self._settings, self._encoding)

    @property
    def _names(self) -> Names:
        first = self._inputs[0]
        return Names.of_run(self._settings, "stdin" if first.is_standard_input else Path(first.path).name)

    def run(self) -> Result:
        if self._channel is not None:
            self._channel.send(HELLO)
        self._look_at_inputs()
        self._choice = chosen_engine(self._request.resources.engine, self._encoding, self._settings, self._inputs)
        self._plan = self._planned()
        self._folder = self._output_folder()
        if self._channel is not None:
            self._channel.send({"event": "output", "folder": str(self._folder.resolve())})
        try:
            with checkpoints.locked(self._folder) as lock:
                return self._run_locked(lock)
        except OSError as error:
            if error.errno in NO_SPACE:
                kept = "no output was written" if self._settings.mode == "memory" else "partial output is kept"
                raise OutOfSpace(
                    f"the disk of {self._folder} is full ({error.strerror}); {kept}: "
                    "free disk space and repeat the same command to resume"
                ) from error
            raise MemwatchError(f"cannot write to {self._folder}: {error.strerror or error}") from error

    def _look_at_inputs(self) -> None:
        request = self._request
        named = request.inputs if request.settings.val in VAL_RULES else (*request.inputs, request.settings.val)
        self._inputs, self._settings = apart_if_remote(named, lambda: run_inputs(request))
        if all(source.size_bytes == 0 for source in self._inputs):
            names = ", ".join(source.name for source in self._inputs)
            raise MemwatchError(f"{names} is empty: nothing to tokenize")

    def _output_folder(self) -> Path:
        first = self._inputs[0]
        folder = self._request.out or (Path.cwd() if first.is_standard_input else Path(first.path).parent)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise UsageError(f"--out {folder} is a file, not a folder") from error
        except OSError as error:
            raise MemwatchError(f"cannot create the folder {folder}: {error.strerror}") from error
        return folder

    def _run_locked(self, lock: int) -> Result:
        checkpoint = self._resumed() or self._started()
        peak_before = checkpoint.totals.peak_rss_bytes  # of an earlier run that this one resumes
        if not checkpoint.finished:
            checkpoint = self._worked(checkpoint, lock)
            if (peak := guarded_peak_bytes(self._channel)) is not None:
                checkpoint.totals.peak_rss_bytes = max(peak, peak_before)
        self._publish(checkpoint.outputs)
        manifests.save(manifests.manifest_of(checkpoint, self._encoding), self._partial, self._folder)
        checkpoints.drop_partial_folder(self._partial)
        files = [record for record in checkpoint.outputs.complete if record.holds == "tokens"]
        train, val = ([record.tokens for record in files if record.split == split] for split in ("train", "val"))
        notes = finished_notes(self._settings, train, val)
        return Result(self._folder, checkpoint.outputs.complete, checkpoint.totals, notes)

    def _resumed(self) -> Checkpoint | None:
        if self._request.fresh:
            checkpoints.drop_partial_run(self._partial)
        checkpoint = checkpoints.load(self._partial)
        if checkpoint is None:
            # Without a checkpoint, what lies there was never promised to anyone.
            checkpoints.drop_partial_folder(self._partial)
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
        existing = self._finished_files()
        if existing and not self._request.force:
            raise MemwatchError(
                f"{self._folder} already holds finished output ({', '.join(existing[:3])}); "
                "--force replaces it, or choose another --out"
            )
        self._replaces = tuple(existing)
        checkpoints.make_partial_folder(self._partial)
        checkpoint = self._checkpoint(ReadPosition(), OutputState(self._settings.mode == "shard"), Totals())
        checkpoints.save(checkpoint, self._partial)
        return checkpoint

    def _finished_files(self) -> list[str]:
        """What an earlier run made here, by its manifest and by its names. Nothing else is ever replaced."""
        found = {path.name for path in self._folder.iterdir() if self._names.may_be_ours(path.name)}
        if (self._folder / manifests.NAME).exists():
            listed = {record["name"] for record in manifests.load(str(self._folder))["files"]}
            found |= {name for name in listed if (self._folder / name).is_file() and name == Path(name).name}
            found.add(manifests.NAME)
        local = [source for source in self._inputs if not source.is_standard_input and not is_remote(source.path)]
        for source, name in itertools.product(local, found):
            if os.path.samefile(source.path, self._folder / name):
                raise UsageError(f"the output would overwrite the input {source.path}; choose another --out")
        return sorted(found)

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
            checkpoints.save(self._checkpoint(position, outputs, totals), self._partial)
            self._publish(outputs)

        try:
            marks = crew.expected_marks()
            expected = None if marks is None else Expected(marks, not all(source.is_plain for source in self._inputs))
            self._check_space(None if expected is None else expected.tokens, totals)
            if not totals.tokens:
                self._show_loader_notes(expected)
            outputs = Outputs(
                self._partial, self._settings, self._encoding, self._names, checkpoint.outputs, crew.hasher.send
            )
            total_bytes = _total_bytes(self._inputs)
            meter = Meter(total_bytes, self._encoding.token_bytes, expected)
            task_bytes = self._plan.task_bytes(resources.block_bytes, total_bytes)
            limits = PipelineLimits(
                resources.block_bytes, task_bytes, self._held_limit(), self._request.bad_limit, self._settings.shuffle
            )
            holds = self._settings.mode == "memory" and not outputs.sharded
            pipeline = Pipeline(
                self._inputs, checkpoint.position, crew, outputs, totals, limits, self._signals, self._channel, meter,
                save, self._has_room, holds,
            )  # fmt: skip
            pipeline.run()
            self._signals.finish()
            self._check_inputs_again(totals, pipeline.position)
            if crew.engine is not None and crew.engine not in totals.engines:
                totals.engines.append(crew.engine)
            pipeline.finish()
            finished = self._checkpoint(pipeline.position, outputs.final_state, totals, finished=True)
            checkpoints.save(finished, self._partial)
            return finished
        finally:
            crew.end()
            for source in self._inputs:
                source.forget()

    def _show_loader_notes(self, expected: Expected | None) -> None:
        notes = binary_notes(self._inputs) + encoding_notes(self._settings, self._encoding)
        notes += shuffle_notes(self._settings, self._inputs)
        if expected is not None:
            inputs = self._settings.train_inputs
            named = expected.tokens_up_to(sum(source.size_bytes or 0 for source in self._inputs[:inputs]))
            of_val_file = None if inputs is None else likely(expected.tokens - named, expected.is_packed)
            split = likely_split(self._settings, likely(named, expected.is_packed), of_val_file)
            notes += expected_notes(self._settings, split)
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
        return Crew(self._plan, self._opener, self._settings, resources, self._encoding, ranks, not_for_others)

    def _planned(self) -> Plan:
        token_bytes, workers = self._encoding.token_bytes, self._request.resources.workers
        column = self._settings.text_column
        reading = apart_if_remote(self._addresses, lambda: reading_memory(self._inputs, column))
        reading = with_engine_memory(reading, self._encoding, self._choice.engine)
        limit = self._request.resources.max_memory_bytes
        if limit is not None and self._settings.mode == "memory":
            # Half of it is for the tokens and half for the workers, which need more of a small one.
            limit = min(max(limit // 2, least_bytes(token_bytes, reading, workers)), limit)
        if limit is None:
            limit = usual_limit_bytes(memory_sample(), workers, cores_here(), token_bytes, reading)
        self._limit_bytes = limit
        return plan(limit, workers, cores_here(), token_bytes, reading)

    def _has_room(self) -> bool:
        """After a switch to shards: whether the memory for all workers is there again, beside the reserve."""
        machine = memory_sample()
        if machine.available_bytes is None or machine.capacity is None:
            return False
        return machine.available_bytes > default_reserve_bytes(machine.capacity[0]) + 2 * self._limit_bytes

    def _held_limit(self) -> int | None:
        """In memory mode under a limit: what the workers leave to the tokens."""
        limit = self._request.resources.max_memory_bytes
        return limit - self._limit_bytes if limit is not None and self._settings.mode == "memory" else None

    def _check_space(self, expected: int | None, totals: Totals) -> None:
        if expected is None:
            return
        needed = max(expected - totals.tokens, 0) * self._encoding.token_bytes
        status = os.statvfs(self._folder)
        free = status.f_bavail * status.f_frsize
        if needed > free:
            self._drop_if_nothing_made(totals)
            raise OutOfSpace(
                f"the output needs about {format_size(needed)} and {self._folder} has {format_size(free)} free; "
                "free disk space, or choose another --out"
            )

    def _check_inputs_again(self, totals: Totals, position: ReadPosition) -> None:
        apart_if_remote(self._addresses, lambda: check_untouched(self._opener, totals, position))
        check_bad_records(totals.bad_records, totals.records, self._request.bad_limit, totals.bad, grace=0)
        if totals.text_bytes == 0:
            self._drop_if_nothing_made(totals)
            names = ", ".join(source.name for source in self._inputs)
            raise MemwatchError(f"{names} is empty: nothing to tokenize")

    def _drop_if_nothing_made(self, totals: Totals) -> None:
        if totals.tokens == 0:
            checkpoints.drop_partial_folder(self._partial)

    def _publish(self, outputs: OutputState) -> None:
        names = {record.name for record in outputs.complete}
        if names:
            for name in set(self._replaces) - names:
                (self._folder / name).unlink(missing_ok=True)
            publish(outputs.complete, self._partial, self._folder)


def show_note(channel: Channel | None, text: str) -> None:
    """A sentence for the user: through the guard, or on standard error where there is none."""
    if channel is not None:
        channel.send({"event": "note", "text": text})
    else:
        print(f"memwatch: {printable(text)}", file=sys.stderr)


def _total_bytes(inputs: list[Input]) -> int | None:
    sizes = [source.size_bytes for source in inputs]
    return None if None in sizes else sum(size for size in sizes if size is not None)
