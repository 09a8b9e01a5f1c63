"""Writes what a segment becomes: its shard, its part of the validation tokens, and last its done-mark."""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from memwatch.cluster.marks import SegmentFile
from memwatch.model.units import MIB
from memwatch.storage.address import name_of
from memwatch.storage.store import Store

COPY_BYTES = 4 * MIB
EncodedPieces = Iterable[tuple[str, bytes | memoryview]]


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Where tokens go, how long one is, and what stands before them, by their number. Most formats have no header."""

    address: str
    token_bytes: int
    header: Callable[[int], bytes] | None = None


def write_segment(
    store: Store, scratch: str | None, pieces: EncodedPieces, train: TokenFile, val: TokenFile
) -> tuple[SegmentFile, SegmentFile]:
    """Write the pieces as they come, and publish both files at the end. Memory does not grow with the segment."""
    outputs = {"train": _Output(store, scratch, train), "val": _Output(store, scratch, val)}
    try:
        for split, data in pieces:
            outputs[split].write(data)
        return outputs["train"].publish(), outputs["val"].publish()
    finally:
        for output in outputs.values():
            output.discard()


class _Output:
    def __init__(self, store: Store, scratch: str | None, file: TokenFile) -> None:
        self._file = file
        self._upload = store.upload(file.address, scratch)
        # A header names the number of tokens, and an object is written front to back: the tokens of this one segment
        # wait in a temporary file.
        self._waiting: IO[bytes] | None = None if file.header is None else tempfile.TemporaryFile()  # noqa: SIM115
        self._sha256 = hashlib.sha256()
        self._size = 0
        self._tokens_bytes = 0

    def write(self, data: bytes | memoryview) -> None:
        self._tokens_bytes += memoryview(data).nbytes
        if self._waiting is not None:
            self._waiting.write(data)
        else:
            self._send(data)

    def publish(self) -> SegmentFile:
        tokens = self._tokens_bytes // self._file.token_bytes
        if self._file.header is not None and self._waiting is not None:
            self._send(self._file.header(tokens))
            for piece in _read_back(self._waiting):
                self._send(piece)
        self._upload.publish()
        return SegmentFile(name_of(self._file.address), tokens, self._size, self._sha256.hexdigest())

    def discard(self) -> None:
        self._upload.discard()
        if self._waiting is not None:
            self._waiting.close()

    def _send(self, data: bytes | memoryview) -> None:
        self._sha256.update(data)
        self._size += memoryview(data).nbytes
        self._upload.write(data)


def _read_back(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while data := file.read(COPY_BYTES):
        yield data
