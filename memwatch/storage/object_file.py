"""An object as a seekable file, for readers that expect one (gzip, zstd, pyarrow), and ranges of one."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memwatch.model.units import MIB
from memwatch.storage.store import ObjectInfo, Store

if TYPE_CHECKING:
    from memwatch.storage.bucket_store import BucketStore

READ_AHEAD_BYTES = 2 * MIB


class ObjectFile(io.RawIOBase):
    """Sequential: one request to the end is open and read piece by piece. Otherwise a request is for what is wanted and
    a little more, because a parquet reader jumps to a column and then reads it in small steps."""

    def __init__(self, store: "BucketStore", info: ObjectInfo, sequential: bool) -> None:
        super().__init__()
        self._store = store
        self._info = info
        self._sequential = sequential
        self.read_ahead_bytes = READ_AHEAD_BYTES
        self._position = 0
        self.position = 0  # how much was read in total, for progress
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
        if not self._rest:
            self._rest = memoryview(self._next_piece(len(view)))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self._position += count
        self.position += count
        return count

    def read(self, size: int | None = -1) -> bytes:
        """As many bytes as requested unless the object ends before, as readers expect it of a local file."""
        if size is None or size < 0:
            size = max(self._info.size_bytes - self._position, 0)
        data = bytearray(size)
        view, count = memoryview(data), 0
        while count < size and (more := self.readinto(view[count:])):
            count += more
        return bytes(view[:count])

    def close(self) -> None:
        self._drop_request()
        super().close()

    def _next_piece(self, wanted: int) -> bytes:
        piece = b"" if self._pieces is None else next(self._pieces, b"")
        if not piece and self._position < self._info.size_bytes:
            ahead = self._position + max(wanted, self.read_ahead_bytes)
            end = self._info.size_bytes if self._sequential else min(ahead, self._info.size_bytes)
            self._pieces = self._store.pieces(self._info.address, self._position, end, self._info.version)
            piece = next(self._pieces, b"")
        return piece

    def _drop_request(self) -> None:
        self._pieces = None
        self._rest = memoryview(b"")


class ObjectRanges:
    """Two reads that follow each other open one long request, from which all following reads are served. A look
    somewhere else is a request of its own, and leaves the long one open."""

    def __init__(self, store: Store, info: ObjectInfo) -> None:
        self._store = store
        self._info = info
        self._file = store.open(info, sequential=True)
        self._follows = -1

    def read(self, start: int, end: int) -> bytes:
        if start != self._file.tell() and start != self._follows:
            self._follows = end
            with self._store.open(self._info, sequential=False) as file:
                if isinstance(file, ObjectFile):
                    file.read_ahead_bytes = 0  # Nothing more is read from it.
                file.seek(start)
                return file.read(end - start) or b""
        self._file.seek(start)
        return self._file.read(end - start) or b""

    def close(self) -> None:
        self._file.close()
