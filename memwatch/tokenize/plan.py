"""How many workers, and how much memory each may take, so that the whole job stays under its limit."""

import os
from dataclasses import dataclass

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.errors import UsageError
from memwatch.model.sample import Sample
from memwatch.model.units import MIB, format_size
from memwatch.tokenize.settings import DEFAULT_MAX_MEMORY_BYTES

# With room to spare, not tight: a new gpt2 worker takes 41 MiB (docs/MEASUREMENTS.md), the others are estimates that
# tests/faults/test_memory.py holds as a whole to the limit.
COORDINATOR_BYTES = 40 * MIB
WORKER_FLOOR_BYTES = {2: 96 * MIB, 4: 160 * MIB}
SLOTS_A_WORKER = 2
SLOT_BYTES = 4 * MIB
# How much one more block may add before a worker looks at its memory again: 13 bytes for a byte of random words.
WORST_GROWTH_BYTES = 24 * MIB
WORST_GROWTH_A_BYTE = 13


@dataclass(frozen=True, slots=True)
class Plan:
    workers: int
    worker_budget_bytes: int
    floor_budget_bytes: int


def plan(max_memory_bytes: int | None, workers: int | None, cores: int, token_bytes: int, reading_bytes: int) -> Plan:
    """`reading_bytes` is what the inputs take to read, beyond the usual."""
    limit = max_memory_bytes or DEFAULT_MAX_MEMORY_BYTES
    floor = WORKER_FLOOR_BYTES[token_bytes]
    for_workers = limit - COORDINATOR_BYTES - reading_bytes
    a_worker = floor + SLOTS_A_WORKER * SLOT_BYTES
    fitting = for_workers // a_worker
    if fitting < (workers or 1):
        needed = limit - for_workers + (workers or 1) * a_worker
        raise UsageError(
            f"--max-memory {format_size(limit)} is too small for {_workers(workers or 1)}; "
            f"give at least {format_size(needed)}"
        )
    count = workers or min(cores, fitting)
    budget = for_workers // count - SLOTS_A_WORKER * SLOT_BYTES - WORST_GROWTH_BYTES
    return Plan(count, budget, floor - WORST_GROWTH_BYTES)


def peak_bytes(
    planned: Plan, max_memory_bytes: int | None, token_bytes: int, reading_bytes: int, text_bytes: float
) -> int:
    """Peak memory of a job. For a small text it is lower than the limit, because its caches stay small."""
    limit = max_memory_bytes or DEFAULT_MAX_MEMORY_BYTES
    at_rest = planned.workers * (WORKER_FLOOR_BYTES[token_bytes] + SLOTS_A_WORKER * SLOT_BYTES)
    return min(limit, COORDINATOR_BYTES + reading_bytes + at_rest + round(WORST_GROWTH_A_BYTE * text_bytes))


def least_bytes(token_bytes: int, reading_bytes: int) -> int:
    """The smallest --max-memory that will do."""
    return COORDINATOR_BYTES + reading_bytes + WORKER_FLOOR_BYTES[token_bytes] + SLOTS_A_WORKER * SLOT_BYTES


def usual_limit_bytes(machine: Sample, token_bytes: int, reading_bytes: int) -> int:
    """Where nobody has set one: the default, or what there is room for; and never less than will do."""
    if machine.available_bytes is None or machine.capacity is None:
        return DEFAULT_MAX_MEMORY_BYTES
    headroom = machine.available_bytes - default_reserve_bytes(machine.capacity[0])
    return max(min(DEFAULT_MAX_MEMORY_BYTES, headroom), least_bytes(token_bytes, reading_bytes))


def cores_here() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"
