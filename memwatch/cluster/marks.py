"""Done-marks: what is known about a finished segment. All of them together make the manifest."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from memwatch.errors import MemwatchError


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A complete file of a segment: a shard, or its part of the validation tokens."""

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

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in (self.train, self.val) if file is not None)

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes, address: str) -> "SegmentMark":
        try:
            data = json.loads(text)
            files = {split: None if data[split] is None else SegmentFile(**data[split]) for split in ("train", "val")}
            if any(file is not None and "/" in file.name for file in files.values()):
                raise ValueError("it names files in other folders")
            return cls(**{**data, **files})
        except (ValueError, KeyError, TypeError) as error:
            raise MemwatchError(f"{address} is damaged ({error}); remove it to make this segment again") from error
