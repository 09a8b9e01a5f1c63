"""D-Bus messages: as much as it takes to send a request to systemd or a desktop and to read the reply.

A library for all of D-Bus takes 10 ms to load, which the job would have to wait for (jeepney; docs/MEASUREMENTS.md).
"""

import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

HEADER_BYTES = 16
# systemd never has this much to say to us.
MOST_BYTES = 1 << 20

_NO_REPLY = 1
_ORDER = "<" if sys.byteorder == "little" else ">"
_ALIGNMENT = {"y": 1, "g": 1, "b": 4, "i": 4, "u": 4, "s": 4, "o": 4, "a": 4, "t": 8}
_FORMAT = {"y": "B", "b": "I", "i": "i", "u": "I", "t": "Q"}

Value = Any


class MessageType(IntEnum):
    """As the D-Bus specification numbers them."""

    CALL = 1
    RETURN = 2
    ERROR = 3
    SIGNAL = 4


class Field(IntEnum):
    """Header fields, as the D-Bus specification numbers them."""

    PATH = 1
    INTERFACE = 2
    MEMBER = 3
    REPLY_TO = 5
    DESTINATION = 6
    SIGNATURE = 8


class DBusError(Exception):
    """What the other side, or the way to it, had against it."""


@dataclass(frozen=True, slots=True)
class Message:
    """A received message."""

    kind: int
    fields: dict[int, Value]
    body: tuple[Value, ...]

    @property
    def member(self) -> Value:
        return self.fields.get(Field.MEMBER)

    @property
    def reply_to(self) -> Value:
        return self.fields.get(Field.REPLY_TO)


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a call is for."""

    destination: str
    path: str
    interface: str


def encode_call(
    serial: int, target: Target, member: str, signature: str, arguments: Sequence[Value], wants_reply: bool = True
) -> bytes:
    """A method call as bytes."""
    fields: dict[int, tuple[str, Value]] = {
        Field.PATH: ("o", target.path),
        Field.DESTINATION: ("s", target.destination),
        Field.INTERFACE: ("s", target.interface),
        Field.MEMBER: ("s", member),
    }
    return encode(MessageType.CALL, serial, fields, signature, arguments, 0 if wants_reply else _NO_REPLY)


def encode(
    kind: MessageType,
    serial: int,
    fields: Mapping[int, tuple[str, Value]],
    signature: str,
    arguments: Sequence[Value],
    flags: int = 0,
) -> bytes:
    """`fields` and variants are given as (signature, value), structures as tuples, arrays and dictionaries as lists."""
    body = bytearray()
    for part, argument in zip(split(signature), arguments, strict=True):
        _put(body, part, argument)
    order = ord("l" if _ORDER == "<" else "B")
    message = bytearray(struct.pack(f"{_ORDER}4BII", order, kind, flags, 1, len(body), serial))
    _put(message, "a(yv)", [*fields.items(), (Field.SIGNATURE, ("g", signature))])
    _pad(message, 8)
    return bytes(message + body)


def message_length(head: bytes) -> int:
    """The length of a whole message, from its first HEADER_BYTES bytes."""
    order = _order(head)
    body, _, fields = struct.unpack_from(f"{order}III", head, 4)
    length = int(HEADER_BYTES + fields + -fields % 8 + body)
    if length > MOST_BYTES:
        raise DBusError("its answer is too long")
    return length


def decode(data: bytes) -> Message:
    """A whole message; of its body only plain numbers and strings, which is all that is waited for."""
    try:
        order = _order(data)
        reader = _Reader(data, order, 12)
        fields: dict[int, Value] = {}
        end = HEADER_BYTES + reader.number("u")
        while reader.at < end:
            reader.skip_to(8)
            code = reader.number("y")
            fields[code] = reader.value(str(reader.value("g")))
        reader.skip_to(8)
        body = []
        for kind in split(str(fields.get(Field.SIGNATURE, ""))):
            if kind not in ("y", "b", "u", "t", "s", "o", "g"):
                break
            body.append(reader.value(kind))
        return Message(data[1], fields, tuple(body))
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise DBusError("its answer is not a D-Bus message") from error


def split(signature: str) -> list[str]:
    """The complete types of a signature: `sa(sv)` is `s` and `a(sv)`."""
    types: list[str] = []
    start = 0
    while start < len(signature):
        end = start
        while signature[end] == "a":
            end += 1
        depth = 0
        while True:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[end], 0)
            end += 1
            if depth == 0:
                break
        types.append(signature[start:end])
        start = end
    return types


class _Reader:
    def __init__(self, data: bytes, order: str, at: int) -> None:
        self._data = data
        self._order = order
        self.at = at

    def value(self, kind: str) -> Value:
        if kind in _FORMAT:
            return self.number(kind)
        length = self.number("y" if kind == "g" else "u")
        if kind not in ("s", "o", "g") or self.at + length >= len(self._data):
            raise ValueError(kind)
        text = self._data[self.at : self.at + length].decode(errors="replace")
        self.at += length + 1
        return text

    def number(self, kind: str) -> int:
        self.skip_to(_ALIGNMENT[kind])
        (value,) = struct.unpack_from(self._order + _FORMAT[kind], self._data, self.at)
        self.at += _ALIGNMENT[kind]
        return int(value)

    def skip_to(self, alignment: int) -> None:
        self.at += -self.at % alignment


def _put(out: bytearray, kind: str, value: Value) -> None:
    """Append one value of a complete type. A variant is given as (signature, value)."""
    if kind in _FORMAT:
        _pad(out, _ALIGNMENT[kind])
        out += struct.pack(_ORDER + _FORMAT[kind], value)
    elif kind in ("s", "o", "g"):
        text = str(value).encode()
        _put(out, "y" if kind == "g" else "u", len(text))
        out += text + b"\0"
    elif kind == "v":
        signature, inner = value
        _put(out, "g", signature)
        _put(out, signature, inner)
    elif kind[0] in "({":
        _pad(out, 8)
        for part, item in zip(split(kind[1:-1]), value, strict=True):
            _put(out, part, item)
    else:
        _put_array(out, kind[1:], value)


def _put_array(out: bytearray, kind: str, items: Value) -> None:
    _put(out, "u", 0)
    at = len(out)
    _pad(out, 8 if kind[0] in "({" else _ALIGNMENT[kind[0]])
    start = len(out)
    for item in items:
        _put(out, kind, item)
    # The length is without what pads the first item.
    out[at - 4 : at] = struct.pack(_ORDER + "I", len(out) - start)


def _pad(out: bytearray, alignment: int) -> None:
    out += bytes(-len(out) % alignment)


def _order(data: bytes) -> str:
    return "<" if data[:1] == b"l" else ">"
