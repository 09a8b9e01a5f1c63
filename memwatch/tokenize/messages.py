"""The messages between the coordinator and its workers. Text and tokens are in shared memory, not in messages."""

from dataclasses import dataclass

from memwatch.tokenize.blocks import BlockLayout


@dataclass(slots=True)
class Counts:
    """What a block held, beside its tokens."""

    documents: int = 0
    missing_texts: int = 0
    replaced_bytes: int = 0
    records: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """Encode the first `length` bytes of a slot; the tokens are to take their place."""

    number: int
    slot: int
    length: int
    layout: BlockLayout


@dataclass(frozen=True, slots=True)
class Shrink:
    """Give back what can be given back, and stay below this from now on."""

    memory_budget_bytes: int


@dataclass(frozen=True, slots=True)
class Ready:
    engine: str
    note: str | None


@dataclass(frozen=True, slots=True)
class BlockDone:
    number: int
    slot: int
    tokens: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class WorkerBroken:
    """Why a worker cannot work at all."""

    problem: str


@dataclass(frozen=True, slots=True)
class BlockFailed:
    """Why a block cannot be encoded. `line` or `offset` say where in it."""

    number: int
    slot: int
    problem: str
    line: int | None = None
    offset: int | None = None
