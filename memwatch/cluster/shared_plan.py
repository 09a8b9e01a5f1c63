"""plan.json: what the run is, agreed upon by all its processes."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.storage.address import name_of
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.segments import Segment
from memwatch.tokenize.settings import TokenizeSettings

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """Contains nothing about who made it or when: processes that make it at the same time write the same bytes.

    `segments` are what tokenize/segments.py makes of the inputs, in order, as JSON values.
    """

    settings: dict[str, Any]
    inputs: list[dict[str, Any]]
    segments: list[Any]

    @property
    def names(self) -> Names:
        digits = max(4, len(str(len(self.segments) - 1)))
        return Names.of_run(TokenizeSettings(**self.settings), name_of(self.inputs[0]["path"]), digits)

    def source_of(self, number: int) -> str:
        """The input that a segment is of."""
        return str(self.inputs[Segment(*self.segments[number]).input]["path"])

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.to_json()).hexdigest()

    def to_json(self) -> bytes:
        lines = ",\n".join(json.dumps(segment, separators=(",", ":")) for segment in self.segments)
        head = json.dumps({"schema": SCHEMA, "settings": self.settings, "inputs": self.inputs}, indent=1)
        return f'{head[:-2]},\n "segments": [\n{lines}\n]\n}}\n'.encode()

    @classmethod
    def from_json(cls, text: bytes, address: str) -> "SharedPlan":
        try:
            data = json.loads(text)
            if data["schema"] != SCHEMA:
                raise ValueError("written by another version of memwatch")
            return cls(dict(data["settings"]), list(data["inputs"]), list(data["segments"]))
        except (ValueError, KeyError, TypeError) as error:
            raise MemwatchError(f"{address} is damaged ({error}); start over with --fresh") from error
