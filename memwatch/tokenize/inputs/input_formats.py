"""The formats of inputs: what each is called, how it is recognised, how it is read, and whether it can be split.

The command line, `memwatch doctor` and `memwatch estimate` take their choices from `FORMATS`. To add one: an
`InputFormat` here and, if it has rows, a reader with the methods of `RowReader` (row_reader.py).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from memwatch.errors import MemwatchError
from memwatch.tokenize.inputs.json_shape import json_shape
from memwatch.tokenize.inputs.packings import packing_named

if TYPE_CHECKING:
    from memwatch.tokenize.inputs.input_source import Input
    from memwatch.tokenize.inputs.row_reader import RowReader

Kind = Literal["text", "jsonl", "json", "parquet", "arrow"]
# An Arrow stream begins with this and the size of its schema, a multiple of 8.
_CONTINUATION = b"\xff\xff\xff\xff"
_LARGEST_SCHEMA_BYTES = 1 << 24


def _parquet_rows(source: "Input", column: str, *range_: Any) -> "RowReader":
    from memwatch.tokenize.inputs.parquet_rows import ParquetRows

    return ParquetRows(source, column, *range_)


def _arrow_rows(source: "Input", column: str, *range_: Any) -> "RowReader":
    from memwatch.tokenize.inputs.arrow_rows import ArrowRows

    return ArrowRows(source, column, *range_)


def _is_parquet(head: bytes) -> bool:
    return head.startswith(b"PAR1")


def _is_arrow(head: bytes) -> bool:
    schema_bytes, root = int.from_bytes(head[4:8], "little"), int.from_bytes(head[8:12], "little")
    has_schema = schema_bytes % 8 == 0 and root < schema_bytes < _LARGEST_SCHEMA_BYTES and len(head) >= 16
    is_stream = head.startswith(_CONTINUATION) and has_schema
    return is_stream or head.startswith(b"ARROW1")


@dataclass(frozen=True, slots=True)
class InputFormat:
    """A stream of bytes needs only its rule for cuts (blocks.py). Rows need `open_rows`, and a file to seek in."""

    name: Kind
    suffixes: tuple[str, ...]
    split: str  # how several workers share it
    is_certain: Callable[[bytes], bool] | None = None  # by its first bytes
    packages: tuple[str, ...] = ()  # that read it
    open_rows: "Callable[..., RowReader] | None" = None
    from_front: bool = False  # Where a record begins shows only to who has read all before it.

    @property
    def has_rows(self) -> bool:
        return self.open_rows is not None


FORMATS: dict[str, InputFormat] = {
    each.name: each
    for each in (
        InputFormat("text", (".txt", ".text", ".md", ".rst"), "by bytes"),
        InputFormat("jsonl", (".jsonl", ".ndjson"), "by lines"),
        InputFormat("json", (".json",), "not split", from_front=True),
        InputFormat("parquet", (".parquet",), "by row groups", _is_parquet, ("pyarrow",), _parquet_rows),
        InputFormat("arrow", (".arrow", ".feather"), "by record batches", _is_arrow, ("pyarrow",), _arrow_rows),
    )
}


def recognised(name: str, head: bytes, is_whole: bool) -> Kind:
    """The format of an input, by content where that is certain, else by name. Raises if it is JSON without records.

    `head` is its unpacked beginning; `is_whole` says that nothing follows."""
    suffix = suffix_of(name)
    for each in FORMATS.values():
        if each.is_certain is not None and each.is_certain(head):
            return each.name
        if each.is_certain is not None and suffix in each.suffixes and head:
            article = "an" if each.name == "arrow" else "a"
            raise MemwatchError(f"{name} is named like {article} {each.name} file but is not one")
    if suffix in FORMATS["text"].suffixes:
        return "text"
    shape = json_shape(head, is_whole)
    if shape == "values":
        raise MemwatchError(
            f"{name} is a JSON array, but not of records; make records of texts with jq -c '.[] | {{text: .}}', "
            "or add --input-format text to tokenize it as it stands"
        )
    if suffix in FORMATS["json"].suffixes and shape is None and head.strip():
        raise MemwatchError(f"{name} is named like JSON but has no records; --input-format text reads it as text")
    if shape == "json":
        return "json"
    return "jsonl" if shape is not None or suffix in FORMATS["jsonl"].suffixes else "text"


def suffix_of(name: str) -> str:
    """The suffix of a name without that of its packing, in lower case."""
    path = PurePath(name.lower())
    return PurePath(path.stem).suffix if packing_named(path.name) else path.suffix
