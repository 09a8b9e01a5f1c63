"""Done-marks: what is known about a finished segment. All of them together make the manifest."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from memwatch.errors import MemwatchError


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A complete file of a segment: a shard, its part of the validation tokens, or an index (without tokens)."""

    name: str
    tokens: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SegmentMark:
    number: int
    train: SegmentFile | None  # None if all of the segment's text is validation text, or if it is empty
    val: SegmentFile | None
    counts: dict[str, Any]
    engine: str
    seconds: float
    node: str
    train_index: SegmentFile | None = None
    val_starts: SegmentFile | None = None  # where the documents of its validation tokens begin

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in (self.train, self.val) if file is not None)

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes, address: str) -> "SegmentMark":
        try:
            data = json.loads(text)
            names = ("train", "val", "train_index", "val_starts")
            files = {name: SegmentFile(**data[name]) if data.get(name) is not None else None for name in names}
            if any(file is not None and "/" in file.name for file in files.values()):
                raise ValueError("it names files in other folders")
            return cls(**{**data, **files})
        except (ValueError, KeyError, TypeError) as error:
            raise MemwatchError(f"{address} is damaged ({error}); remove it to make this segment again") from error
