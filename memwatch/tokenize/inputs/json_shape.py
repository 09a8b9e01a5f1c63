"""JSON: whether the beginning of an input looks like it, what shape it has, and where a record has its text."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Literal

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LINES_LOOKED_AT = 32
LISTED_FIELDS = 20
_OBJECT = re.compile(r'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})')
_ARRAY_OF_OBJECTS = re.compile(r"\[\s*(?:null\s*,\s*)*" + _OBJECT.pattern)


JsonShape = Literal["records", "json", "values"]


def json_shape(head: bytes, is_whole: bool) -> JsonShape | None:
    """`records`: one object a line. `json`: objects in an array, or over several lines. `values`: an array of anything
    else. None if it does not look like JSON. `is_whole` says that nothing follows the head."""
    text = head.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace").lstrip()
    if not text.startswith(("{", "[", "null")):
        return None
    if _ARRAY_OF_OBJECTS.match(text):
        return "json"
    line, newline, _ = text.partition("\n")
    if newline and _OBJECT.match(text) and line.rstrip().endswith(("{", "[", ",")):
        return "json"
    values = list(_values_of_lines(text, is_whole))
    if any(isinstance(value, dict) for value in values):
        return "records"
    if text.startswith("["):
        return _array(text, values, is_whole)
    if not _OBJECT.match(text):
        return None
    # A record that is damaged, or too long to be seen as a whole, is still a record.
    return "records" if not newline or line.rstrip().endswith("}") else "json"


class TextField:
    """The field with the text: by its name, or by the names of fields inside fields with dots between them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = name.split(".")

    def of(self, record: dict[str, Any]) -> Any:
        """None where one of the fields is null. Raises KeyError if there is no such field."""
        if self.name in record:
            return record[self.name]
        value: Any = record
        for name in self._path:
            if value is None:
                return None
            if not isinstance(value, dict):
                raise KeyError(name)
            value = value[name]
        return value

    def quick_reader(self) -> Callable[[bytes], str]:
        """Reads the text of a record that is valid UTF-8. Raises wherever a slower look must decide."""
        import msgspec

        if len(self._path) == 1:
            record = msgspec.defstruct("Record", [("text", str)], rename={"text": self.name}, gc=False)
            read_text = msgspec.json.Decoder(record).decode
            return lambda line: read_text(line).text  # type: ignore[attr-defined]
        read = msgspec.json.Decoder().decode
        return lambda line: self.of(read(line))


def field_names(record: dict[str, Any]) -> list[str]:
    """As --text-column takes them: fields inside fields with a dot between them."""
    found: list[str] = []
    for name, value in record.items():
        found += [f"{name}.{inner}" for inner in field_names(value)] if value and isinstance(value, dict) else [name]
    return found


def listed(names: Iterable[str]) -> str:
    """'id, title, url and 3 more', for error messages."""
    shown = sorted(names)
    more = f" and {len(shown) - LISTED_FIELDS} more" if len(shown) > LISTED_FIELDS else ""
    return (", ".join(shown[:LISTED_FIELDS]) or "nothing") + more


def _values_of_lines(text: str, is_whole: bool) -> Iterator[Any]:
    """What the first lines hold, each by itself; lines that are no JSON are left out."""
    lines = text.split("\n", LINES_LOOKED_AT)
    for line in lines[: LINES_LOOKED_AT if is_whole or len(lines) > LINES_LOOKED_AT else -1]:
        if line.strip():
            with suppress(ValueError, RecursionError):
                yield json.loads(line)


def _array(text: str, values: list[Any], is_whole: bool) -> JsonShape | None:
    """Brackets also begin a line of prose, such as a citation: [1]."""
    whole: Any = None
    if is_whole:
        with suppress(ValueError, RecursionError):
            whole = json.loads(text)
    for value in (whole, *values[:1]):
        if isinstance(value, list) and any(isinstance(item, dict | list | str) for item in value):
            return "values"
    return None
