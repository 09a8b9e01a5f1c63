"""The messages between the coordinator and the processes that work for it. They are small: text and tokens stay where
they are read, and are never sent.

A message is a named tuple of plain values. `marshal` packs it in a tenth of the time that `pickle` takes, and the
coordinator sends some thousand a second. All processes are forks of one, so both ends have the same version of it.
"""

import marshal
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from memwatch.tokenize.settings import Split


class Counts:
    """What a block held, beside its tokens."""

    __slots__ = ("bad", "documents", "missing_texts", "records", "replaced_bytes", "starts")

    def __init__(self, documents: int = 0, missing_texts: int = 0, replaced_bytes: int = 0, records: int = 0) -> None:
        self.documents = documents
        self.missing_texts = missing_texts
        self.replaced_bytes = replaced_bytes
        self.records = records
        self.bad: list[tuple[int, str]] = []  # skipped records: their number in the block, from 1, and what is wrong
        self.starts: Any = ()  # tokens of the block at which documents begin, if there is to be an index


class ReadTask(NamedTuple):
    """Read and encode a range: bytes of a plain input, row groups of parquet. Without an exact `start` position the
    range begins at the first cut at or after `begin`; it ends at the first cut at or after `end`."""

    number: int
    input: int
    begin: int
    end: int
    start: dict[str, Any] | None = None


class BatchTask(NamedTuple):
    """Read and encode slices from anywhere in the inputs, (input, begin, end) each, and shuffle their documents. They
    are those of some turns of a shuffled run."""

    number: int
    turn: int
    turn_after: int
    slices: tuple[tuple[int, int, int], ...]
    file_bytes: int


class SlotTask(NamedTuple):
    """Encode the first `length` bytes of a slot, which the feeder has read. The ends of rows stand after them."""

    number: int
    slot: int
    length: int
    kind: str
    continues: bool
    open_end: bool
    rows: int
    missing_rows: int
    split: Split
    inexact: bool
    start: dict[str, Any]
    after: dict[str, Any]
    file_position: int
    name: str
    lines_before: int


class FootersTask(NamedTuple):
    """Read the footer of a parquet input."""

    input: int


class SampleTask(NamedTuple):
    """Sample the inputs, to see how many tokens there will be."""


class WritePlace(NamedTuple):
    """Where the tokens of a block belong: (path, offset in the file, start and end among the block's bytes of tokens of
    this split). The block is done with then."""

    number: int
    train: tuple[tuple[str, int, int, int], ...]
    val: tuple[tuple[str, int, int, int], ...]
    # For document starts: (path, offset in the file, first and last of the block's starts, what to add to them).
    train_starts: tuple[tuple[str, int, int, int, int], ...] = ()
    val_starts: tuple[tuple[str, int, int, int, int], ...] = ()


class Shrink(NamedTuple):
    """Give back what can be given back, and stay below this from now on."""

    memory_budget_bytes: int


class Ready(NamedTuple):
    """From a worker: it has its engine. `note` is a sentence for the user, if there is one to show."""

    engine: str
    note: str | None


class Encoded(NamedTuple):
    """A block has tokens, which the worker holds until it knows their place."""

    number: int
    slot: int | None
    train_tokens: int
    val_tokens: int
    text_bytes: int
    file_position: int
    documents: int
    missing_texts: int
    replaced_bytes: int
    inexact_cuts: int
    records: int
    bad: tuple[tuple[str, int, str], ...]  # skipped records: the input's name, their number in the block, the problem
    checksum: str  # of the text
    val_ranges: tuple[tuple[int, int, int], ...]  # (input, start and end in its text)
    mark: tuple[int, dict[str, Any]] | None  # a number of train tokens in this block, and the position that follows
    after: dict[str, Any]
    reading_s: float
    encoding_s: float
    # The tokens at which documents begin, 32 bits each, where there is to be an index.
    train_starts: bytes = b""
    val_starts: bytes = b""


class Written(NamedTuple):
    """From a worker: the tokens of a block are in their place."""

    number: int
    writing_s: float
    waiting_s: float


class BlockFailed(NamedTuple):
    """Why a block cannot be read or encoded, in a sentence. `is_broken` says that the input is not to blame."""

    number: int
    problem: str
    is_broken: bool = False


class WriteFailed(NamedTuple):
    """A system call failed while tokens were written."""

    error_number: int
    path: str


class WorkerBroken(NamedTuple):
    """Why a worker cannot work at all."""

    problem: str


class Footers(NamedTuple):
    """(bytes of the text when unpacked, rows) of each row group; or what is wrong with the file."""

    input: int
    groups: tuple[tuple[int, int], ...]
    problem: str | None = None


class SampledTokens(NamedTuple):
    """(file bytes, tokens) at places in the inputs; None if they cannot be sampled."""

    marks: tuple[tuple[int, float], ...] | None


class Feed(NamedTuple):
    """To the feeder: read an input from a position on, parquet up to a row group."""

    start: dict[str, Any]
    stop_group: int | None
    block_bytes: int


class Fill(NamedTuple):
    """To the feeder: put the next block into a slot."""

    slot: int


class FeedEnded(NamedTuple):
    """From the feeder: no block is left, and a slot was not needed."""

    slot: int


class Grow(NamedTuple):
    """To the hasher: a growing file is complete up to this offset."""

    part: str
    end: int


class Sync(NamedTuple):
    """To the hasher: write these files to disk up to these offsets, and report the hashes."""

    ends: tuple[tuple[str, int], ...]


class Finish(NamedTuple):
    """To the hasher: a file is complete, but for its header."""

    part: str
    end: int
    header: bytes


class MakeIndex(NamedTuple):
    """To the hasher: a file of document starts is complete, and so is the file of tokens that it belongs to."""

    starts: str
    documents: int
    target: str
    format: str
    tokens: int
    token_bytes: int


class TakeUp(NamedTuple):
    """To the hasher: go on with a file whose tokens up to an offset have this hash."""

    part: str
    header_bytes: int
    end: int
    sha256: str


class Hashed(NamedTuple):
    """From the hasher: how much it has hashed since it started."""

    total_bytes: int


class Synced(NamedTuple):
    """From the hasher: all files of a `Sync` are on disk. The hashes of their tokens, in the same order."""

    sha256: tuple[str, ...]


class Finished(NamedTuple):
    """From the hasher: a file is complete and on disk."""

    part: str
    size_bytes: int
    sha256: str


class HashFailed(NamedTuple):
    """From the hasher: why it cannot go on."""

    problem: str
    error_number: int | None


Message = Any
_KINDS: tuple[type, ...] = (
    ReadTask, BatchTask, SlotTask, FootersTask, SampleTask, WritePlace, Shrink, Ready, Encoded, Written, BlockFailed,
    WriteFailed, WorkerBroken, Footers, SampledTokens, Feed, Fill, FeedEnded, Grow, Sync, Finish, MakeIndex, TakeUp,
    Hashed, Synced, Finished, HashFailed,
)  # fmt: skip
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}


def send(connection: Connection, message: Message) -> None:
    """A number for the kind, then the fields: marshal does not know classes."""
    connection.send_bytes(marshal.dumps((_NUMBERS[type(message)], *message)))


def receive(connection: Connection) -> Message:
    """The next message, of its own kind again."""
    kind, *fields = marshal.loads(connection.recv_bytes())
    return _KINDS[kind](*fields)
