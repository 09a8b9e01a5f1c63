"""Rows of a parquet file, one text at a time, without ever holding a row group."""

import time
from collections.abc import Iterator
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB, MIB, format_size
from memwatch.tokenize.inputs import LONGEST_RECORD_BYTES, Input, ReadOnce, open_once

BATCH_BYTES = 1 * MIB
# Rows differ in size, and only their mean is known: few at a time, so that a cluster of large ones does no harm.
MOST_ROWS_A_BATCH = 256
READ_BUFFER_BYTES = 256 * KIB
MOST_FILES_LOOKED_AT = 64
# The first is an estimate for pyarrow and its buffers; pages of 180 MB were measured to take 5 times that.
BASE_BYTES = 150 * MIB
COPIES_OF_A_PAGE = 5
USUAL_ROW_BYTES = 16 * KIB


def reading_bytes(inputs: list[Input], column: str) -> int:
    """What these inputs take to read, beyond the usual."""
    parquet = [source for source in inputs if source.kind == "parquet"]
    return _decoding_bytes(parquet, column) if parquet else 0


def _decoding_bytes(sources: list[Input], column: str) -> int:
    """How much memory reading these files may take beside what everything else takes.

    pyarrow decodes a page at a time, and makes copies of it; how large a page is shows only when it is read. Where rows
    are of a usual size it is about a MiB; where they are large, it may be all there is of a column in a row group."""
    largest = 0
    for source in sources[:: max(len(sources) // MOST_FILES_LOOKED_AT, 1)]:
        rows = Rows(source, column)
        largest = max(largest, rows.largest_page_bytes())
        rows.close()
    return BASE_BYTES + COPIES_OF_A_PAGE * largest


class Rows:
    """The texts of one column from a row on. A missing text is None."""

    def __init__(self, source: Input, column: str, row_group: int = 0, row: int = 0) -> None:
        self._name = source.name
        self._column = column
        self._file: ReadOnce = open_once(source.path)
        self._parquet = self._opened()
        self._rows = self._from(row_group, row)

    def _opened(self) -> Any:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MemwatchError(f"{self._name} is a parquet file; to read it: pip install pyarrow") from error
        try:
            # Read pages as they are needed: the default holds a whole column chunk.
            pyarrow.set_memory_pool(pyarrow.system_memory_pool())
            parquet = pyarrow.parquet.ParquetFile(self._file, pre_buffer=False, buffer_size=READ_BUFFER_BYTES)
        except Exception as error:
            raise MemwatchError(f"{self._name} is broken or not a parquet file: {_first_line(error)}") from error
        self._check_column(parquet.schema_arrow)
        return parquet

    def _check_column(self, schema: Any) -> None:
        if self._column not in schema.names:
            raise MemwatchError(
                f"{self._name} has no column {self._column!r}; name one of {', '.join(schema.names)} with --text-column"
            )
        from pyarrow import types

        kind = schema.field(self._column).type
        value = kind.value_type if types.is_dictionary(kind) else kind
        checks = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)
        if not any(is_text(value) for is_text in checks):
            raise MemwatchError(f"the column {self._column!r} of {self._name} holds {kind}, not text")

    @property
    def file_position(self) -> int:
        return self._file.position

    def next(self) -> tuple[int, int, bytes | None] | None:
        """The next row as (row group, row in it, text), or None at the end."""
        try:
            return next(self._rows, None)
        except MemwatchError:
            raise
        except Exception as error:  # pyarrow raises several kinds, and OSError for some broken pages.
            raise MemwatchError(f"cannot read the rest of {self._name}: {_first_line(error)}") from error

    def close(self) -> None:
        self._file.close()

    def group_sizes(self) -> list[tuple[int, int]]:
        """(bytes of the column when unpacked, rows) of each row group, as the file's metadata has it."""
        return [self._column_size(group) for group in range(self._parquet.num_row_groups)]

    def sum_of(self, column: str, deadline_s: float) -> int | None:
        """The sum of a column of whole numbers; None if there is none, or if the time is over before its end."""
        from pyarrow import compute, types

        schema = self._parquet.schema_arrow
        if column not in schema.names or not types.is_integer(schema.field(column).type):
            return None
        total = 0
        for batch in self._parquet.iter_batches(columns=[column], use_threads=False):
            if time.monotonic() > deadline_s:
                return None
            total += compute.sum(batch.column(0)).as_py() or 0
        return total

    def _from(self, row_group: int, row: int) -> Iterator[tuple[int, int, bytes | None]]:
        import pyarrow

        for group in range(row_group, self._parquet.num_row_groups):
            skip = row if group == row_group else 0
            index = 0
            for batch in self._parquet.iter_batches(
                self._rows_a_batch(group), [group], [self._column], use_threads=False
            ):
                if index + len(batch) <= skip:
                    index += len(batch)
                    continue
                column = batch.column(0)
                if pyarrow.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                for value in column:
                    if index >= skip:
                        yield group, index, self._text(value.as_buffer())
                    index += 1
            # What was decoded goes back to the system, not into a pool for later.
            pyarrow.default_memory_pool().release_unused()

    def _text(self, buffer: Any) -> bytes | None:
        if buffer is None:
            return None
        if buffer.size > LONGEST_RECORD_BYTES:
            raise MemwatchError(f"{self._name} has a row larger than {format_size(LONGEST_RECORD_BYTES)}")
        text: bytes = buffer.to_pybytes()
        return text

    def largest_page_bytes(self) -> int:
        largest = BATCH_BYTES
        for group in range(self._parquet.num_row_groups):
            chunk_bytes, row_count = self._column_size(group)
            if chunk_bytes > USUAL_ROW_BYTES * row_count:
                largest = max(largest, chunk_bytes)
        return largest

    def _rows_a_batch(self, group: int) -> int:
        chunk_bytes, row_count = self._column_size(group)
        return int(min(max(BATCH_BYTES * row_count / max(chunk_bytes, 1), 1), MOST_ROWS_A_BATCH))

    def _column_size(self, group: int) -> tuple[int, int]:
        """Bytes, when unpacked, and rows."""
        metadata = self._parquet.metadata.row_group(group)
        columns = (metadata.column(i) for i in range(metadata.num_columns))
        size = sum(c.total_uncompressed_size for c in columns if c.path_in_schema == self._column)
        return size, metadata.num_rows


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
