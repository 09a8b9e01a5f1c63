"""How many workers, and how much memory each may take, so that the whole job stays under its limit."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.errors import UsageError
from memwatch.model.sample import Sample
from memwatch.model.units import KIB, MIB, format_size
from memwatch.tokenize.settings import DEFAULT_MAX_MEMORY_BYTES, EngineName
from memwatch.tokenize.vocabulary import Encoding

if TYPE_CHECKING:
    from memwatch.tokenize.engines import Engine  # Loads numpy, which the coordinator does without.

# With room to spare, not tight: a new gpt2 worker takes 76 MiB (docs/MEASUREMENTS.md), the others are estimates that
# tests/faults/test_memory.py holds as a whole to the limit. The coordinator's share has the hasher in it.
COORDINATOR_BYTES = 64 * MIB
WORKER_FLOOR_BYTES = {2: 128 * MIB, 4: 192 * MIB}
# Blocks that a worker has at once: one that waits for its place, one under way, one to come.
TASKS_A_WORKER = 3
UNDER_WAY_BYTES = 12 * MIB
# With more memory a worker is handed larger tasks, which cost the coordinator less, and more of them: it has work left
# while another one, whose block comes first, waits for a core.
LARGE_UNDER_WAY_BYTES = 64 * MIB
LARGE_TASK_BLOCKS = 4
LARGE_TASKS_A_WORKER = 6
# So many tasks for each worker make the last ones end at about the same time.
LEAST_TASKS_A_WORKER = 16
# How much one more block may add before a worker looks at its memory again: 13 bytes for a byte of random words, and as
# much again while a table grows.
WORST_GROWTH_BYTES = 40 * MIB
WORST_GROWTH_A_BYTE = 13
# Caches beyond this make a worker no faster.
FULL_WORKER_BYTES = 256 * MIB
# Of what is available, where nobody has set a limit.
USUAL_SHARE = 8
# Measured (docs/MEASUREMENTS.md): tokenizers takes 4 to 10 times the size of a tokenizer.json.
TOKENIZERS_A_FILE_BYTE = 10
# Of memory for a byte of a document, while it is encoded as a whole, measured with prose, code and Japanese.
BYTES_A_DOCUMENT_BYTE = {"gigatoken": 40, "tokenizers": 200, "sentencepiece": 80, "tiktoken": 40}
# There is always room for a document of this size.
LEAST_DOCUMENT_BYTES = 128 * KIB


class ReadingMemory(NamedTuple):
    """What inputs take to read, beyond the usual: once, and in each worker. `kept_bytes` is what the allocator of a
    worker keeps free between two batches; with less it must be handed back and taken again, which costs time."""

    once_bytes: int = 0
    worker_bytes: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """How many workers there are, and the budget of each. The floor is for the one after a switch to shards."""

    workers: int
    worker_budget_bytes: int
    floor_budget_bytes: int
    task_blocks: int = 1
    tasks_a_worker: int = TASKS_A_WORKER

    def task_bytes(self, block_bytes: int, total_bytes: int | None) -> int:
        """A small input is cut finer, so that all workers have something to do."""
        if total_bytes is None:
            return block_bytes
        share = total_bytes // (LEAST_TASKS_A_WORKER * self.workers)
        return min(max(share, block_bytes), self.task_blocks * block_bytes)


def plan(
    max_memory_bytes: int | None, workers: int | None, cores: int, token_bytes: int, reading: ReadingMemory
) -> Plan:
    """Raises UsageError if the limit is too small for the wanted number of workers."""
    limit = max_memory_bytes or DEFAULT_MAX_MEMORY_BYTES
    floor = WORKER_FLOOR_BYTES[token_bytes] + reading.worker_bytes
    for_workers = limit - COORDINATOR_BYTES - reading.once_bytes
    fitting = for_workers // (floor + UNDER_WAY_BYTES)
    if fitting < (workers or 1):
        needed = limit - for_workers + (workers or 1) * (floor + UNDER_WAY_BYTES)
        raise UsageError(
            f"--max-memory {format_size(limit)} is too small for {_workers(workers or 1)}; "
            f"give at least {format_size(needed)}"
        )
    count = workers or min(cores, fitting)
    share = for_workers // count
    is_large = share >= floor + LARGE_UNDER_WAY_BYTES + WORST_GROWTH_BYTES
    under_way = LARGE_UNDER_WAY_BYTES if is_large else UNDER_WAY_BYTES
    budget, floor_budget = share - under_way - WORST_GROWTH_BYTES, floor - WORST_GROWTH_BYTES
    if not is_large:
        return Plan(count, budget, floor_budget)
    return Plan(count, budget, floor_budget, LARGE_TASK_BLOCKS, LARGE_TASKS_A_WORKER)


def peak_bytes(
    planned: Plan, max_memory_bytes: int | None, token_bytes: int, reading: ReadingMemory, text_bytes: float
) -> int:
    """Peak memory of a job. For a small text it is lower than the limit, because its caches stay small."""
    limit = max_memory_bytes or DEFAULT_MAX_MEMORY_BYTES
    at_rest = planned.workers * (WORKER_FLOOR_BYTES[token_bytes] + reading.worker_bytes + UNDER_WAY_BYTES)
    return min(limit, COORDINATOR_BYTES + reading.once_bytes + at_rest + round(WORST_GROWTH_A_BYTE * text_bytes))


def least_bytes(token_bytes: int, reading: ReadingMemory, workers: int | None = None) -> int:
    """The smallest --max-memory that will do."""
    worker = WORKER_FLOOR_BYTES[token_bytes] + reading.worker_bytes + UNDER_WAY_BYTES
    return COORDINATOR_BYTES + reading.once_bytes + (workers or 1) * worker


def usual_limit_bytes(
    machine: Sample, workers: int | None, cores: int, token_bytes: int, reading: ReadingMemory
) -> int:
    """Where nobody has set one: what as many workers as cores can use, up to an eighth of what is available; and never
    less than will do."""
    least = least_bytes(token_bytes, reading, workers)
    if machine.available_bytes is None or machine.capacity is None:
        return max(DEFAULT_MAX_MEMORY_BYTES, least)
    each = full_worker_bytes(token_bytes, reading)
    wanted = COORDINATOR_BYTES + reading.once_bytes + (workers or cores) * each
    headroom = machine.available_bytes - default_reserve_bytes(machine.capacity[0])
    return max(min(wanted, machine.available_bytes // USUAL_SHARE, headroom), least)


def full_worker_bytes(token_bytes: int, reading: ReadingMemory) -> int:
    """What a worker can use; more makes it no faster."""
    beyond_gpt2 = WORKER_FLOOR_BYTES[token_bytes] - WORKER_FLOOR_BYTES[2]
    return FULL_WORKER_BYTES + beyond_gpt2 + reading.worker_bytes + reading.kept_bytes


def with_engine_memory(reading: ReadingMemory, encoding: Encoding, engine: EngineName) -> ReadingMemory:
    """What a worker needs to read its input and to load its engine. The engine counts only with a tokenizer.json: what
    it takes with tiktoken's encodings is in WORKER_FLOOR_BYTES."""
    if encoding.kind != "tokenizer.json" or engine == "gigatoken" or encoding.path is None:
        return reading
    extra = TOKENIZERS_A_FILE_BYTE * os.path.getsize(encoding.path)
    return reading._replace(worker_bytes=reading.worker_bytes + extra)


def may_grow(engine: "Engine", used_bytes: int, budget_bytes: int) -> bool:
    """Whether a worker that uses so much may encode another block; if not, it renews its engine first."""
    return used_bytes + max(engine.next_growth_bytes - WORST_GROWTH_BYTES, 0) <= budget_bytes


def longest_document_bytes(encoding: Encoding, engine: str, free_bytes: int) -> int | None:
    """The longest document that a worker with so much free memory can encode; None if documents are cut."""
    if encoding.pretokenizer is not None:
        return None
    return max(free_bytes // BYTES_A_DOCUMENT_BYTE[engine], LEAST_DOCUMENT_BYTES)


def cores_here() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"
