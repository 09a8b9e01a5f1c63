"""Makes the plan of a run, or joins the one that is there."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from memwatch.cluster.run_folder import READERS, RunFolder, SharedPlan
from memwatch.errors import MemwatchError, UsageError
from memwatch.model.units import MIB
from memwatch.probe.cgroups import memory_sample
from memwatch.storage.address import is_remote
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.inputs.input_formats import FORMATS
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.reading_memory import reading_memory
from memwatch.tokenize.inputs.row_reader import open_rows
from memwatch.tokenize.plan import (
    WORKER_FLOOR_BYTES,
    WORST_GROWTH_BYTES,
    cores_here,
    full_worker_bytes,
    plan,
    usual_limit_bytes,
    with_engine_memory,
)
from memwatch.tokenize.segments import Groups, Segment, segments_of
from memwatch.tokenize.settings import EngineName, TokenizeRequest, TokenizeSettings
from memwatch.tokenize.vocabulary_file import encoding_of

MANY_SEGMENTS = 1024
LEAST_SEGMENT_BYTES = 64 * MIB
LARGEST_SEGMENT_BYTES = 1024 * MIB
# Measured: front 17, guard 17, watcher 10, Ray's worker 75, its uploads 24 MiB.
TASK_OVERHEAD_BYTES = 144 * MIB


def agreed_plan(
    folder: RunFolder, settings: TokenizeSettings, inputs: Sequence[Input], segment_bytes: int | None
) -> SharedPlan:
    """The plan that all processes of this run follow. Raises if the folder has the plan of another run."""
    if any(source.is_standard_input for source in inputs):
        raise UsageError("standard input (-) cannot be split into segments; name files instead")
    inputs = [_absolute(source) for source in inputs]
    found = folder.load_plan()
    if found is None:
        size_bytes = segment_bytes or usual_segment_bytes(inputs)
        segments = [list(segment) for segment in all_segments(inputs, settings.text_column, size_bytes)]
        if settings.val == "first-shard" and len(segments) < 2:
            raise UsageError("--val first-shard leaves nothing for training: the input is one segment; use --val ratio")
        made = SharedPlan(settings.as_json(), [source.as_json() for source in inputs], segments)
        found = folder.agree_on(made)
    check_same_run(found, settings, inputs)
    return found


def all_segments(inputs: Sequence[Input], text_column: str, segment_bytes: int) -> list[Segment]:
    with ThreadPoolExecutor(READERS) as pool:
        groups = list(pool.map(lambda source: _groups(source, text_column), inputs))
    return [
        segment
        for number, source in enumerate(inputs)
        for segment in segments_of(number, source, groups[number], segment_bytes, ReadPosition(number))
    ]


def check_same_run(found: SharedPlan, settings: TokenizeSettings, inputs: Sequence[Input]) -> None:
    changes = settings.changes_since(found.settings)
    if len(inputs) != len(found.inputs):
        changes.append(f"the number of inputs was {len(found.inputs)} and is now {len(inputs)}")
    else:
        changed = (now.change_since(then) for now, then in zip(inputs, found.inputs, strict=True))
        changes += [change for change in changed if change is not None]
    if changes:
        raise MemwatchError(
            f"cannot join the run in this folder: {'; '.join(changes[:3])}. "
            "Repeat the original command to resume it, or add --fresh to delete it and start over"
        )


def segment_sizes(shared: SharedPlan) -> list[int]:
    """Bytes of the input files that each segment stands for, to measure progress by."""
    segments = [Segment(*segment) for segment in shared.segments]
    groups_of: dict[int, int] = {}
    for segment in segments:
        if segment.end is not None:
            groups_of[segment.input] = max(groups_of.get(segment.input, 0), segment.end)
    sizes = []
    for segment in segments:
        source = shared.inputs[segment.input]
        size = source["size_bytes"]
        if segment.end is None:
            sizes.append(size)
        elif FORMATS[source["kind"]].has_rows:
            last = groups_of[segment.input]
            sizes.append(size * segment.end // last - size * segment.begin // last)
        else:
            sizes.append(segment.end - segment.begin)
    return sizes


@dataclass(frozen=True, slots=True)
class WorkerMeans:
    """How many workers this process starts, and how much memory each may take."""

    workers: int
    budget_bytes: int


def worker_means(request: TokenizeRequest, inputs: list[Input], engine: EngineName) -> WorkerMeans:
    resources = request.resources
    encoding = encoding_of(request.settings)
    token_bytes = encoding.token_bytes
    reading = with_engine_memory(reading_memory(inputs, request.settings.text_column), encoding, engine)
    limit = resources.max_memory_bytes
    if limit is None:
        limit = usual_limit_bytes(memory_sample(), resources.workers, cores_here(), token_bytes, reading)
    planned = plan(limit, resources.workers, cores_here(), token_bytes, reading)
    return WorkerMeans(planned.workers, planned.worker_budget_bytes)


@dataclass(frozen=True, slots=True)
class TaskMeans:
    """Of a task on another machine: the budget of its tokenizer, and what it takes with its guard and Ray's worker."""

    budget_bytes: int
    memory_bytes: int


def task_means(request: TokenizeRequest, inputs: list[Input], engine: EngineName) -> TaskMeans:
    encoding = encoding_of(request.settings)
    token_bytes = encoding.token_bytes
    reading = with_engine_memory(reading_memory(inputs, request.settings.text_column), encoding, engine)
    floor = WORKER_FLOOR_BYTES[token_bytes] + reading.worker_bytes + reading.once_bytes
    limit = request.resources.max_memory_bytes or full_worker_bytes(token_bytes, reading) + reading.once_bytes
    budget = max(limit, floor) - WORST_GROWTH_BYTES
    return TaskMeans(budget, budget + WORST_GROWTH_BYTES + TASK_OVERHEAD_BYTES)


def usual_segment_bytes(inputs: Sequence[Input]) -> int:
    """Small enough that a thousand workers have something to do, large enough that starting one does not count."""
    total = sum(source.size_bytes or 0 for source in inputs)
    wanted = max(total // MANY_SEGMENTS, 1)
    return min(max(1 << (wanted - 1).bit_length(), LEAST_SEGMENT_BYTES), LARGEST_SEGMENT_BYTES)


def _absolute(source: Input) -> Input:
    """Processes of one run may have different working folders."""
    return source if is_remote(source.path) else replace(source, path=os.path.abspath(source.path))


def _groups(source: Input, text_column: str) -> Groups | None:
    if not source.has_rows:
        return None
    rows = open_rows(source, text_column)
    try:
        return rows.group_sizes()
    finally:
        rows.close()
