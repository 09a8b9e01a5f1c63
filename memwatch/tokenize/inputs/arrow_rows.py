"""Rows of an Arrow IPC file or stream, as `datasets` caches them. A record batch is a group."""

import io
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.tokenize.inputs.arrow_messages import DICTIONARY, RECORD_BATCH, SCHEMA, ArrowMessage, messages
from memwatch.tokenize.inputs.byte_streams import open_once
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.row_reader import (
    BATCH_BYTES,
    MOST_ROWS_A_BATCH,
    PyarrowRows,
    RowBatch,
    find_text_column,
    first_line,
    place,
    row_batch,
)

# A record batch is held as a whole, and its texts once more.
COPIES_OF_A_BATCH = 2


class ArrowRows(PyarrowRows):
    """A RowReader of Arrow files and streams; each record batch is a row group."""

    knows_text_bytes = False  # A record batch has other columns, too.

    def __init__(
        self, source: Input, column: str, row_group: int = 0, row: int = 0, stop_group: int | None = None
    ) -> None:
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise MemwatchError(f"{source.name} is an Arrow file; to read it: pip install pyarrow") from error
        self._name = source.name
        self._file = open_once(source.path, sequential=False)
        self._group = row_group
        try:
            found = _messages_of(source)
            self._groups = [each for each in found if each.kind == RECORD_BATCH]
            self._before = [each for each in found if each.kind in (SCHEMA, DICTIONARY)]
            self._column = find_text_column(self._schema(), column, self._name)
        except BaseException:
            self._file.close()
            raise
        self._batches = self._from(row_group, row, stop_group)

    def group_sizes(self) -> list[tuple[int, int]]:
        return [(each.end - each.start, each.rows) for each in self._groups]

    def held_bytes(self) -> int:
        return COPIES_OF_A_BATCH * max((each.end - each.start for each in self._groups), default=0)

    def sum_of(self, column: str, deadline_s: float) -> int | None:
        return None  # It would have to read all other columns, too.

    def _schema(self) -> Any:
        from pyarrow import ipc

        if not self._before or self._before[0].kind != SCHEMA:
            raise MemwatchError(f"{self._name} is damaged: it has no Arrow schema")
        try:
            return ipc.open_stream(_Spliced(self._file, self._before[:1])).schema
        except Exception as error:
            raise MemwatchError(f"{self._name} is damaged: {first_line(error)}") from error

    def _from(self, group: int, row: int, stop_group: int | None) -> Iterator[RowBatch]:
        from pyarrow import ipc, types

        wanted = self._groups[group:stop_group]
        if not wanted:
            return
        # Dictionaries before the first record batch are read, too, and those between the record batches.
        parts = [each for each in self._before if each.start < wanted[-1].start]
        parts = sorted([*parts, *wanted], key=lambda each: each.start)
        options = ipc.IpcReadOptions(included_fields=[self._column.number], use_threads=False)
        reader = ipc.open_stream(_Spliced(self._file, parts), options=options)
        for self._group, message in enumerate(wanted, group):
            batch = reader.read_next_batch()
            if len(batch) != message.rows:
                raise MemwatchError(f"{self._name} is damaged {place(self._group, 0)}: its number of rows is wrong")
            array = batch.column(0)
            # Views and dictionaries point into other buffers, which only the full check follows.
            array.validate(full=not (types.is_string(array.type) or types.is_binary(array.type)))
            step = _rows_a_batch(message)
            for start in range(row if self._group == group else 0, len(batch), step):
                yield row_batch(self._group, start, array[start : start + step], self._column.path, self._name)


@lru_cache(maxsize=2)
def _messages_of(source: Input) -> tuple[ArrowMessage, ...]:
    """A process reads many ranges of a file; its messages are listed once."""
    with closing(open_once(source.path, sequential=False)) as file:
        return tuple(messages(file, source.size_bytes or 0, source.name))


def _rows_a_batch(message: ArrowMessage) -> int:
    return int(min(max(BATCH_BYTES * message.rows / (message.end - message.start), 1), MOST_ROWS_A_BATCH))


class _Spliced(io.RawIOBase):
    """Some messages of a file as a stream of their own."""

    def __init__(self, file: Any, parts: list[ArrowMessage]) -> None:
        super().__init__()
        self._file = file
        self._parts = parts
        self._number = 0
        self._at = parts[0].start

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        wanted = (1 << 62) if size is None or size < 0 else size
        found: list[bytes] = []
        while wanted and self._number < len(self._parts):
            end = self._parts[self._number].end
            self._file.seek(self._at)
            data = self._file.read(min(wanted, end - self._at))
            if not data:
                break
            found.append(data)
            wanted -= len(data)
            self._at += len(data)
            if self._at == end:
                self._number += 1
                self._at = self._parts[self._number].start if self._number < len(self._parts) else self._at
        return found[0] if len(found) == 1 else b"".join(found)
