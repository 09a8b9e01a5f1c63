"""Keep what is read once and written once out of the page cache.

A 300 GB input must not push the desktop's pages out, and dirty pages must not pile up until an fsync stalls everything.
Advice only: where the system has no such calls, or a file system refuses them, nothing is lost but tidiness.
"""

import ctypes
import os
from contextlib import suppress
from typing import Any

from memwatch.model.units import MIB
from memwatch.on_linux import IS_LINUX

STEP_BYTES = 8 * MIB

_WAIT_BEFORE, _WRITE, _WAIT_AFTER = 1, 2, 4

_sync_file_range: Any = getattr(ctypes.CDLL(None), "sync_file_range", None) if IS_LINUX else None
if _sync_file_range is not None:
    _sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]


def advise(fd: int, start: int, end: int, advice: str) -> None:
    """posix_fadvise, where there is one. It is advice: an error changes nothing."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(fd, start, end - start, getattr(os, advice))


def forget(fd: int, start: int, end: int) -> None:
    """Drop the clean pages of a file up to `end`, from a step before `start` on: the kernel keeps pages in large units
    and drops none that reaches beyond the range, so the one across the last range's end is still there."""
    advise(fd, max(start - STEP_BYTES, 0), end, "POSIX_FADV_DONTNEED")


class WriteBehind:
    """Follows a writer: starts writing out each step as it is complete, and drops the step before it."""

    def __init__(self, fd: int, start: int) -> None:
        self._fd = fd
        self._started = self._dropped = start

    def wrote_up_to(self, end: int) -> None:
        while end - self._started >= STEP_BYTES:
            self._sync(self._started, STEP_BYTES, _WRITE)
            self._started += STEP_BYTES
            if self._started - self._dropped > STEP_BYTES:
                self._sync(self._dropped, STEP_BYTES, _WAIT_BEFORE | _WRITE | _WAIT_AFTER)
                forget(self._fd, self._dropped, self._dropped + STEP_BYTES)
                self._dropped += STEP_BYTES

    def _sync(self, start: int, length: int, flags: int) -> None:
        if _sync_file_range is not None:
            _sync_file_range(self._fd, start, length, flags)


class ReadBehind:
    """Follows a reader and drops each step it has passed."""

    def __init__(self, fd: int, start: int = 0) -> None:
        self._fd = fd
        self._dropped = start

    def read_up_to(self, end: int) -> None:
        if end - self._dropped >= STEP_BYTES:
            forget(self._fd, self._dropped, end)
            self._dropped = end
