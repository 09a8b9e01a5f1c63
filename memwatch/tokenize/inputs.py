"""The inputs: which files, what is in them, and how to read each once, in order, in little memory.

Text and jsonl are streams of bytes, plain or packed; parquet is read row group by row group (rows.py).
"""

import glob
import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from memwatch.errors import MemwatchError, UsageError
from memwatch.model.units import KIB, MIB
from memwatch.storage.address import has_wildcard, is_remote, parse
from memwatch.storage.object_file import ObjectFile
from memwatch.storage.object_ranges import ObjectRanges
from memwatch.storage.store import ObjectInfo, store_of
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES, View
from memwatch.tokenize.pagecache import ReadBehind, advise, forget

Kind = Literal["text", "jsonl", "parquet"]
Packing = Literal["gzip", "zstd"]

STANDARD_INPUT = "-"
SNIFF_BYTES = 64 * KIB
FINGERPRINT_PIECES = 16
FINGERPRINT_PIECE_BYTES = 4 * KIB
PACKED_READ_BYTES = 1 * MIB
OBJECTS_AT_ONCE = 32
# Text with more rubbish than this is taken for something else, a picture or a disk image.
RUBBISH_FRACTION = 0.3
LEAST_BYTES_TO_JUDGE = 512

# zstd files may begin with a frame to be skipped, as pzstd's do.
_MAGIC: dict[bytes, Packing] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\x50\x2a\x4d\x18": "zstd"}
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\x1b")
_TEXT_SUFFIXES = {".txt", ".text", ".md", ".rst"}
_JSONL_SUFFIXES = {".jsonl", ".ndjson"}
_PACKING_SUFFIXES = {".gz", ".zst", ".gzip", ".zstd"}


class InputChanged(MemwatchError):
    """The file is not what it was when the run began."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} changed while it was read; when it is complete, start over with --fresh")


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read, as it was when the run began. Standard input has no size, time or fingerprint."""

    path: str
    kind: Kind
    packing: Packing | None
    size_bytes: int | None
    modified_ns: int | None
    fingerprint: str | None

    @property
    def is_standard_input(self) -> bool:
        return self.path == STANDARD_INPUT

    @property
    def is_plain(self) -> bool:
        """Whether it can be read from any byte on."""
        return self.packing is None and self.kind != "parquet" and not self.is_standard_input

    @property
    def name(self) -> str:
        return "standard input" if self.is_standard_input else self.path

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def change_since(self, recorded: dict[str, Any]) -> str | None:
        """How this input differs from what an earlier run read, in words."""
        if self.path != recorded["path"]:
            return f"the input was {recorded['path']} and is now {self.path}"
        if self.size_bytes != recorded["size_bytes"]:
            return f"{self.name} had {recorded['size_bytes']} bytes and now has {self.size_bytes}"
        if self.fingerprint != recorded["fingerprint"]:
            return f"{self.name} has changed contents"
        if self.modified_ns != recorded["modified_ns"]:
            return f"{self.name} was modified"
        if (self.kind, self.packing) != (recorded["kind"], recorded["packing"]):
            return f"{self.name} was {recorded['kind']} and is now {self.kind}"
        return None

    def check_unchanged(self) -> None:
        """Raise if the file is not what it was when the run began: the output would mix two versions of it."""
        if self.is_standard_input:
            return
        if is_remote(self.path):
            info = _object(self.path)
            if (info.size_bytes, _object_fingerprint(info)) != (self.size_bytes, self.fingerprint):
                raise InputChanged(self.name)
            return
        try:
            now = os.stat(self.path)
        except OSError as error:
            raise MemwatchError(f"{self.name} was removed while it was read: {error.strerror}") from error
        if (now.st_size, now.st_mtime_ns) != (self.size_bytes, self.modified_ns):
            raise InputChanged(self.name)

    def forget(self) -> None:
        """Drop it from the page cache: it is read once."""
        if not self.is_standard_input:
            with suppress(OSError):
                fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
                forget(fd, 0, self.size_bytes or 0)
                os.close(fd)


def find_inputs(names: Iterable[str], text_column: str, any_bytes: bool = False) -> list[Input]:
    """Look at each input. `any_bytes` takes files that do not look like text."""
    paths = expand(names)
    if not any(map(is_remote, paths)):
        return [look_at(path, text_column, any_bytes) for path in paths]
    # Looking at an object is all waiting for the network.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(OBJECTS_AT_ONCE) as pool:
        return list(pool.map(lambda path: look_at(path, text_column, any_bytes), paths))


def expand(names: Iterable[str]) -> list[str]:
    """File names as they are, patterns in the order of their names."""
    paths: list[str] = []
    for name in names:
        if is_remote(name):
            paths += _objects(name)
        elif name == STANDARD_INPUT or os.path.lexists(name) or not glob.has_magic(name):
            paths.append(name)
        elif matches := sorted(glob.glob(name, recursive=True)):
            paths += matches
        else:
            raise MemwatchError(f"no file matches {name}")
    if paths.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    return paths


def look_at(path: str, text_column: str, any_bytes: bool = False) -> Input:
    if path == STANDARD_INPUT:
        return _look_at_standard_input(text_column)
    if is_remote(path):
        return _look_at_object(path, text_column, any_bytes)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise MemwatchError(f"{path} is not a regular file; to read from a pipe, use - and redirect it")
            head = _head_of(file)
            packing = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
            fingerprint = _fingerprint(file, status.st_size)
        if packing is not None:
            with open_once(path) as packed:
                unpacked = _unpacked(io.BufferedReader(packed, PACKED_READ_BYTES), packing, path)
                head = _head_of(unpacked)
    except IsADirectoryError as error:
        raise MemwatchError(
            f"{path} is a folder; name the files in it, for example {path.rstrip('/')}/*.txt"
        ) from error
    except EOFError as error:
        raise MemwatchError(_cut_short(path)) from error
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror or error}") from error
    kind = _kind(path, head, text_column)
    if kind != "parquet" and not any_bytes:
        _refuse_rubbish(path, head)
    return Input(path, kind, packing, status.st_size, status.st_mtime_ns, fingerprint)


def _look_at_object(address: str, text_column: str, any_bytes: bool) -> Input:
    info = _object(address)
    head = _object_head(info)
    packing = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if packing is not None:
        with open_once(address) as packed:
            head = _head_of(_unpacked(io.BufferedReader(packed, PACKED_READ_BYTES), packing, address))
    kind = _kind(address, head, text_column)
    if kind != "parquet" and not any_bytes:
        _refuse_rubbish(address, head)
    return Input(address, kind, packing, info.size_bytes, info.modified_ns, _object_fingerprint(info))


def _object_head(info: ObjectInfo) -> bytes:
    with store_of(info.address).open(info, sequential=False) as raw:
        return _head_of(io.BufferedReader(raw, SNIFF_BYTES))


def _object(address: str) -> ObjectInfo:
    try:
        return store_of(address).info(address)
    except FileNotFoundError as error:
        raise MemwatchError(f"cannot read {address}: there is no such object") from error


def _objects(name: str) -> list[str]:
    """Objects that match; a key with a wildcard character in it is named by a pattern, too."""
    parse(name)
    if not has_wildcard(name):
        return [name]
    found = [info.address for info in store_of(name).glob(name)]
    if not found:
        raise MemwatchError(f"no object matches {name}")
    return found


def _object_fingerprint(info: ObjectInfo) -> str:
    """A store's own hash of an object, or its version, changes with the content."""
    return f"version {info.version or info.modified_ns}"


def _without_waiting(path: str, flags: int) -> int:
    """To open a pipe would last until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _may_go_on(head: bytes | bytearray) -> bool:
    """Whether more of the input is needed to recognise its kind: the first record may be long."""
    return len(head) < (LONGEST_RECORD_BYTES if head.lstrip()[:1] == b"{" else SNIFF_BYTES)


def _head_of(file: io.BufferedIOBase) -> bytes:
    head = file.read(SNIFF_BYTES)
    if b"\n" not in head and _may_go_on(head):
        head += file.readline(LONGEST_RECORD_BYTES)
    return head


def _kind(path: str, head: bytes, text_column: str) -> Kind:
    """By content where that is certain, else by name."""
    suffix = Path(path).suffix.lower()
    if suffix in _PACKING_SUFFIXES:
        suffix = Path(path).with_suffix("").suffix.lower()
    if head.startswith(b"PAR1"):
        return "parquet"
    if suffix == ".parquet":
        raise MemwatchError(f"{path} is named like a parquet file but is not one")
    if suffix in _JSONL_SUFFIXES:
        return "jsonl"
    return "jsonl" if suffix not in _TEXT_SUFFIXES and _is_record(head, text_column) else "text"


def _is_record(head: bytes, text_column: str) -> bool:
    line, newline, _ = head.partition(b"\n")
    if not newline or not line.lstrip().startswith(b"{"):
        return False
    with suppress(ValueError):
        record = json.loads(line)
        return isinstance(record, dict) and isinstance(record.get(text_column), str)
    return False


def _refuse_rubbish(path: str, head: bytes) -> None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MemwatchError(f"{path} is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8 {path} > utf8.txt")
    if len(head) < LEAST_BYTES_TO_JUDGE:
        return
    text = head.decode("utf-8", "replace")
    rubbish = text.count("\ufffd") + len(head) - len(head.translate(None, _CONTROLS))
    if rubbish > RUBBISH_FRACTION * len(text):
        raise MemwatchError(
            f"{path} does not look like text ({100 * rubbish / len(text):.0f} % of its beginning is not); "
            f"to tokenize it anyway, add --errors replace"
        )


def _fingerprint(file: io.BufferedReader, size: int) -> str:
    """A hash of pieces spread over the whole file: fast, and enough to distinguish two versions of a file."""
    digest = hashlib.sha256(str(size).encode())
    last_start = max(size - FINGERPRINT_PIECE_BYTES, 0)
    for i in range(FINGERPRINT_PIECES):
        digest.update(os.pread(file.fileno(), FINGERPRINT_PIECE_BYTES, last_start * i // (FINGERPRINT_PIECES - 1)))
    return digest.hexdigest()


class PlainFile:
    """A plain input that is read in ranges, each once."""

    def __init__(self, source: Input) -> None:
        self.source = source
        self._size = source.size_bytes or 0
        self._object = _ranges(source.path) if is_remote(source.path) else None
        self._fd = _opened(source.path) if self._object is None else -1

    def read(self, start: int, end: int) -> bytes:
        parts: list[bytes] = []
        end = min(end, self._size)
        if self._object is not None:
            return self._object.read(start, end) if start < end else b""
        while start < end:
            try:
                data = os.pread(self._fd, end - start, start)
            except OSError as error:
                raise MemwatchError(f"cannot read the rest of {self.source.name}: {error.strerror}") from error
            if not data:
                raise InputChanged(self.source.name)
            parts.append(data)
            start += len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def view(self, start: int, end: int) -> View:
        start = max(start, 0)
        return View(self.read(start, end), start, end >= self._size)

    def read_ahead(self, start: int, end: int) -> None:
        """Have the system read a range that will soon be wanted."""
        if self._fd >= 0:
            advise(self._fd, start, end, "POSIX_FADV_WILLNEED")

    def forget(self, start: int, end: int) -> None:
        if self._fd >= 0:
            forget(self._fd, start, end)

    def close(self) -> None:
        if self._object is not None:
            self._object.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _ranges(address: str) -> ObjectRanges:
    return ObjectRanges(store_of(address), _object(address))


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error


class ReadOnce(io.FileIO):
    """A file that is read from front to back and leaves the page cache as it found it."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "rb")
        self._behind = ReadBehind(self.fileno())
        self.position = 0
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        self.position += count
        self._behind.read_up_to(self.position)
        return count

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.position += len(data)
        self._behind.read_up_to(self.position)
        return data

    def close(self) -> None:
        if not self.closed:
            forget(self.fileno(), 0, self.position)
        super().close()


def open_once(path: str, sequential: bool = True) -> "ReadOnce | ObjectFile":
    """Parquet is not read from front to back: for it `sequential` is False."""
    if is_remote(path):
        file = store_of(path).open(_object(path), sequential)
        assert isinstance(file, ObjectFile)
        return file
    try:
        return ReadOnce(path)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error


def _unpacked(file: io.BufferedReader, packing: Packing, path: str) -> io.BufferedIOBase:
    if packing == "gzip":
        from isal import igzip

        unpacked: io.BufferedIOBase = igzip.IGzipFile(fileobj=file, mode="rb")
        return unpacked
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise MemwatchError(f"{path} is compressed with zstd; to read it: pip install backports.zstd") from error
    unpacked = zstd.ZstdFile(file)
    return unpacked


def _cut_short(name: str) -> str:
    return f"{name} ends in the middle of its packed data; is the download complete?"


class Stream:
    """The text of a packed input from an offset on, unpacked again up to there."""

    digest = None  # Files are recognised by their fingerprint instead.

    def __init__(self, source: Input, offset: int = 0) -> None:
        self._name = source.name
        self._file = open_once(source.path)
        assert source.packing is not None
        self._reader = _unpacked(io.BufferedReader(self._file, PACKED_READ_BYTES), source.packing, source.path)
        while offset:
            offset -= len(self.read(min(offset, PACKED_READ_BYTES)) or _fail(_cut_short(self._name)))

    @property
    def file_position(self) -> int:
        """How far the file itself has been read: what progress is measured by."""
        return self._file.position

    def read(self, size: int) -> bytes:
        """At most `size` bytes; nothing at the end."""
        try:
            return self._reader.read(size) or b""
        except EOFError as error:
            raise MemwatchError(_cut_short(self._name)) from error
        except Exception as error:  # Each unpacker has exceptions of its own.
            reason = getattr(error, "strerror", None) or error
            raise MemwatchError(f"cannot read the rest of {self._name}: {reason}") from error

    def close(self) -> None:
        self._file.close()


class StandardInput:
    """Standard input as a stream. It cannot be read twice, so a resumed run knows what came before by its hash."""

    def __init__(self, offset: int = 0, digest: str | None = None) -> None:
        self.file_position = 0
        self.digest = hashlib.blake2b(digest_size=16)
        while offset:
            data = self.read(min(offset, PACKED_READ_BYTES)) or _fail(
                "standard input is shorter than in the interrupted run; --fresh starts over"
            )
            self.digest.update(data)
            offset -= len(data)
        if digest is not None and self.digest.hexdigest() != digest:
            raise MemwatchError("standard input differs from the interrupted run; --fresh starts over")

    def read(self, size: int) -> bytes:
        if _head_of_standard_input:
            data = bytes(_head_of_standard_input[:size])
            del _head_of_standard_input[:size]
        else:
            data = os.read(0, size)
        self.file_position += len(data)
        return data

    def close(self) -> None:
        """It was not opened here."""


# What was read of standard input to see what it is, until it is read in earnest.
_head_of_standard_input = bytearray()


def _look_at_standard_input(text_column: str) -> Input:
    try:
        while b"\n" not in _head_of_standard_input and _may_go_on(_head_of_standard_input):
            data = os.read(0, SNIFF_BYTES)
            if not data:
                break
            _head_of_standard_input.extend(data)
    except OSError as error:
        raise MemwatchError(f"cannot read standard input: {error.strerror}") from error
    head = bytes(_head_of_standard_input)
    if head.startswith((*_MAGIC, b"PAR1")):
        raise MemwatchError("standard input is not plain text; decompress it first (zcat, zstd -dc), or name the file")
    return Input(STANDARD_INPUT, "jsonl" if _is_record(head, text_column) else "text", None, None, None, None)


def _fail(message: str) -> bytes:
    raise MemwatchError(message)
