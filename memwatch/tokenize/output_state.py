"""What a checkpoint and a manifest record of the output files (outputs.py): complete ones, and how far others are."""

import hashlib
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from memwatch.tokenize.settings import Split

_SHA256_OF_NOTHING = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A complete file: `part` is its name in the partial folder, `name` its final one."""

    name: str
    part: str
    split: Split
    tokens: int
    size_bytes: int
    sha256: str
    holds: Literal["tokens", "index"] = "tokens"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PartState:
    """How far a growing file has come. `sha256` is that of its tokens, without the header, and `starts_sha256` that of
    the places where its documents begin."""

    shard: int = 0
    tokens: int = 0
    sha256: str = _SHA256_OF_NOTHING
    starts: int = 0
    starts_sha256: str = _SHA256_OF_NOTHING

    def with_sha256(self, sha256: tuple[str, ...]) -> "PartState":
        """`sha256` is that of the tokens and, if there is to be an index, that of the document starts."""
        return replace(self, sha256=sha256[0], starts_sha256=(*sha256, self.starts_sha256)[1])


@dataclass(frozen=True, slots=True)
class OutputState:
    """Everything about the outputs that a checkpoint must know."""

    sharded: bool = False
    train: PartState = field(default_factory=PartState)
    val: PartState = field(default_factory=PartState)
    complete: tuple[FileRecord, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "OutputState":
        return cls(
            sharded=data["sharded"],
            train=PartState(**data["train"]),
            val=PartState(**data["val"]),
            complete=tuple(FileRecord(**record) for record in data["complete"]),
        )
