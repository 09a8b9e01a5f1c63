"""Rows of a parquet file, some at a time, without ever holding a row group."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB, MIB, format_size
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES
from memwatch.tokenize.inputs import Input, open_once
from memwatch.tokenize.plan import ReadingMemory

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BATCH_BYTES = 1 * MIB
# Rows differ in size, and only their mean is known; a cluster of large ones must do no harm.
MOST_ROWS_A_BATCH = 16 * 1024
READ_BUFFER_BYTES = 256 * KIB
MOST_FILES_LOOKED_AT = 16
FEEDER_BYTES = 40 * MIB
# For pyarrow and its buffers, measured; pages of 180 MB were measured to take 5 times that.
WORKER_BYTES = 80 * MIB
COPIES_OF_A_PAGE = 5
USUAL_ROW_BYTES = 16 * KIB


def reading_memory(inputs: list[Input], column: str) -> ReadingMemory:
    """What these inputs take to read, beyond the usual."""
    parquet = [source for source in inputs if source.kind == "parquet"]
    is_fed = any(not source.is_plain for source in inputs)
    page_bytes = COPIES_OF_A_PAGE * _largest_page_bytes(parquet, column) if parquet else 0
    return ReadingMemory(FEEDER_BYTES + page_bytes if is_fed else 0, WORKER_BYTES if parquet else 0)


def _largest_page_bytes(sources: list[Input], column: str) -> int:
    """pyarrow decodes a page at a time, and makes copies of it; how large a page is shows only when it is read. Where
    rows are of a usual size it is about a MiB; where they are large, it may be all there is of a column in a row
    group."""
    largest = 0
    for source in sources[:: max(len(sources) // MOST_FILES_LOOKED_AT, 1)]:
        rows = Rows(source, column)
        largest = max(largest, rows.largest_page_bytes())
        rows.close()
    return largest


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some rows of a row group: their texts one after the other, and where each ends. A missing text is empty."""

    group: int
    row: int
    texts: bytes
    ends: "npt.NDArray[np.int64]"
    missing: "npt.NDArray[np.bool_] | None"


class Rows:
    """The texts of one column from a row on, in batches."""

    def __init__(
        self, source: Input, column: str, row_group: int = 0, row: int = 0, stop_group: int | None = None
    ) -> None:
        self._name = source.name
        self._column = column
        self._file = open_once(source.path, sequential=False)
        self._parquet = self._opened()
        self._batches = self._from(row_group, row, stop_group)

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

    def next(self) -> "RowBatch | None":
        """The next rows, or None at the end."""
        try:
            return next(self._batches, None)
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

    def _from(self, row_group: int, row: int, stop_group: int | None) -> Iterator["RowBatch"]:
        import pyarrow

        for group in range(row_group, self._parquet.num_row_groups if stop_group is None else stop_group):
            skip = row if group == row_group else 0
            index = 0
            for batch in self._parquet.iter_batches(
                self._rows_a_batch(group), [group], [self._column], use_threads=False
            ):
                if index + len(batch) > skip:
                    start = max(skip - index, 0)
                    yield self._batch(group, index + start, batch.column(0)[start:])
                index += len(batch)
            # What was decoded goes back to the system, not into a pool for later.
            pyarrow.default_memory_pool().release_unused()

    def _batch(self, group: int, row: int, column: Any) -> "RowBatch":
        """Texts of a column as one run of bytes: nothing is made for each of them."""
        import numpy as np
        import pyarrow

        if pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        column = column.cast(pyarrow.large_binary())
        missing = None
        if column.null_count:
            missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
            column = column.fill_null(b"")
        _, offsets_buffer, data = column.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int64)[column.offset : column.offset + len(column) + 1]
        if len(column) and (offsets[1:] - offsets[:-1]).max() > LONGEST_RECORD_BYTES:
            raise MemwatchError(f"{self._name} has a row larger than {format_size(LONGEST_RECORD_BYTES)}")
        texts = b"" if data is None else memoryview(data)[offsets[0] : offsets[-1]].tobytes()
        return RowBatch(group, row, texts, offsets[1:] - offsets[0], missing)

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
