"""What memwatch needs of storage, files and buckets alike, and which store an address belongs to."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from memwatch.storage.address import is_remote, parse


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """A file or object as it is now. `version` changes with the content: an ETag; None for local files, which have
    a modification time of enough resolution."""

    address: str
    size_bytes: int
    modified_ns: int
    version: str | None = None


class Upload(Protocol):
    """A file or object that is being written. Nobody sees it under its address before `publish`."""

    def write(self, data: bytes | memoryview) -> None: ...

    def publish(self) -> None:
        """Make it visible under its address, complete, replacing what was there."""

    def discard(self) -> None:
        """Drop what was written. Does nothing after `publish`."""


class Store(Protocol):
    """Addresses that do not exist raise FileNotFoundError, other failures MemwatchError with one sentence."""

    def glob(self, pattern: str) -> list[ObjectInfo]:
        """What matches the pattern, in the order of names."""

    def list_folder(self, folder: str) -> Iterator[ObjectInfo]:
        """What lies in the folder itself or below it, in any order; nothing if there is no such folder."""

    def info(self, address: str) -> ObjectInfo: ...

    def read(self, address: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from start to end, fewer if it ends before."""

    def open(self, info: ObjectInfo, sequential: bool) -> io.RawIOBase:
        """A seekable file. `sequential`: it is read front to back after a seek, so reading ahead pays."""

    def upload(self, address: str, scratch: str | None = None) -> Upload:
        """Start to write. `scratch` is the folder for unfinished files; object stores need none."""

    def put(self, address: str, data: bytes) -> None:
        """Write a small object at once, durably."""

    def put_if_absent(self, address: str, data: bytes) -> bool:
        """Write a small object unless there is one, and return whether it was written. Not every store can rule out
        that two writers both succeed: rely on it to save work only."""

    def remove(self, address: str) -> None:
        """Remove it if it exists."""


def store_of(address: str) -> Store:
    """The store that has this address. One for each bucket, kept."""
    if not is_remote(address):
        return _local()
    return _bucket(parse(address).bucket_url)


@lru_cache(maxsize=1)
def _local() -> Store:
    from memwatch.storage.local_store import LocalStore

    return LocalStore()


@lru_cache(maxsize=16)
def _bucket(bucket_url: str) -> Store:
    from memwatch.storage.bucket_store import BucketStore

    return BucketStore(bucket_url)
