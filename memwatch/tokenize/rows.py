"""Rows of a parquet file, one text at a time, without ever holding a row group."""

from collections.abc import Iterator
from typing import Any

from memwatch.core.units import KIB, MIB
from memwatch.errors import MemwatchError
from memwatch.tokenize.inputs import Input, ReadOnce, open_once

BATCH_BYTES = 1 * MIB
MOST_ROWS_A_BATCH = 4096
READ_BUFFER_BYTES = 256 * KIB


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
            raise MemwatchError(f"{self._name} is parquet; to read it: pip install 'memwatch[parquet]'") from error
        try:
            # Read pages as they are needed: the default holds a whole column chunk.
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
        kind = str(schema.field(self._column).type)
        if not any(word in kind for word in ("string", "utf8", "binary")):
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
            raise MemwatchError(f"cannot read {self._name} any further: {_first_line(error)}") from error

    def close(self) -> None:
        self._file.close()

    def _from(self, row_group: int, row: int) -> Iterator[tuple[int, int, bytes | None]]:
        import pyarrow

        for group in range(row_group, self._parquet.num_row_groups):
            skip = row if group == row_group else 0
            index = 0
            for batch in self._parquet.iter_batches(self._rows_a_batch(group), [group], [self._column]):
                if index + len(batch) <= skip:
                    index += len(batch)
                    continue
                for value in batch.column(0).cast(pyarrow.large_binary()):
                    if index >= skip:
                        buffer = value.as_buffer()
                        yield group, index, None if buffer is None else buffer.to_pybytes()
                    index += 1

    def _rows_a_batch(self, group: int) -> int:
        metadata = self._parquet.metadata.row_group(group)
        column_index = next(
            (i for i in range(metadata.num_columns) if metadata.column(i).path_in_schema == self._column), None
        )
        if column_index is None or not metadata.num_rows:
            return 1
        row_bytes = metadata.column(column_index).total_uncompressed_size / metadata.num_rows
        return int(min(max(BATCH_BYTES / max(row_bytes, 1), 1), MOST_ROWS_A_BATCH))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
