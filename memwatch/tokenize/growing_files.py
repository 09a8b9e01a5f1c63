"""Output files that grow in the partial folder: which of their tokens have a place, and which are written.

Workers write in any order, so a growing file may have holes. outputs.py keeps one `OutputPart` for each file
that is not complete.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memwatch.errors import MemwatchError
from memwatch.tokenize.output_state import PartState
from memwatch.tokenize.settings import Split

Places = tuple[tuple[str, int, int, int], ...]
StartPlaces = tuple[tuple[str, int, int, int, int], ...]


@dataclass(slots=True)
class GrowingFile:
    """Items of one size after a header. Workers write them in any order."""

    path: Path
    header_bytes: int
    item_bytes: int
    placed: int  # items that have their place
    written: int  # of them, those without a hole before them
    reported: int = 0  # bytes that the hasher knows of

    def end(self, items: int) -> int:
        """The offset in the file after so many items."""
        return self.header_bytes + items * self.item_bytes

    @property
    def written_end(self) -> int:
        return self.end(self.written)

    @classmethod
    def taken_up(cls, path: Path, header_bytes: int, item_bytes: int, items: int) -> "GrowingFile":
        """A new file, or one that an earlier run has begun: made what the checkpoint says."""
        file = cls(path, header_bytes, item_bytes, items, items)
        file.reported = file.written_end
        _cut_off(path, file.reported, items)
        return file


@dataclass(slots=True)
class OutputPart:
    """One growing file of tokens, with the places where its documents begin, if there is to be an index."""

    split: Split
    shard: int
    tokens: GrowingFile
    starts: GrowingFile | None
    limit: int | None = None  # of tokens, where it is not the usual one
    is_full: bool = False

    @property
    def files(self) -> list[GrowingFile]:
        return [self.tokens] if self.starts is None else [self.tokens, self.starts]

    def place(self, start: int, count: int) -> tuple[str, int, int, int]:
        """For some tokens of a block, from its token `start` on."""
        file = self.tokens
        at = file.end(file.placed)
        file.placed += count
        return str(file.path), at, start * file.item_bytes, (start + count) * file.item_bytes

    def place_starts(self, first: int, last: int, token: int) -> tuple[str, int, int, int, int]:
        """For the document starts first to last of a block, before whose tokens from `token` on are placed. The last
        number is to be added to them."""
        assert self.starts is not None
        at = self.starts.end(self.starts.placed)
        self.starts.placed += last - first
        return str(self.starts.path), at, first, last, self.tokens.placed - token

    @property
    def is_complete(self) -> bool:
        """Whether it gets no more tokens, and all that it has are written."""
        return self.is_full and self.tokens.written == self.tokens.placed

    @property
    def state(self) -> PartState:
        """How far it is written, without the checksums that the hasher has."""
        return PartState(self.shard, self.tokens.written, starts=0 if self.starts is None else self.starts.written)


class PartShare(NamedTuple):
    """What of a block went to a part."""

    part: OutputPart
    tokens: int
    starts: int


def _cut_off(path: Path, size: int, items: int) -> None:
    """Make the file what the checkpoint says: cut off what came later."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        if items and os.fstat(fd).st_size < size:
            raise MemwatchError(f"{path} is shorter than the checkpoint records; start over with --fresh")
        os.ftruncate(fd, size)
    finally:
        os.close(fd)
