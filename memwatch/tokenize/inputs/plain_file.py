"""A plain input that is read in ranges, each once."""

import os

from memwatch.errors import MemwatchError
from memwatch.model.units import MIB
from memwatch.storage.address import is_remote
from memwatch.storage.object_file import ObjectRanges
from memwatch.storage.store import store_of
from memwatch.tokenize.cuts import View
from memwatch.tokenize.inputs.input_source import Input, InputChanged, object_info
from memwatch.tokenize.pagecache import advise, forget

LINE_STEP_BYTES = 4 * MIB


class PlainFile:
    """A file or object that can be read from any byte on."""

    def __init__(self, source: Input) -> None:
        self.source = source
        self._size = source.size_bytes or 0
        self._long_line = (0, -1)  # no line end between the two
        self._object = ObjectRanges(store_of(source.path), object_info(source.path)) if is_remote(source.path) else None
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

    def next_line(self, offset: int) -> int:
        """Where the next line begins, however far away, or the end. Cached, for many places in one long line."""
        begin, found = self._long_line
        if not begin <= offset <= found:
            found, at = self._size, offset
            while at < self._size:
                data = self.read(at, at + LINE_STEP_BYTES)
                if (end := data.find(b"\n")) >= 0:
                    found = at + end + 1
                    break
                at += len(data)
            self._long_line = (offset, found)
        return found

    def view(self, start: int, end: int) -> View:
        start = max(start, 0)
        return View(self.read(start, end), start, end >= self._size)

    def read_ahead(self, start: int, end: int) -> None:
        """Have the system read a range that will soon be wanted."""
        if self._fd >= 0:
            advise(self._fd, start, end, "POSIX_FADV_WILLNEED")

    def forget(self, start: int, end: int) -> None:
        """Drop a range from the page cache that nobody will read again, and what is left of the range before it
        (pagecache.forget): whoever calls knows that nobody else has that still to read."""
        if self._fd >= 0:
            forget(self._fd, start, end)

    def close(self) -> None:
        if self._object is not None:
            self._object.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise MemwatchError(f"cannot read {path}: {error.strerror}") from error
