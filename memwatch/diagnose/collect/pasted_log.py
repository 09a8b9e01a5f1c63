"""Evidence from a log that somebody pasted or sent: a file or standard input, packed or not; and from an older boot."""

import bz2
import gzip
import io
import lzma
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, cast

from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Shareable, Source
from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.pasted import pasted_lines
from memwatch.errors import MemwatchError
from memwatch.model.units import GIB, MIB, format_number

STANDARD_INPUT = "-"
MOST_BYTES = GIB  # unpacked: a small packed file can hold any amount
_MOST_LINE_BYTES = 64 * 1024
_MAGIC_BYTES = 6
_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
_UTF16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))  # what PowerShell writes


def pasted_evidence(path: str, now_t: float) -> Evidence:
    """Raises MemwatchError where the log cannot be read."""
    name = "standard input" if path == STANDARD_INPUT else os.path.basename(path)
    counted = _Counted()
    try:
        with _opened(path) as file:
            log = read_log(pasted_lines(counted.lines(_lines(file, counted)), now_t))
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        why = getattr(error, "strerror", None) or "it is packed, and damaged"
        raise MemwatchError(f"cannot read {name}: {why}") from error
    cut = f"; only its first {MOST_BYTES // MIB} MiB were read" if counted.is_cut else ""
    source = Source(
        Shareable(name, "a log"), found=format_number(counted.count, "line") + cut, start_t=log.start_t, end_t=log.end_t
    )
    return Evidence(now_t=now_t, log=log, sources=(source,), is_pasted=True)


class _Counted:
    """How many lines there were; known once all were taken."""

    def __init__(self) -> None:
        self.count = 0
        self.is_cut = False

    def lines(self, texts: Iterable[str]) -> Iterator[str]:
        for text in texts:
            self.count += 1
            yield text


def _opened(path: str) -> IO[bytes]:
    raw = sys.stdin.buffer if path == STANDARD_INPUT else open(path, "rb")  # noqa: SIM115
    magic = cast(io.BufferedReader, raw).peek(_MAGIC_BYTES)[:_MAGIC_BYTES]
    for start, unpack in _PACKED:
        if magic.startswith(start):
            return cast(IO[bytes], unpack(raw, "rb"))
    return raw


def _lines(file: IO[bytes], counted: _Counted) -> Iterator[str]:
    encoding, end, left = "utf-8", b"\n", MOST_BYTES
    first = True
    while left > 0:
        line = file.readline(_MOST_LINE_BYTES)
        if not line:
            return
        left -= len(line)
        if first:
            for mark, name in _UTF16:
                if line.startswith(mark):
                    encoding = name
            first = False
        if encoding != "utf-8":
            # A line of UTF-16 ends within a character: all of it is taken at once, for it is small.
            yield from (line + file.read(min(left, 64 * MIB))).decode(encoding, "replace").splitlines()
            return
        yield line.removesuffix(end).decode(errors="replace")
    counted.is_cut = True


def boot_evidence(boot: int, now_t: float) -> Evidence:
    """The journal of an older boot of this machine (0 is this one, -1 the one before)."""
    from memwatch.diagnose.collect.system_logs import read_boot

    booted_t = now_t - time.clock_gettime(time.CLOCK_MONOTONIC)
    log, source = read_boot(boot, now_t, booted_t)
    if log is None:
        raise MemwatchError(f"the journal of boot {boot} cannot be read: {source.missing}; see journalctl --list-boots")
    return Evidence(now_t=now_t, log=log, sources=(source,), is_pasted=True)
