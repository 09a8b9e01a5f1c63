"""What an input is, by its beginning: packing, format, or something that is no text at all."""

import io
import shlex
from collections.abc import Callable
from typing import Any

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES
from memwatch.tokenize.inputs.input_formats import FORMATS, Kind, recognised
from memwatch.tokenize.inputs.json_shape import BYTE_ORDER_MARK
from memwatch.tokenize.inputs.packings import UNREAD

SNIFF_BYTES = 64 * KIB
# Text with more rubbish than this is taken for something else, a picture or a disk image.
RUBBISH_FRACTION = 0.3
LEAST_BYTES_TO_JUDGE = 512
# Where the zeros of Latin text are, among four bytes, if there is no mark.
_ZEROS = {"UTF-32LE": (1, 2, 3), "UTF-32BE": (0, 1, 2), "UTF-16LE": (1, 3), "UTF-16BE": (0, 2)}
ZEROS_FRACTION = 0.7  # of the bytes in one of these places
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\x1b")
# By their byte order marks; that of UTF-32 begins like that of UTF-16.
_OTHER_ENCODINGS = {
    b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
    b"\x84\x31\x95\x33": "GB18030",
}  # fmt: skip


def is_head_enough(head: bytes | bytearray) -> bool:
    """Whether this much of an input shows what it is: a line, or enough without one. The first record may be long."""
    start = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if len(head) < SNIFF_BYTES:
        return False
    if b"\n" in start or start[:1] not in (b"{", b"["):
        return True
    return start[1:].lstrip()[:1] == b"{" or len(head) >= LONGEST_RECORD_BYTES


def head_of(read: Callable[[int], bytes | None]) -> tuple[bytes, bool]:
    """The beginning of an input, and whether that is all of it."""
    head = bytearray()
    while not is_head_enough(head):
        data = read(SNIFF_BYTES)
        if not data:
            return bytes(head), True
        head += data
    return bytes(head), False


def format_of(name: str, head: bytes, is_whole: bool, wanted: Kind | None, any_bytes: bool) -> Kind:
    """The format of an unpacked input. `any_bytes` takes what does not look like text."""
    if wanted is None:
        for magic, what in UNREAD.items():
            if head.startswith(magic):
                raise MemwatchError(f"{name} is {what}, which memwatch does not read; unpack or convert it first")
    kind = wanted or recognised(name, head, is_whole)
    if not FORMATS[kind].has_rows and not any_bytes:
        _refuse_rubbish(name, head)
    return kind


def _refuse_rubbish(name: str, head: bytes) -> None:
    other = _other_encoding(head)
    if other is not None:
        raise MemwatchError(
            f"{name} is {other} text; convert it first: iconv -f {other} -t UTF-8 {shlex.quote(name)} > utf8.txt"
        )
    if len(head) < LEAST_BYTES_TO_JUDGE:
        return
    text = head.decode("utf-8", "replace")
    rubbish = text.count("\ufffd") + len(head) - len(head.translate(None, _CONTROLS))
    if rubbish > RUBBISH_FRACTION * len(text):
        raise MemwatchError(
            f"{name} does not look like text ({100 * rubbish / len(text):.0f} % of its beginning is not); "
            f"to tokenize it anyway, add --errors replace"
        )


def _other_encoding(head: bytes) -> str | None:
    """The encoding of a text, if it is not UTF-8: by its mark, or by where the zeros are that each letter has."""
    for mark, name in _OTHER_ENCODINGS.items():
        if head.startswith(mark):
            return name
    zeros = [head[place:SNIFF_BYTES:4].count(0) * 4 / max(len(head[:SNIFF_BYTES]), 1) for place in range(4)]
    for name, are_zero in _ZEROS.items() if len(head) >= LEAST_BYTES_TO_JUDGE else ():
        if all((zeros[place] > ZEROS_FRACTION) == (place in are_zero) for place in range(4)):
            return name
    return None


class Prefixed(io.RawIOBase):
    """What was read of a file to recognise it, and then the rest. `position` says how much was handed out."""

    def __init__(self, head: bytes, read: Callable[[int], bytes] = lambda size: b"") -> None:
        super().__init__()
        self._head = memoryview(head)
        self._read = read
        self.position = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        size = SNIFF_BYTES if size is None or size < 0 else size
        if self._head:
            data, self._head = bytes(self._head[:size]), self._head[size:]
        else:
            data = self._read(size)
        self.position += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
