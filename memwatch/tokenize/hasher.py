"""The hasher: a process that follows the writers. It reads what they have completed while it is in the page cache,
updates the SHA-256 of each file, has it written to disk, and drops it from the cache.

What it does takes a third of a second for a GB of text, and nobody waits for it.
"""

import hashlib
import io
import os
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Queue
from threading import Thread

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.storage.store import store_of
from memwatch.tokenize.formats.document_index import START_BYTES, Starts
from memwatch.tokenize.formats.format_registry import FORMATS
from memwatch.tokenize.messages import (
    Finish,
    Finished,
    Grow,
    Hashed,
    HashFailed,
    MakeIndex,
    Sync,
    Synced,
    TakeUp,
    receive,
    send,
)
from memwatch.tokenize.pagecache import WriteBehind, forget

READ_BYTES = 4 * MIB


class _PartFile:
    """One growing file. The hash is that of its tokens, without the header."""

    def __init__(self, path: str, header_bytes: int) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._file = io.FileIO(self._fd, "r+", closefd=False)
        self._hashed = header_bytes
        self._sha256 = hashlib.sha256()
        self._behind = WriteBehind(self._fd, 0)
        self._buffer = memoryview(bytearray(READ_BYTES))

    def hash_up_to(self, end: int) -> int:
        """Returns how much that was."""
        began = self._hashed
        while self._hashed < end:
            os.lseek(self._fd, self._hashed, os.SEEK_SET)
            count = self._file.readinto(self._buffer[: end - self._hashed])
            if not count:
                raise MemwatchError(f"{self.path} is shorter than it was; start over with --fresh")
            self._sha256.update(self._buffer[:count])
            self._hashed += count
            self._behind.wrote_up_to(self._hashed)
        return self._hashed - began

    def digest(self) -> str:
        return self._sha256.hexdigest()

    def sync(self) -> None:
        getattr(os, "fdatasync", os.fsync)(self._fd)  # macOS has only the latter.

    def as_starts(self, count: int) -> Starts:
        def read(first: int, last: int) -> bytes:
            return os.pread(self._fd, (last - first) * START_BYTES, first * START_BYTES)

        return Starts(count, read)

    def close(self) -> None:
        os.close(self._fd)

    def finish(self, format_header: bytes) -> Finished:
        digest = self.digest()
        if format_header:
            os.pwrite(self._fd, format_header, 0)
        os.fsync(self._fd)
        size = os.fstat(self._fd).st_size
        forget(self._fd, 0, size)
        os.close(self._fd)
        return Finished(self.path, size, sha256_of(self.path) if format_header else digest)


class Hasher:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._parts: dict[str, _PartFile] = {}
        self._total_bytes = 0

    def work(self) -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                self._take(receive(self._connection))

    def _take(self, message: object) -> None:
        try:
            match message:
                case Grow(part, end):
                    self._hash(part, end)
                    send(self._connection, Hashed(self._total_bytes))
                case Sync(ends):
                    send(self._connection, Synced(tuple(self._synced(part, end) for part, end in ends)))
                case Finish(part, end, format_header):
                    self._hash(part, end)
                    send(self._connection, self._parts.pop(part).finish(format_header))
                    send(self._connection, Hashed(self._total_bytes))
                case MakeIndex():
                    send(self._connection, self._indexed(message))
                    send(self._connection, Hashed(self._total_bytes))
                case TakeUp(part, header_bytes, end, sha256):
                    self._take_up(part, header_bytes, end, sha256)
        except MemwatchError as error:
            send(self._connection, HashFailed(str(error), None))
        except OSError as error:
            send(self._connection, HashFailed(error.strerror or str(error), error.errno))

    def _hash(self, part: str, end: int) -> None:
        self._total_bytes += self._parts[part].hash_up_to(end)

    def _synced(self, part: str, end: int) -> str:
        self._hash(part, end)
        self._parts[part].sync()
        return self._parts[part].digest()

    def _indexed(self, order: MakeIndex) -> Finished:
        starts = self._parts.pop(order.starts)
        self._total_bytes += starts.hash_up_to(order.documents * START_BYTES)
        pieces = FORMATS[order.format].index(starts.as_starts(order.documents), order.tokens, order.token_bytes)
        digest, size = hashlib.sha256(), 0
        fd = os.open(order.target, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        with os.fdopen(fd, "wb") as file:
            for piece in pieces:
                digest.update(piece)
                size += file.write(piece)
            file.flush()
            os.fsync(fd)
            forget(fd, 0, size)
        starts.close()
        return Finished(order.target, size, digest.hexdigest())

    def _take_up(self, part: str, header_bytes: int, end: int, sha256: str) -> None:
        self._parts[part] = _PartFile(part, header_bytes)
        self._parts[part].hash_up_to(end)
        if self._parts[part].digest() != sha256:
            raise MemwatchError(f"{part} differs from the checkpoint; start over with --fresh")


def sha256_of(address: str) -> str:
    """One thread reads while another hashes, so that of disk or network and SHA-256 the slower one counts, not both.
    `verify` reads several files at once with it; a single one takes as long as its SHA-256, which has no parts."""
    digest, free, read = hashlib.sha256(), Queue[bytearray](), Queue[memoryview | Exception]()
    for _ in range(2):
        free.put(bytearray(READ_BYTES))
    Thread(target=_read_all, args=(address, free, read), daemon=True).start()
    while data := read.get():
        if isinstance(data, Exception):
            raise data
        digest.update(data)
        assert isinstance(data.obj, bytearray)
        free.put(data.obj)
    return digest.hexdigest()


def _read_all(address: str, free: "Queue[bytearray]", read: "Queue[memoryview | Exception]") -> None:
    """Fill free buffers in the order of the file, up to one with nothing in it."""
    try:
        store = store_of(address)
        with store.open(store.info(address), sequential=True) as file:
            offset = 0
            while True:
                buffer = free.get()
                count = file.readinto(buffer)
                if isinstance(file, io.FileIO):
                    forget(file.fileno(), offset, offset + count)
                offset += count
                read.put(memoryview(buffer)[:count])
                if not count:
                    return
    except Exception as error:  # Whoever hashes waits for an answer.
        read.put(error)
