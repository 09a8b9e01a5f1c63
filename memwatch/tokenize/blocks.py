"""Blocks: pieces of the inputs of about a MiB that can be encoded alone and in any order.

A block lies in one input, on one side of the split, and between two cuts. It carries the position after it, which is
all that is needed to go on from there. stream_blocks.py makes blocks of text and records, row_blocks.py blocks of rows,
archive_blocks.py those of the members of an archive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES
from memwatch.tokenize.settings import Split

# The longest record is the largest block. Text is cut long before that.
MOST_BLOCK_BYTES = LONGEST_RECORD_BYTES


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """Where a reader stands: before byte `offset` of the text of an input; in parquet, inside a row of a row group; in
    an archive, in a member of this number. `digest` and `lines` are of all that was read of the input so far."""

    input: int = 0
    offset: int = 0
    in_document: bool = False
    row_group: int = 0
    row: int = 0
    row_offset: int = 0
    digest: str | None = None
    turn: int = 0  # in a shuffled run: of the slice that comes next, or is being fed
    # The split, for inputs of which no earlier part can be read again (SplitWalk).
    next_unit: int = 0
    owed: int = 0
    val_start: int = 0
    val_end: int = 0
    end: int | None = None  # of the text, where that was in view
    member: int = 0
    lines: int = 0

    def as_json(self) -> dict[str, Any]:
        """The offset, and what differs from the default: a manifest has hundreds of positions."""
        named = ((name, getattr(self, name), field.default) for name, field in self.__dataclass_fields__.items())
        return {name: value for name, value, default in named if value != default or name == "offset"}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "ReadPosition":
        """Fields that earlier versions wrote and this one does not know are left out."""
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


class RowEnds(Protocol):
    """An array of numbers, whatever made it."""

    def __len__(self) -> int: ...

    def tolist(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """How the bytes of a block are to be read: all a worker needs to know beside them."""

    kind: Literal["text", "jsonl", "json", "rows", "long row"]
    continues: bool = False  # begins inside a document
    open_end: bool = False  # ends inside a document
    row_ends: Sequence[int] | RowEnds = ()
    missing_rows: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """What a worker encodes at once."""

    data: bytes | memoryview
    layout: BlockLayout
    split: Split
    inexact: bool
    start: ReadPosition
    after: ReadPosition
    file_position: int  # of the input's file, for progress
    name: str  # of the input, or of the member of an archive

    @property
    def length(self) -> int:
        return self.after.offset - self.start.offset


class BlockSource(Protocol):
    """The blocks of one input, or of a range of it."""

    ended: bool

    def next(self, at: ReadPosition, limit: int) -> Block | None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a range of a plain input ends: at a cut."""

    offset: int
    in_document: bool = False
