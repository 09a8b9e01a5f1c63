"""The messages of an Arrow file or stream: where each begins, what it is and how many rows it has.

Both formats are one message after the other (a file has a magic before and a footer after them):

    ff ff ff ff | size of the metadata | metadata, a flatbuffer | body

pyarrow decodes the bodies (arrow_rows.py). It has no way to find a record batch of a stream without reading all bodies
before it; the sizes in the metadata are enough for that.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB

FILE_MAGIC = b"ARROW1"
FIRST_MESSAGE_OF_FILE = 8
LARGEST_METADATA_BYTES = 64 * MIB
SCHEMA, DICTIONARY, RECORD_BATCH = 1, 2, 3
_CONTINUATION = 0xFFFFFFFF
# Fields of the flatbuffer table Message, by their number in its schema.
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3


class SeekableFile(Protocol):
    """As much of a file as reading messages takes."""

    def seek(self, offset: int, whence: int = 0, /) -> int: ...

    def read(self, size: int, /) -> bytes: ...


class ArrowMessage(NamedTuple):
    """One message of an Arrow file: where it lies, and what it is (SCHEMA, DICTIONARY, RECORD_BATCH)."""

    kind: int
    start: int
    end: int
    rows: int  # of a record batch


def messages(file: SeekableFile, size_bytes: int, name: str) -> Iterator[ArrowMessage]:
    """All messages of a file, by their metadata alone."""
    file.seek(0)
    is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    at = FIRST_MESSAGE_OF_FILE if is_file else 0
    if is_file:
        file.seek(size_bytes - len(FILE_MAGIC))
        if file.read(len(FILE_MAGIC)) != FILE_MAGIC:
            raise _cut_short(name, size_bytes)
    while at < size_bytes:
        file.seek(at)
        prefix = file.read(8)
        if len(prefix) < 8:
            raise _cut_short(name, at)
        continuation, metadata_bytes = struct.unpack("<II", prefix)
        if metadata_bytes == 0:
            return
        if continuation != _CONTINUATION or metadata_bytes > LARGEST_METADATA_BYTES:
            raise MemwatchError(f"{name} is damaged: no Arrow message at byte {at}")
        metadata = file.read(metadata_bytes)
        try:
            message = _message(metadata, at, at + 8 + metadata_bytes)
        except (struct.error, IndexError, ValueError) as error:
            raise MemwatchError(f"{name} is damaged: the Arrow message at byte {at} is invalid") from error
        if message.end > size_bytes or message.end < at + 8:
            raise _cut_short(name, at)
        yield message
        at = message.end


def _cut_short(name: str, at: int) -> MemwatchError:
    return MemwatchError(f"{name} ends in the middle of an Arrow message, at byte {at}; is the download complete?")


def _message(metadata: bytes, start: int, body_start: int) -> ArrowMessage:
    root = struct.unpack_from("<I", metadata)[0]
    kind = _number(metadata, root, _HEADER_TYPE, "<B")
    body_length = _number(metadata, root, _BODY_LENGTH, "<q")
    rows = 0
    if kind == RECORD_BATCH:
        at = _field(metadata, root, _HEADER)
        rows = _number(metadata, at + struct.unpack_from("<I", metadata, at)[0], 0, "<q")
    if body_length < 0 or rows < 0:
        raise ValueError("negative size")
    return ArrowMessage(kind, start, body_start + body_length, rows)


def _field(buffer: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer table is; 0 if it has its default value."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    if not 0 <= vtable < len(buffer):
        raise ValueError("outside the buffer")
    size = struct.unpack_from("<H", buffer, vtable)[0]
    offset = struct.unpack_from("<H", buffer, vtable + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return table + offset if offset else 0


def _number(buffer: bytes, table: int, number: int, form: str) -> int:
    at = _field(buffer, table, number)
    return int(struct.unpack_from(form, buffer, at)[0]) if at else 0
