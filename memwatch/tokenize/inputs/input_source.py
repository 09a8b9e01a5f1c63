"""An input as it was when the run began, and whether it still is."""

import hashlib
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from isal import isal_zlib

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB
from memwatch.storage.address import is_remote
from memwatch.storage.store import ObjectInfo, store_of
from memwatch.tokenize.inputs.input_formats import FORMATS, Kind
from memwatch.tokenize.pagecache import forget

STANDARD_INPUT = "-"
FINGERPRINT_PIECES = 16
FINGERPRINT_PIECE_BYTES = 4 * KIB


class InputChanged(MemwatchError):
    """The file is not what it was when the run began."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} changed while it was read; when it is complete, start over with --fresh")


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, as it was when the run began. Standard input has no size, time or fingerprint. The members of an
    archive are read one after the other; `kind` is that of the first."""

    path: str
    kind: Kind
    packing: str | None
    size_bytes: int | None
    modified_ns: int | None
    fingerprint: str | None
    archive: str | None = None
    # For the members of an archive: what the command line says about their format.
    input_format: Kind | None = None
    any_bytes: bool = False
    nul_bytes: int = 0  # in the beginning of a text, where there should be none

    @property
    def is_standard_input(self) -> bool:
        return self.path == STANDARD_INPUT

    @property
    def has_rows(self) -> bool:
        """Whether a row reader reads it, in row groups."""
        return FORMATS[self.kind].has_rows

    @property
    def is_plain(self) -> bool:
        """Whether it can be read from any byte on."""
        is_packed = self.packing is not None or self.archive is not None
        return not (is_packed or self.has_rows or self.is_standard_input or FORMATS[self.kind].from_front)

    @property
    def name(self) -> str:
        return "standard input" if self.is_standard_input else self.path

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def change_since(self, recorded: dict[str, Any]) -> str | None:
        """How this input differs from what an earlier run read, in words. A time stamp alone is no difference."""
        if self.path != recorded["path"]:
            return f"the input was {recorded['path']} and is now {self.path}"
        if self.size_bytes != recorded["size_bytes"]:
            return f"{self.name} had {recorded['size_bytes']} bytes and now has {self.size_bytes}"
        if self.fingerprint != recorded["fingerprint"]:
            return f"{self.name} has changed contents"
        if (self.kind, self.packing) != (recorded["kind"], recorded["packing"]):
            return f"{self.name} was {recorded['kind']} and is now {self.kind}"
        return None

    def is_touched(self, modified_ns: int | None) -> bool:
        """Whether its time stamp is another one, which says that it may have changed."""
        return not is_remote(self.path) and self.modified_ns != modified_ns

    def now(self) -> "InputStatus":
        """What the file system or the store says about it at this moment."""
        if is_remote(self.path):
            info = object_info(self.path)
            return InputStatus(info.size_bytes, info.modified_ns, object_fingerprint(info))
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                return InputStatus(status.st_size, status.st_mtime_ns, fingerprint(file.fileno(), status.st_size))
        except OSError as error:
            raise MemwatchError(f"{self.name} was removed while it was read: {error.strerror}") from error

    def check_unchanged(self) -> None:
        """Raise if the file is not what it was when the run began: the output would mix two versions of it."""
        if not self.is_standard_input:
            now = self.now()
            if (now.size_bytes, now.fingerprint) != (self.size_bytes, self.fingerprint):
                raise InputChanged(self.name)

    def forget(self) -> None:
        """Drop it from the page cache: it is read once."""
        if not self.is_standard_input:
            with suppress(OSError):
                fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
                forget(fd, 0, self.size_bytes or 0)
                os.close(fd)


@dataclass(frozen=True, slots=True)
class InputStatus:
    """What tells two versions of an input apart."""

    size_bytes: int
    modified_ns: int | None
    fingerprint: str


class Checksum:
    """A checksum of the text that was read of an input, which a resumed run compares (resume_check.py).

    CRC-32 by isal runs at 9 GB/s here (SHA-256 at 1.5), and the checksums of two neighbouring pieces give that of both,
    so workers compute them in any order. It recognises damage and edits; nobody is expected to forge it.
    """

    __slots__ = ("_value",)

    def __init__(self, hex_digits: str | None = None) -> None:
        self._value = 0 if hex_digits is None else int(hex_digits, 16)

    def update(self, data: bytes | memoryview) -> None:
        self._value = isal_zlib.crc32(data, self._value)

    def append(self, hex_digits: str, length: int) -> None:
        """Add the checksum of the piece that follows, of this length."""
        self._value = isal_zlib.crc32_combine(self._value, int(hex_digits, 16), length)

    @property
    def hex(self) -> str:
        return f"{self._value:08x}"


def fingerprint(fd: int, size: int) -> str:
    """A hash of pieces spread over the whole file: fast, and enough to distinguish two versions of a file."""
    digest = hashlib.sha256(str(size).encode())
    last_start = max(size - FINGERPRINT_PIECE_BYTES, 0)
    for i in range(FINGERPRINT_PIECES):
        digest.update(os.pread(fd, FINGERPRINT_PIECE_BYTES, last_start * i // (FINGERPRINT_PIECES - 1)))
    return digest.hexdigest()


def object_info(address: str) -> ObjectInfo:
    """Size and version of an object in a bucket. Raises MemwatchError if there is none."""
    try:
        return store_of(address).info(address)
    except FileNotFoundError as error:
        raise MemwatchError(f"cannot read {address}: there is no such object") from error


def object_fingerprint(info: ObjectInfo) -> str:
    """A store's own hash of an object, or its version, changes with the content."""
    return f"version {info.version or info.modified_ns}"
