"""Samples the inputs, reads the machine and the disk, and estimates the output and the cost of the job."""

import os
import random
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property

from memwatch.errors import MemwatchError, UsageError
from memwatch.estimate.counter import Counter
from memwatch.estimate.needs import Conclusion, JobMemory, JobSpeed, OutputDisk, conclude, output_size
from memwatch.estimate.sampling import Sampled, sample_inputs
from memwatch.model.python_list import ListScript, bytes_per_token
from memwatch.model.ranges import Range, added
from memwatch.model.units import MIB, format_size
from memwatch.probe.cgroups import memory_sample
from memwatch.probe.machine import Machine, disk_free_bytes
from memwatch.storage.address import is_remote, parent
from memwatch.tokenize.checkpoint import PARTIAL
from memwatch.tokenize.encoding import BlockEncoder
from memwatch.tokenize.engine_choice import chosen_engine
from memwatch.tokenize.engines import choose
from memwatch.tokenize.formats.format_registry import FORMATS
from memwatch.tokenize.inputs.input_source import STANDARD_INPUT, Input
from memwatch.tokenize.inputs.reading_memory import reading_memory
from memwatch.tokenize.loader_notes import encoding_notes, expected_notes, likely_split
from memwatch.tokenize.plan import cores_here, least_bytes, peak_bytes, plan, usual_limit_bytes, with_engine_memory
from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.run_inputs import binary_notes, run_inputs
from memwatch.tokenize.settings import TokenizeRequest
from memwatch.tokenize.vocabulary import Encoding
from memwatch.tokenize.vocabulary_file import encoding_of, loadable_file

# For sampling, beside half a second or so to start and to measure the list script.
SAMPLE_S = 0.5
# The guard's own budget, and what Python needs to start, measured.
GUARD_BYTES = 20 * MIB
START_S = 0.5
NAMED_INPUTS = 3


@dataclass(frozen=True)
class Outlook:
    inputs: tuple[Sampled, ...]
    encoding: Encoding
    engine: str
    format: str
    speed: JobSpeed
    usual_bytes: int  # the job's peak memory
    least_bytes: int  # the same, if it must be little
    script: ListScript
    memory: JobMemory
    disk: OutputDisk
    command: tuple[str, ...]  # that does the job, each word quoted
    notes: tuple[str, ...]
    sampled_s: float

    @cached_property
    def tokens(self) -> Range:
        return _tokens(self.inputs)

    @cached_property
    def text_bytes(self) -> Range:
        return added([each.text_bytes for each in self.inputs])

    @property
    def seconds(self) -> Range:
        return self.speed.seconds(self.text_bytes)

    @cached_property
    def size_bytes(self) -> int:
        return sum(each.source.size_bytes or 0 for each in self.inputs)

    @property
    def is_exact(self) -> bool:
        return all(each.tokens.is_exact for each in self.inputs)

    def output_bytes(self, kind: str) -> Range:
        output = FORMATS[kind]
        shard_tokens = output.default_shard_tokens if output.default_mode == "shard" else None
        token_bytes, header_bytes = self.encoding.token_bytes, output.header_bytes
        return Range(*(output_size(count, token_bytes, header_bytes, shard_tokens) for count in self.tokens))

    @cached_property
    def conclusion(self) -> Conclusion:
        size = self.output_bytes(self.format)
        return conclude(size, self.disk, self.usual_bytes, self.least_bytes, self.memory)

    @property
    def stream_bytes(self) -> int:
        """Peak memory of stream and shard mode."""
        return self.conclusion.max_memory_bytes or self.usual_bytes

    @property
    def memory_mode_bytes(self) -> float:
        return self.stream_bytes + self.tokens.estimate * self.encoding.token_bytes

    @property
    def advice(self) -> str:
        limit = self.conclusion.max_memory_bytes
        # The last --max-memory counts, should the user have given one.
        command = self.command if limit is None else (*self.command, "--max-memory", f"{limit // MIB}M")
        return self.conclusion.remedy or " ".join(command)


def outlook(request: TokenizeRequest, command: list[str]) -> Outlook:
    """Called by the command line. `command` is what does the job, each word quoted for a shell."""
    if STANDARD_INPUT in request.inputs:
        raise UsageError(
            "standard input cannot be sampled; save it to a file first, or tokenize it right away: "
            "memwatch run tokenize -"
        )
    resources = request.resources
    sources, settings = run_inputs(request)
    encoding = encoding_of(settings)
    choice = chosen_engine(resources.engine, encoding, settings, sources)
    reading = with_engine_memory(reading_memory(sources, settings.text_column), encoding, choice.engine)
    limit = resources.max_memory_bytes or usual_limit_bytes(
        memory_sample(), resources.workers, cores_here(), encoding.token_bytes, reading
    )
    planned = plan(limit, resources.workers, cores_here(), encoding.token_bytes, reading)
    ranks = loadable_file(encoding)
    started_s = time.monotonic()
    chosen = choose(choice.engine, encoding, ranks, check=True)
    loaded_s = time.monotonic()
    counter = Counter(BlockEncoder(chosen.engine, encoding, settings), settings, encoding)
    # The same file gives the same answer, as long as there is time for the same pieces.
    sampled = sample_inputs(sources, counter, random.Random(sources[0].fingerprint), SAMPLE_S)
    sampled_s = time.monotonic() - loaded_s
    if not any(each.text_bytes.estimate for each in sampled):
        raise MemwatchError(f"{', '.join(source.name for source in sources)} is empty: nothing to tokenize")
    most_text = sum(each.text_bytes.high for each in sampled)
    usual = peak_bytes(planned, limit, encoding.token_bytes, reading, most_text)
    named = settings.train_inputs
    of_val_file = None if named is None else _tokens(sampled[named:])
    disk = _disk(str(request.out or parent(sources[0].path) or "."))
    return Outlook(
        inputs=tuple(sampled),
        encoding=encoding,
        engine=chosen.engine.name,
        format=settings.format,
        speed=JobSpeed(
            encode_s=counter.encode_s,
            unpack_s=counter.unpack_s,
            start_s=START_S + loaded_s - started_s,
            workers=planned.workers,
            cores=cores_here(),
            busy_others=max(os.getloadavg()[0] - 1, 0.0),
        ),
        usual_bytes=usual + GUARD_BYTES,
        least_bytes=least_bytes(encoding.token_bytes, reading) + GUARD_BYTES,
        script=ListScript(
            bytes_per_token=bytes_per_token(counter.shared_fraction),
            token_bytes=encoding.token_bytes,
            tokens_per_s=counter.list_script_speed(),
        ),
        memory=_memory(),
        disk=disk,
        command=tuple(command),
        notes=(
            *(note for note in (choice.note, chosen.note) if note is not None),
            *binary_notes(sources),
            *encoding_notes(settings, encoding),
            *expected_notes(settings, likely_split(settings, _tokens(sampled[:named]), of_val_file)),
            *_notes(sampled, disk),
        ),
        sampled_s=sampled_s,
    )


def _tokens(sampled: Sequence[Sampled]) -> Range:
    return added([each.tokens for each in sampled]).whole()


def _memory() -> JobMemory:
    with closing(Machine()) as machine:
        return JobMemory.of(machine.sample(time.monotonic(), time.time(), ()), rss_bytes(os.getpid()) or 0)


def _disk(folder: str) -> OutputDisk:
    if is_remote(folder):
        return OutputDisk(folder, None, 0)
    partial = 0
    with suppress(OSError):  # Usually there is no unfinished run.
        partial = sum(entry.stat().st_size for entry in os.scandir(os.path.join(folder, PARTIAL)) if entry.is_file())
    return OutputDisk(folder, disk_free_bytes(folder), partial)


def _notes(sampled: list[Sampled], disk: OutputDisk) -> list[str]:
    notes = [
        f"{each.source.name} changed during sampling; if it is still growing, there will be more tokens"
        for each in sampled
        if _has_changed(each.source)
    ]
    partly = [each for each in sampled if each.seen_share < 1]
    for each in partly[:NAMED_INPUTS]:
        share = "less than 1 %" if 0 < each.seen_share < 0.01 else f"{100 * each.seen_share:.0f} %"
        notes.append(f"{share} of {each.source.name} was read in time; the rest is assumed to be similar")
    if len(partly) > NAMED_INPUTS:
        notes.append(f"{len(partly) - NAMED_INPUTS} more files were read only in part or not at all")
    if disk.partial_bytes:
        held = format_size(disk.partial_bytes)
        notes.append(f"{held} of an unfinished run are in {disk.name}; the same command resumes it")
    return notes


def _has_changed(source: Input) -> bool:
    try:
        source.check_unchanged()
    except MemwatchError:
        return True
    return False
