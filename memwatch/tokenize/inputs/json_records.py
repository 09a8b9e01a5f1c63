"""JSON of any layout as one record a line: arrays of records, records that span lines, and several of these in a row.

Records are found by their brackets and strings; whether one is a record with a text is for the encoder to say. A broken
one ends at its bracket if another record, or the end of the array, follows there; else where the next record begins a
line with the same indentation. If neither is so, a quote or a bracket is missing and the rest of the file cannot be
told apart: that is an error, with --bad-records skip too.
"""

import re
from collections.abc import Callable, Iterator
from typing import NoReturn

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES
from memwatch.tokenize.inputs.json_shape import BYTE_ORDER_MARK

READ_BYTES = 1 * MIB
_BETWEEN = re.compile(rb"[\s,]*+")
_IN_STRING = rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
# Up to the next bracket, or to a quote whose string has no end in view.
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"' + _IN_STRING + rb'")*+', re.DOTALL)
_STRING = re.compile(rb'"' + _IN_STRING, re.DOTALL)
_REST_OF_STRING = re.compile(_IN_STRING, re.DOTALL)
_SCALAR = re.compile(rb'[^\s,{}\[\]"]*+')
_AFTER_IN_ARRAY = re.compile(rb'\s*(?:,\s*(?:\{\s*["}]|null\b)|\]\s*(?:\Z|[\[{]))')
_AFTER = re.compile(rb'\s*(?:\{\s*["}]|\[\s*\{)')
# More than the longest record, so that the code that cuts lines into blocks sees that it is too long.
_TOO_LONG_BYTES = LONGEST_RECORD_BYTES + 64


class JsonRecords:
    """Reads such a stream; `read` returns the records, each on a line."""

    def __init__(self, read: Callable[[int], bytes], name: str) -> None:
        import msgspec  # for who reads JSON

        self._read = read
        self._name = name
        self._data = b""  # what was read and not handed out
        self._origin = 0  # of that, in the stream
        self._at = 0  # in it: where the next record begins
        self._indent: bytes | None = None  # of that record, if it begins a line
        self._ended = False
        self._in_array = False
        self._number = 0
        self._lines = self._all_lines()
        self._ready = memoryview(b"")
        self._check = msgspec.json.Decoder(msgspec.Raw).decode

    def read(self, size: int) -> bytes:
        """At most so many bytes; nothing at the end."""
        if not self._ready:
            parts, length = [], 0
            while length < size and (line := next(self._lines, None)) is not None:
                parts.append(line)
                length += len(line)
            self._ready = memoryview(b"".join(parts))
        data, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return data

    def _all_lines(self) -> Iterator[bytes]:
        self._more()
        if self._data.startswith(BYTE_ORDER_MARK):
            self._at = len(BYTE_ORDER_MARK)
        self._indent = b""
        while self._to_record():
            self._number += 1
            end = self._end_of_record()
            if end is not None:
                size = end - self._at  # To look at what follows may move the record.
                end = self._at + size if self._is_followed(end) else self._next_line("it is not JSON")
            if end is None:
                yield self._data[self._at : self._at + _TOO_LONG_BYTES].replace(b"\n", b" ")
                end = self._end_of_long_record()
            else:
                yield self._data[self._at : end].rstrip(b" \t\r\n,").replace(b"\n", b" ")
            yield b"\n"
            self._at, self._indent = end, None

    def _more(self) -> bool:
        """Read more than there is, so that looking at it again takes little. False at the end."""
        self._drop(self._at)
        data = b"" if self._ended else self._read(max(READ_BYTES, len(self._data)))
        self._ended = not data
        self._data += data
        return not self._ended

    def _drop(self, size: int) -> None:
        self._data = self._data[size:]
        self._origin += size
        self._at = 0

    def _to_record(self) -> bool:
        """Go to the next record; false at the end."""
        while True:
            found = _BETWEEN.match(self._data, self._at)
            assert found is not None
            if found.end() == len(self._data):
                if self._more():
                    continue
                if self._in_array:
                    self._fail("it ends in the middle of an array; is the download complete?")
                return False
            if found.end() > self._at:
                _, newline, indent = found[0].rpartition(b"\n")
                self._indent = indent if newline and b"," not in indent else None
            self._at = found.end()
            first = self._data[self._at : self._at + 1]
            if (first == b"[" and not self._in_array) or (first == b"]" and self._in_array):
                self._in_array = not self._in_array
                self._at += 1
                self._indent = b""
                continue
            return True

    def _end_of_record(self) -> int | None:
        """None if it is too long to be one."""
        first = self._data[self._at : self._at + 1]
        if first not in (b"{", b"["):
            return self._end_of_value(_STRING if first == b'"' else _SCALAR)
        depth, seen = 0, 0  # `seen` counts from the start of the record
        while True:
            found = _TO_BRACKET.match(self._data, self._at + seen)
            assert found is not None
            at, seen = found.end(), found.end() - self._at
            bracket = self._data[at : at + 1]
            if bracket in (b"{", b"["):
                depth, seen = depth + 1, seen + 1
            elif bracket in (b"}", b"]"):
                depth, seen = depth - 1, seen + 1
                if not depth:
                    return at + 1
            elif bracket and self._is_string_cut(at):
                return self._next_line("it has a line end in a string")
            elif len(self._data) - self._at > _TOO_LONG_BYTES:
                return self._line_of_next()
            elif not self._more():
                return self._next_line("it has no end")

    def _is_followed(self, end: int) -> bool:
        """Whether a record is JSON, or what follows it is as it should be."""
        try:
            self._check(memoryview(self._data)[self._at : end])
            return True
        except Exception:  # ValidationError, DecodeError, RecursionError
            pass
        seen = end - self._at
        while True:
            after = (_AFTER_IN_ARRAY if self._in_array else _AFTER).match(self._data, self._at + seen)
            if after is not None:
                return True
            if len(self._data) - self._at - seen > READ_BYTES or not self._more():
                return not (self._in_array or self._data[self._at + seen :].strip())

    def _end_of_value(self, pattern: re.Pattern[bytes]) -> int:
        """Of a value that is no record, such as null."""
        while True:
            found = pattern.match(self._data, self._at)
            assert found is not None
            if found.end() < len(self._data) or not self._more():
                return min(max(found.end() + (pattern is _STRING), self._at + 1), len(self._data))
            if len(self._data) > LONGEST_RECORD_BYTES:
                self._fail(f"record {self._number} at byte {self._origin} has no end")

    def _is_string_cut(self, quote: int) -> bool:
        """Whether the string that begins here runs into a line end."""
        found = _STRING.match(self._data, quote)
        assert found is not None
        return self._data[found.end() : found.end() + 1] == b"\n"

    def _next_line(self, problem: str) -> int:
        """The end of a record whose own end cannot be found."""
        while (end := self._line_of_next()) is None:
            if len(self._data) > LONGEST_RECORD_BYTES or not self._more():
                where = f"record {self._number} at byte {self._origin + self._at}"
                self._fail(f"{where}: {problem}, and where the next one begins is not clear")
        return end

    def _line_of_next(self) -> int | None:
        if self._indent is None:
            return None
        found = re.compile(rb"\n" + re.escape(self._indent) + rb"(?=[{\]])").search(self._data, self._at)
        return None if found is None else found.start()

    def _end_of_long_record(self) -> int:
        """Read to the end of a record that is longer than the longest, and keep nothing of it."""
        depth, in_string, number = 0, False, f"record {self._number} at byte {self._origin + self._at}"
        while True:
            found = (_REST_OF_STRING if in_string else _TO_BRACKET).match(self._data, self._at)
            assert found is not None
            self._at = found.end()
            mark = self._data[self._at : self._at + 1]
            if mark in (b"", b"\\"):
                if not self._more():
                    self._fail(f"{number} has no end")
                continue
            if mark == b"\n":
                self._fail(f"{number} has a line end in a string")
            self._at += 1
            if mark == b'"':
                in_string = not in_string
            else:
                depth += 1 if mark in (b"{", b"[") else -1
                if not depth:
                    return self._at

    def _fail(self, problem: str) -> NoReturn:
        raise MemwatchError(f"{self._name} is broken JSON: {problem}")
