"""Rows of a parquet file, some at a time, without ever holding a row group. Page checksums are verified where the file
has them."""

import time
from collections.abc import Iterator
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB
from memwatch.tokenize.inputs.byte_streams import open_once
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.row_reader import (
    BATCH_BYTES,
    MOST_ROWS_A_BATCH,
    PyarrowRows,
    RowBatch,
    find_text_column,
    first_line,
    row_batch,
)

READ_BUFFER_BYTES = 256 * KIB
# Pages of 180 MB were measured to take 5 times that.
COPIES_OF_A_PAGE = 5
USUAL_ROW_BYTES = 16 * KIB


class ParquetRows(PyarrowRows):
    """A RowReader of parquet files. Pages are read as they are needed, so memory stays small."""

    knows_text_bytes = True

    def __init__(
        self, source: Input, column: str, row_group: int = 0, row: int = 0, stop_group: int | None = None
    ) -> None:
        self._name = source.name
        self._column = column
        self._file = open_once(source.path, sequential=False)
        self._group, self._row = row_group, row
        try:
            self._parquet = self._opened()
            self._path = find_text_column(self._parquet.schema_arrow, column, self._name).path
        except BaseException:
            self._file.close()
            raise
        self._batches = self._from(row_group, row, stop_group)

    def _opened(self) -> Any:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MemwatchError(f"{self._name} is a parquet file; to read it: pip install pyarrow") from error
        try:
            # Read pages as they are needed: the default holds a whole column chunk.
            pyarrow.set_memory_pool(pyarrow.system_memory_pool())
            return pyarrow.parquet.ParquetFile(
                self._file, pre_buffer=False, buffer_size=READ_BUFFER_BYTES, page_checksum_verification=True
            )
        except Exception as error:
            raise MemwatchError(f"{self._name} is broken or not a parquet file: {first_line(error)}") from error

    def group_sizes(self) -> list[tuple[int, int]]:
        try:
            return [self._column_size(group) for group in range(self._parquet.num_row_groups)]
        except Exception as error:
            raise MemwatchError(f"{self._name} is broken: its footer cannot be read ({first_line(error)})") from error

    def sum_of(self, column: str, deadline_s: float) -> int | None:
        from pyarrow import compute, types

        schema = self._parquet.schema_arrow
        if schema.names.count(column) != 1 or not types.is_integer(schema.field(column).type):
            return None
        total = 0
        try:
            for batch in self._parquet.iter_batches(columns=[column], use_threads=False):
                if time.monotonic() > deadline_s:
                    return None
                total += compute.sum(batch.column(0)).as_py() or 0
        except Exception:  # A damaged column that nobody tokenizes.
            return None
        return total

    def held_bytes(self) -> int:
        """pyarrow decodes a page at a time, and makes copies of it; how large a page is shows only when it is read.
        Where rows are of a usual size it is about a MiB; where they are large, it may be all there is of a column in a
        row group."""
        large = (size for size, rows in self.group_sizes() if size > USUAL_ROW_BYTES * rows)
        return COPIES_OF_A_PAGE * max(large, default=BATCH_BYTES)

    def _from(self, row_group: int, row: int, stop_group: int | None) -> Iterator[RowBatch]:
        for group in range(row_group, self._parquet.num_row_groups if stop_group is None else stop_group):
            skip = row if group == row_group else 0
            index = 0
            self._group, self._row = group, 0
            for batch in self._parquet.iter_batches(
                self._rows_a_batch(group), [group], [self._column], use_threads=False
            ):
                if index + len(batch) > skip:
                    start = max(skip - index, 0)
                    yield row_batch(group, index + start, batch.column(0)[start:], self._path, self._name)
                index += len(batch)
                self._row = index

    def _rows_a_batch(self, group: int) -> int:
        chunk_bytes, row_count = self._column_size(group)
        return int(min(max(BATCH_BYTES * row_count / max(chunk_bytes, 1), 1), MOST_ROWS_A_BATCH))

    def _column_size(self, group: int) -> tuple[int, int]:
        """Bytes, when unpacked, and rows."""
        metadata = self._parquet.metadata.row_group(group)
        columns = (metadata.column(i) for i in range(metadata.num_columns))
        size = sum(c.total_uncompressed_size for c in columns if c.path_in_schema == self._column)
        return size, metadata.num_rows
