"""The output folder of a run on many machines: the plan, the done-marks, and where everything lies.

plan.json is what the run is, agreed upon by all its processes. A done-mark is what is known about a finished segment;
all of them together make the manifest.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.storage.address import is_remote, join, name_of
from memwatch.storage.store import Store, store_of
from memwatch.tokenize.formats.file_names import Names
from memwatch.tokenize.segments import Segment
from memwatch.tokenize.settings import TokenizeSettings


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


PARTIAL = ".memwatch-partial"
MANIFEST = "manifest.json"
# Reading a small object from a bucket is all waiting: 100,000 marks of 30 ms each take 100 s this way.
READERS = 32


@dataclass(frozen=True, slots=True)
class RunFolder:
    out: str

    @property
    def store(self) -> Store:
        return store_of(self.out)

    @property
    def partial(self) -> str:
        return join(self.out, PARTIAL)

    @property
    def scratch(self) -> str | None:
        """Where unfinished files lie; a bucket shows none."""
        return None if is_remote(self.out) else join(self.partial, "scratch")

    def file(self, name: str) -> str:
        return join(self.out, name)

    @property
    def plan_address(self) -> str:
        return join(self.partial, "plan.json")

    @property
    def nodes(self) -> str:
        return join(self.partial, "nodes")

    def val_part(self, number: int) -> str:
        return join(self.partial, "val", f"{number:05d}.part")

    def val_starts(self, number: int) -> str:
        return join(self.partial, "val", f"{number:05d}.starts")

    def mark_address(self, number: int) -> str:
        return join(self.partial, "segments", f"{number:05d}.json")

    def load_plan(self) -> SharedPlan | None:
        try:
            return SharedPlan.from_json(self.store.read(self.plan_address), self.plan_address)
        except FileNotFoundError:
            return None

    @property
    def has_plan(self) -> bool:
        """From when the run is planned until it is finished."""
        return self._exists(self.plan_address)

    def agree_on(self, plan: SharedPlan) -> SharedPlan:
        """Write the plan unless there is one, and return the one that is there."""
        self.store.put_if_absent(self.plan_address, plan.to_json())
        agreed = self.load_plan()
        return plan if agreed is None else agreed

    def done(self) -> set[int]:
        """The numbers of the finished segments."""
        names = (name_of(info.address) for info in self.store.list_folder(join(self.partial, "segments")))
        stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return {int(stem) for stem in stems if stem.isascii() and stem.isdigit()}

    def is_done(self, number: int) -> bool:
        """The marks are removed when the run is finished, and then every segment is done."""
        return self._exists(self.mark_address(number)) or self.is_finished

    def write_mark(self, mark: SegmentMark) -> None:
        self.store.put(self.mark_address(mark.number), mark.to_json())

    def marks(self, count: int) -> Iterator[SegmentMark]:
        """All marks in the order of the segments."""
        with ThreadPoolExecutor(READERS) as pool:
            yield from pool.map(self.mark, range(count))

    def mark(self, number: int) -> SegmentMark:
        address = self.mark_address(number)
        return SegmentMark.from_json(self.store.read(address), address)

    @property
    def is_finished(self) -> bool:
        return self._exists(self.file(MANIFEST))

    def _exists(self, address: str) -> bool:
        try:
            self.store.info(address)
            return True
        except FileNotFoundError:
            return False

    def load_manifest(self) -> dict[str, Any]:
        address = self.file(MANIFEST)
        try:
            manifest: dict[str, Any] = json.loads(self.store.read(address))
            return {**manifest, "files": list(manifest["files"])}
        except (ValueError, KeyError, TypeError) as error:
            raise MemwatchError(f"{address} is damaged ({error})") from error

    def drop_partial(self) -> None:
        """Remove everything unfinished. The plan goes first: without it the rest means nothing."""
        self.store.remove(self.plan_address)
        for info in list(self.store.list_folder(self.partial)):
            self.store.remove(info.address)
        if not is_remote(self.out):
            _remove_empty_folders(self.partial)


def _remove_empty_folders(folder: str) -> None:
    for parent, _, _ in os.walk(folder, topdown=False):
        # Another process may still write there; what it leaves is removed by whoever runs next.
        with suppress(OSError):
            os.rmdir(parent)
