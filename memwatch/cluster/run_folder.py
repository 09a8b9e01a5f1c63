"""The output folder of a run on many machines: where everything lies, how it is read and written."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from memwatch.cluster.marks import SegmentMark
from memwatch.cluster.shared_plan import SharedPlan
from memwatch.errors import MemwatchError
from memwatch.storage.address import is_remote, join, name_of
from memwatch.storage.store import Store, store_of

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
        try:
            self.store.info(self.mark_address(number))
            return True
        except FileNotFoundError:
            return False

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
        try:
            self.store.info(self.file(MANIFEST))
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
