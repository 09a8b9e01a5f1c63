"""An object as a seekable file, for readers that expect one: gzip, zstd, pyarrow."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memwatch.storage.store import ObjectInfo

if TYPE_CHECKING:
    from memwatch.storage.bucket_store import BucketStore


class ObjectFile(io.RawIOBase):
    """Sequential: one request is open and read piece by piece. Otherwise each read is a request for exactly its range,
    as parquet readers want it."""

    def __init__(self, store: "BucketStore", info: ObjectInfo, sequential: bool) -> None:
        super().__init__()
        self._store = store
        self._info = info
        self._sequential = sequential
        self._position = 0
        self._pieces: Iterator[bytes] | None = None
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._info.size_bytes}[whence]
        position = max(start + offset, 0)
        if position != self._position:
            self._position = position
            self._drop_request()
        return position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = self._read_ahead(view) if self._sequential else self._read_exactly(view)
        self._position += count
        return count

    def close(self) -> None:
        self._drop_request()
        super().close()

    def _read_ahead(self, view: memoryview) -> int:
        if not self._rest:
            if self._pieces is None:
                size = self._info.size_bytes
                self._pieces = self._store.pieces(self._info.address, self._position, size, self._info.version)
            self._rest = memoryview(next(self._pieces, b""))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def _read_exactly(self, view: memoryview) -> int:
        end = min(self._position + len(view), self._info.size_bytes)
        count = 0
        for piece in self._store.pieces(self._info.address, self._position, end, self._info.version):
            view[count : count + len(piece)] = piece
            count += len(piece)
        return count

    def _drop_request(self) -> None:
        self._pieces = None
        self._rest = memoryview(b"")
