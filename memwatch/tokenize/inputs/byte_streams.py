"""Inputs that are read from front to back: packed files and standard input."""

import io
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from memwatch.errors import MemwatchError
from memwatch.storage.address import is_remote
from memwatch.storage.object_file import ObjectFile
from memwatch.storage.store import store_of
from memwatch.tokenize.inputs.input_source import Checksum, Input, object_info
from memwatch.tokenize.inputs.json_records import JsonRecords
from memwatch.tokenize.inputs.packings import PACKED_READ_BYTES, PackedFile, Unpacker
from memwatch.tokenize.pagecache import ReadBehind, forget


class ReadOnce(io.FileIO):
    """A file that is read from front to back and leaves the page cache as it found it."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "rb")
        self._behind = ReadBehind(self.fileno())
        self.position = 0
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        self.position += count
        self._behind.read_up_to(self.position)
        return count

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.position += len(data)
        self._behind.read_up_to(self.position)
        return data

    def close(self) -> None:
        if not self.closed:
            forget(self.fileno(), 0, self.position)
        super().close()


class StandardInput(io.RawIOBase):
    """Standard input, with what was read of it to recognise its format."""

    head = bytearray()  # Of the process: a fork has it too, and each byte is handed out once.

    def __init__(self) -> None:
        super().__init__()
        self.position = 0

    @classmethod
    def look_ahead(cls, is_enough: Callable[[bytearray], bool]) -> bool:
        """Read until that is enough to see, or to the end; whether the end was reached."""
        while not is_enough(cls.head):
            try:
                data = os.read(0, PACKED_READ_BYTES)
            except OSError as error:
                raise MemwatchError(f"cannot read standard input: {error.strerror}") from error
            if not data:
                return True
            cls.head += data
        return False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        size = PACKED_READ_BYTES if size is None or size < 0 else size
        if self.head:
            data = bytes(self.head[:size])
            del self.head[:size]
        else:
            try:
                data = os.read(0, size)
            except OSError as error:
                raise MemwatchError(f"cannot read standard input: {error.strerror}") from error
        self.position += len(data)
        return data


def open_once(path: str, sequential: bool = True) -> "ReadOnce | ObjectFile":
    """Rows are not read from front to back: for them `sequential` is False."""
    if is_remote(path):
        file = store_of(path).open(object_info(path), sequential)
        assert isinstance(file, ObjectFile)
        return file
    try:
        return ReadOnce(path)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error


class TextReader(Protocol):
    """At most so many bytes; nothing at the end."""

    def read(self, size: int, /) -> bytes: ...


class Stream:
    """The text of a packed input or of standard input. `file` is for who has opened it already."""

    def __init__(self, source: Input, file: PackedFile | None = None) -> None:
        self._source = source
        self._file = file or (StandardInput() if source.is_standard_input else open_once(source.path))
        self._reader: TextReader = self._file
        if source.packing is not None:
            self._reader = Unpacker(self._file, source.packing, source.name)
        if source.kind == "json" and source.archive is None:
            self._reader = JsonRecords(self._reader.read, source.name)

    @property
    def file_position(self) -> int:
        """How far the file itself has been read: what progress is measured by."""
        return self._file.position

    def read(self, size: int) -> bytes:
        """At most `size` bytes; nothing at the end."""
        try:
            return self._reader.read(size)
        except OSError as error:
            raise MemwatchError(f"cannot read the rest of {self._source.name}: {error.strerror}") from error

    def skip(self, size: int, digest: str | None) -> None:
        skip(self.read, size, digest, self._source)

    def close(self) -> None:
        self._file.close()


def skip(read: Callable[[int], bytes], size: int, digest: str | None, source: Input) -> None:
    """Read what an interrupted run has read before. It must be the same, if its digest is known."""
    checksum = Checksum()
    while size:
        data = read(min(size, PACKED_READ_BYTES))
        if not data:
            raise _differs(source)
        checksum.update(data)
        size -= len(data)
    if digest is not None and checksum.hex != digest:
        raise _differs(source)


def _differs(source: Input) -> MemwatchError:
    return MemwatchError(f"{source.name} differs from what the interrupted run has read; --fresh starts over")
