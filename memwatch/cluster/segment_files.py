"""Writes what a segment becomes: its shard, its part of the validation tokens, and an index of documents for each."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from memwatch.cluster.run_folder import SegmentFile
from memwatch.model.units import MIB
from memwatch.storage.address import name_of
from memwatch.storage.store import Store, Upload
from memwatch.tokenize.formats.document_index import START_BYTES, IndexBytes, Starts

COPY_BYTES = 4 * MIB
# Side of the split, tokens, and the positions at which documents begin, from the first token of this side on.
EncodedPieces = Iterable[tuple[str, bytes | memoryview, bytes]]


@dataclass(frozen=True, slots=True)
class IndexFile:
    """Where an index goes, and what it holds, by the starts of documents and the number of tokens."""

    address: str
    content: Callable[[Starts, int], IndexBytes]


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Where tokens go, how long one is, and what stands before them, by their number. Most formats have no header."""

    address: str
    token_bytes: int
    header: Callable[[int], bytes] | None = None
    index: IndexFile | None = None


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """None for what has no tokens: loaders fail on an empty shard."""

    tokens: SegmentFile | None = None
    index: SegmentFile | None = None


def write_segment(
    store: Store, scratch: str | None, pieces: EncodedPieces, train: TokenFile, val: TokenFile
) -> tuple[WrittenFiles, WrittenFiles]:
    """Write the pieces as they come, and publish all files at the end. Memory does not grow with the segment."""
    outputs = {"train": _Output(store, scratch, train), "val": _Output(store, scratch, val)}
    try:
        for split, data, starts in pieces:
            outputs[split].write(data, starts)
        return outputs["train"].publish(), outputs["val"].publish()
    finally:
        for output in outputs.values():
            output.discard()


class _HashedUpload:
    """An upload whose content is hashed on the way."""

    def __init__(self, upload: Upload, address: str) -> None:
        self._upload = upload
        self._address = address
        self._sha256 = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes | memoryview) -> None:
        self._sha256.update(data)
        self._size += memoryview(data).nbytes
        self._upload.write(data)

    def publish(self, tokens: int) -> SegmentFile:
        self._upload.publish()
        return SegmentFile(name_of(self._address), tokens, self._size, self._sha256.hexdigest())

    def discard(self) -> None:
        self._upload.discard()


class _Output:
    def __init__(self, store: Store, scratch: str | None, file: TokenFile) -> None:
        self._file = file
        self._tokens = _HashedUpload(store.upload(file.address, scratch), file.address)
        # A header names the number of tokens, and an object is written front to back: the tokens of this one segment
        # wait in a temporary file. So do the starts of documents, which an index is made of at the end.
        self._waiting: IO[bytes] | None = None if file.header is None else tempfile.TemporaryFile()  # noqa: SIM115
        self._starts: IO[bytes] | None = None if file.index is None else tempfile.TemporaryFile()  # noqa: SIM115
        self._index = (
            None
            if file.index is None
            else _HashedUpload(store.upload(file.index.address, scratch), file.index.address)
        )  # fmt: skip
        self._tokens_bytes = 0

    def write(self, data: bytes | memoryview, starts: bytes) -> None:
        self._tokens_bytes += memoryview(data).nbytes
        if self._waiting is not None:
            self._waiting.write(data)
        else:
            self._tokens.write(data)
        if self._starts is not None:
            self._starts.write(starts)

    def publish(self) -> WrittenFiles:
        tokens = self._tokens_bytes // self._file.token_bytes
        if not tokens:
            return WrittenFiles()
        if self._file.header is not None and self._waiting is not None:
            self._tokens.write(self._file.header(tokens))
            for piece in _read_back(self._waiting):
                self._tokens.write(piece)
        return WrittenFiles(self._tokens.publish(tokens), self._publish_index(tokens))

    def _publish_index(self, tokens: int) -> SegmentFile | None:
        if self._file.index is None or self._index is None or self._starts is None:
            return None
        for piece in self._file.index.content(starts_in(self._starts), tokens):
            self._index.write(piece)
        return self._index.publish(0)

    def discard(self) -> None:
        self._tokens.discard()
        if self._index is not None:
            self._index.discard()
        for file in (self._waiting, self._starts):
            if file is not None:
                file.close()


def starts_in(file: IO[bytes]) -> Starts:
    """The starts of documents in a temporary file."""
    file.flush()

    def read(first: int, last: int) -> bytes:
        return os.pread(file.fileno(), (last - first) * START_BYTES, first * START_BYTES)

    return Starts(os.fstat(file.fileno()).st_size // START_BYTES, read)


def raw_starts(starts: Starts, _tokens: int) -> IndexBytes:
    """The starts of documents, unchanged: the index of several parts is made of them later."""
    for chunk in starts.chunks():
        yield chunk.tobytes()


def _read_back(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while data := file.read(COPY_BYTES):
        yield data
