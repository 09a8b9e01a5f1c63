"""Compressed inputs: how each packing is recognised and unpacked, from the front.

Only the last step of a stream may be cut by the end of the file, and nothing is skipped: what does not unpack is an
error that says where. (The readers of the standard library ignore whatever follows a complete stream, so a flipped bit
in the second stream of a file would silently drop the rest.)
"""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB

PACKED_READ_BYTES = 1 * MIB
UNPACKED_STEP_BYTES = 1 * MIB
# zstd --long=31, the most there is. How much memory a file really takes is in its header: `window_bytes`.
LARGEST_WINDOW_LOG = 31
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_XZ_MAGIC = b"\xfd7zXZ\0"
_XZ_HEADER_BYTES = 12
WINDOW_HEADER_BYTES = 64  # of a file, in which `window_bytes` looks
# What is recognised to be refused: the name in the sentence, by the first bytes.
UNREAD = {
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"\x1f\x9d": "compress (.Z)",
    b"LZIP": "lzip",
    b"FEA1": "feather version 1",
    b"%PDF-": "a PDF document",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF89a": "a GIF image",
    b"\x7fELF": "an executable (ELF)",
    b"MZ\x90\0": "an executable (Windows)",
    b"SQLite format 3\0": "an SQLite database",
    b"\x93NUMPY": "a numpy array",
    b"GGUF": "a model (GGUF)",
}


class PackedFile(Protocol):
    """The file as it is. `position` says how much of it was read."""

    position: int

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class Decompressor(Protocol):
    """As bz2, lzma and zstd have it: one stream."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class StreamsReader:
    """One compressed stream after the other. Zeros between them are padding where the format allows it."""

    def __init__(self, file: Any, new: Callable[[], Decompressor], has_padding: bool) -> None:
        self._file = file
        self._new = new
        self._padding = b"\0" if has_padding else b""
        self._stream: Decompressor | None = None
        self._rest = b""

    def read(self, size: int) -> bytes:
        while True:
            if self._stream is None and not self._begin():
                return b""
            stream = self._stream
            assert stream is not None
            packed = b""
            if stream.needs_input:
                packed, self._rest = self._rest or self._file.read(PACKED_READ_BYTES), b""
                if not packed:
                    raise EOFError
            data = stream.decompress(packed, min(size, UNPACKED_STEP_BYTES))
            if stream.eof:
                self._rest, self._stream = stream.unused_data, None
            if data:
                return data

    def _begin(self) -> bool:
        """The next stream, if there is one."""
        while not (rest := self._rest.lstrip(self._padding) if self._padding else self._rest):
            self._rest = self._file.read(PACKED_READ_BYTES)
            if not self._rest:
                return False
        self._rest = rest
        self._stream = self._new()
        return True


def _gzip(file: PackedFile) -> Any:
    from isal import igzip

    return igzip.IGzipFile(fileobj=io.BufferedReader(file, PACKED_READ_BYTES), mode="rb")  # type: ignore[type-var]


def _bz2(file: PackedFile) -> Any:
    from bz2 import BZ2Decompressor

    return StreamsReader(file, BZ2Decompressor, has_padding=True)


def _xz(file: PackedFile) -> Any:
    from lzma import LZMADecompressor

    return StreamsReader(file, LZMADecompressor, has_padding=True)


def _zstd(file: PackedFile) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW_LOG}
    return StreamsReader(file, lambda: zstd.ZstdDecompressor(options=options), has_padding=False)


@dataclass(frozen=True, slots=True)
class Packing:
    """A compression format. `open` returns a reader of the unpacked bytes."""

    name: str
    suffixes: tuple[str, ...]
    magics: tuple[bytes, ...]
    open: Callable[[Any], Any]
    packages: tuple[str, ...] = ()  # one of which is needed


PACKINGS: dict[str, Packing] = {
    each.name: each
    for each in (
        Packing("gzip", (".gz", ".gzip", ".tgz"), (b"\x1f\x8b",), _gzip),
        # zstd files may begin with a frame to be skipped, as pzstd's do.
        Packing("zstd", (".zst", ".zstd", ".tzst"),
                (_ZSTD_MAGIC, *(bytes([i]) + b"\x2a\x4d\x18" for i in range(0x50, 0x60))), _zstd,
                ("compression.zstd", "backports.zstd")),
        Packing("bz2", (".bz2", ".tbz2"), (b"BZh",), _bz2),
        Packing("xz", (".xz", ".txz"), (_XZ_MAGIC,), _xz),
    )
}  # fmt: skip


def packing_of(head: bytes) -> str | None:
    """The packing of a file, by its first bytes; None if it has none."""
    return next((each.name for each in PACKINGS.values() if head.startswith(each.magics)), None)


def packing_named(name: str) -> str | None:
    """The packing that a name stands for."""
    return next((each.name for each in PACKINGS.values() if name.lower().endswith(each.suffixes)), None)


def window_bytes(head: bytes) -> int:
    """How much memory the first zstd frame or xz block of a file takes to unpack; 0 for packings that take little."""
    if head.startswith(_XZ_MAGIC):
        return _xz_dictionary_bytes(head[_XZ_HEADER_BYTES:])
    if not head.startswith(_ZSTD_MAGIC) or len(head) < 6:
        return 0
    if not head[4] & 0x20:
        exponent, mantissa = head[5] >> 3, head[5] & 7
        return (1 << (10 + exponent)) * (8 + mantissa) // 8
    # One segment: it is held as a whole, and its size follows an optional number of a dictionary.
    at = 5 + (0, 1, 2, 4)[head[4] & 3]
    return int.from_bytes(head[at : at + (1, 2, 4, 8)[head[4] >> 6]], "little")


def _xz_dictionary_bytes(block: bytes) -> int:
    """From the header of a block: its size and flags, perhaps two sizes, then its filters. The last one is LZMA2 (33),
    with one byte for the dictionary."""
    header = block[: 4 * (block[0] + 1)] if block else b""
    at = header.find(b"\x21\x01", 2)
    if at < 0 or at + 2 >= len(header):
        return 0
    bits = header[at + 2] & 0x3F
    return (2 | bits & 1) << (bits // 2 + 11)


class Unpacker:
    """The bytes of a packed file, unpacked. Whatever is wrong with it becomes a sentence with the place."""

    def __init__(self, file: PackedFile, packing: str, name: str) -> None:
        self._file = file
        self._name = name
        try:
            self._reader = PACKINGS[packing].open(file)
        except ImportError as error:
            package = PACKINGS[packing].packages[-1]
            raise MemwatchError(f"{name} is compressed with {packing}; to read it: pip install {package}") from error

    def read(self, size: int) -> bytes:
        """At most `size` bytes; nothing at the end."""
        try:
            return self._reader.read(size) or b""
        except MemwatchError:
            raise
        except EOFError as error:
            raise MemwatchError(
                f"{self._name} ends in the middle of its packed data, at byte {self._file.position}; "
                "is the download complete?"
            ) from error
        except Exception as error:  # Each unpacker has exceptions of its own.
            reason = getattr(error, "strerror", None) or error or type(error).__name__
            raise MemwatchError(
                f"{self._name} is damaged: cannot unpack it before byte {self._file.position} ({reason})"
            ) from error
