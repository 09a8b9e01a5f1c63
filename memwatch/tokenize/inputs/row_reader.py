"""What the readers of rows have in common: parquet_rows.py and arrow_rows.py read one column of texts, in batches."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB, format_size
from memwatch.storage.object_file import ObjectFile
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES
from memwatch.tokenize.inputs.byte_streams import ReadOnce
from memwatch.tokenize.inputs.input_formats import FORMATS
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.json_shape import listed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BATCH_BYTES = 1 * MIB
# Rows differ in size, and only their mean is known; a cluster of large ones must do no harm.
MOST_ROWS_A_BATCH = 16 * 1024


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some rows of a row group: their texts one after the other, and where each ends. A missing text is empty."""

    group: int
    row: int
    texts: bytes
    ends: "npt.NDArray[np.int64]"
    missing: "npt.NDArray[np.bool_] | None"
    too_long: tuple[int, ...] = ()  # rows of the batch whose text is left out


class RowReader(Protocol):
    """The texts of one column, from a row on. A row group of parquet and a record batch of Arrow are both a group."""

    knows_text_bytes: bool  # whether the sizes of groups are those of the texts

    @property
    def file_position(self) -> int: ...

    def next(self) -> RowBatch | None:
        """The next rows, or None at the end."""

    def group_sizes(self) -> list[tuple[int, int]]:
        """(bytes, rows) of each group, as the file's metadata has it."""

    def held_bytes(self) -> int:
        """How much memory it takes to read at most, beyond the usual."""

    def sum_of(self, column: str, deadline_s: float) -> int | None:
        """The sum of a column of whole numbers; None if there is none, or if the time is over before its end."""

    def close(self) -> None: ...


class PyarrowRows:
    """What the readers of parquet and Arrow files have in common. They make `_batches`, an iterator over the file, and
    keep the place of the next batch for error messages."""

    _name: str
    _file: ReadOnce | ObjectFile
    _batches: Iterator[RowBatch]
    _group: int
    _row = 0

    @property
    def file_position(self) -> int:
        return self._file.position

    def next(self) -> RowBatch | None:
        try:
            return next(self._batches, None)
        except MemwatchError:
            raise
        except Exception as error:  # pyarrow raises several kinds, and OSError for some broken pages.
            where = place(self._group, self._row)
            raise MemwatchError(f"{self._name} is damaged {where}: {first_line(error)}") from error

    def close(self) -> None:
        self._file.close()


def open_rows(
    source: Input, column: str, row_group: int = 0, row: int = 0, stop_group: int | None = None
) -> RowReader:  # fmt: skip
    """The rows of an input, from a row of a row group up to another group."""
    opened = FORMATS[source.kind].open_rows
    assert opened is not None
    return opened(source, column, row_group, row, stop_group)


class TextColumn(NamedTuple):
    """Where the texts are: a column, or fields inside of it."""

    number: int
    path: tuple[str, ...]


def find_text_column(schema: Any, column: str, name: str) -> TextColumn:
    """A column by its name, or by the names of fields inside fields with dots between them."""
    found = [path for path in _paths(schema, ()) if ".".join(path.names) == column]
    if not found:
        has = listed(".".join(path.names) for path in _paths(schema, ()))
        raise MemwatchError(f"{name} has no column {column!r}; name one of {has} with --text-column")
    if len(found) > 1:
        raise MemwatchError(f"{name} has {len(found)} columns named {column!r}, so it is not clear which has the text")
    path = found[0]
    if not _is_text(path.type):
        raise MemwatchError(f"the column {column!r} of {name} holds {path.type}, not text")
    return TextColumn(path.number, path.names)


class _Path(NamedTuple):
    names: tuple[str, ...]
    type: Any
    number: int


def _paths(fields: Any, above: tuple[str, ...], number_above: int | None = None) -> Iterator[_Path]:
    from pyarrow import types

    for number, field in enumerate(fields):
        top = number if number_above is None else number_above
        names = (*above, field.name)
        if types.is_struct(field.type):
            inner = [field.type.field(i) for i in range(field.type.num_fields)]
            yield from _paths(inner, names, top)
        else:
            yield _Path(names, field.type, top)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    value = kind.value_type if types.is_dictionary(kind) else kind
    checks = (
        types.is_string, types.is_large_string, types.is_string_view,
        types.is_binary, types.is_large_binary, types.is_binary_view,
    )  # fmt: skip
    return any(is_text(value) for is_text in checks)


def row_batch(group: int, row: int, array: Any, path: tuple[str, ...], name: str) -> RowBatch:
    """Texts of a column as one run of bytes: nothing is made for each of them."""
    import numpy as np
    import pyarrow
    from pyarrow import compute

    for field in path[1:]:
        array = compute.struct_field(array, field)
    if pyarrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = array.cast(pyarrow.large_binary())
    missing = None
    if array.null_count:
        missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
        array = array.fill_null(b"")
    _, offsets_buffer, data = array.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    lengths = offsets[1:] - offsets[:-1]
    if len(array) and (lengths.min() < 0 or offsets[0] < 0 or offsets[-1] > (0 if data is None else data.size)):
        raise MemwatchError(f"{name} is damaged: texts that reach beyond their data, {place(group, row)}")
    if len(array) and lengths.max() > LONGEST_RECORD_BYTES:
        is_long = lengths > LONGEST_RECORD_BYTES
        shorter = compute.if_else(pyarrow.array(~is_long), array, pyarrow.scalar(b"", pyarrow.large_binary()))
        return replace(
            row_batch(group, row, shorter, (), name), missing=missing, too_long=tuple(np.flatnonzero(is_long).tolist())
        )
    texts = b"" if data is None else memoryview(data)[offsets[0] : offsets[-1]].tobytes()
    return RowBatch(group, row, texts, offsets[1:] - offsets[0], missing)


def too_long(name: str, group: int, row: int) -> MemwatchError:
    """For a row whose text is larger than the longest record."""
    return MemwatchError(
        f"{name} has a row larger than {format_size(LONGEST_RECORD_BYTES)}, {place(group, row)}; "
        "--bad-records skip leaves it out"
    )


def place(group: int, row: int) -> str:
    """Where a row is, for error messages."""
    return f"in row group {group} at row {row}"


def first_line(error: Exception) -> str:
    """The first line of a library's error; its other lines are for the library's developers."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
