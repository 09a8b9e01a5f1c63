"""Files of /proc and /sys, read again and again.

Opening such a file costs several times as much as reading it, so a KeptFile stays open. It also follows what it was
opened for: once a process or a cgroup is gone its file gives errors, even if another one has taken the name.
"""

import os

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CHUNK_BYTES = 16384
# The kernel hands out whole lines, about a page (4 KiB) at a time, whatever was asked for. Less than this is the end.
_SURELY_WHOLE_BYTES = 3072


def read_file(path: str) -> bytes | None:
    """The whole file, or None if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return _read_all(fd)
    except OSError:
        return None
    finally:
        os.close(fd)


def why_unreadable(path: str) -> str | None:
    """Why a file cannot be read, in the system's words; None if it can."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as error:
        return error.strerror
    try:
        os.pread(fd, 1, 0)
    except OSError as error:
        return error.strerror
    finally:
        os.close(fd)
    return None


def read_number(path: str) -> int | None:
    """The number in a file that holds one; None if it cannot be read."""
    return _as_int(read_file(path))


def number_after(text: bytes, key: bytes) -> int | None:
    """The number that follows `key` at the start of a line: 'MemFree:  42 kB', 'pswpin 7'."""
    if text.startswith(key):
        start = len(key)
    else:
        at = text.find(b"\n" + key)
        if at < 0:
            return None
        start = at + 1 + len(key)
    end = text.find(b"\n", start)
    words = text[start : end if end >= 0 else None].split(None, 1)
    return _as_int(words[0]) if words else None


class KeptFile:
    """A file held open; opened again if it did not exist or was removed."""

    __slots__ = ("_fd", "_keep", "path")

    def __init__(self, path: str, keep: bool = True) -> None:
        self.path = path
        self._keep = keep
        self._fd: int | None = None

    def read(self) -> bytes | None:
        if not self._keep:
            return read_file(self.path)
        try:
            if self._fd is None:
                self._fd = os.open(self.path, os.O_RDONLY)
            return _read_all(self._fd)
        except OSError:
            self.close()
            return None

    def number(self) -> int | None:
        return _as_int(self.read())

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __del__(self) -> None:
        """Its owner need not close it: the owner of hundreds may itself be dropped."""
        self.close()


def _read_all(fd: int) -> bytes:
    text = os.pread(fd, _CHUNK_BYTES, 0)
    if len(text) < _SURELY_WHOLE_BYTES:
        return text
    while more := os.pread(fd, _CHUNK_BYTES, len(text)):
        text += more
    return text


def _as_int(text: bytes | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
