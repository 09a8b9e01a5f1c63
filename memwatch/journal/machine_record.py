"""Writes the machine's record: a ring of files, of which the oldest make room.

A file is a journal (writer.py), so that a full disk, a line torn by a reset and the disk's own delays are what they
are for every run. One that is full is packed to a tenth, which makes a week of a sample every five seconds fit; a
crash at any moment leaves it whole, packed or not. record_files.py reads all of it.
"""

import fcntl
import os
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress

from memwatch.errors import MemwatchError
from memwatch.journal.appender import Appender
from memwatch.journal.folder import SUFFIX, make_machine_folder, why_not
from memwatch.journal.record_files import PACKED_SUFFIX, RecordFile, number_of, record_files
from memwatch.journal.writer import Journal
from memwatch.model.units import KIB, MIB
from memwatch.whole_file import whole_file

KEPT_BYTES = 200_000_000
KEPT_S = 7 * 86400.0
FILE_BYTES = 4 * MIB
_CHUNK_BYTES = 64 * KIB
_GZIP_FORMAT = 31  # zlib's wbits for gzip; the gzip module would cost the recorder half a MiB
_UNFINISHED = ".tmp"
# A disk that takes longer than this to finish a file will finish it without us.
_LAST_SYNC_WAIT_S = 1.0


class MachineLog:
    """`journal` is the file that is being written; `turn` begins the next one when it is full."""

    def __init__(self, command: Sequence[str], limits: dict[str, object], file_bytes: int = FILE_BYTES) -> None:
        """Raises MemwatchError where nothing can be written, or another recorder is running."""
        try:
            self._folder = make_machine_folder()
            self._lock_fd = _lock(self._folder)
        except OSError as error:
            raise MemwatchError(why_not(error, "the state folder")) from error
        self._command = tuple(command)
        self._limits = limits
        self._file_bytes = file_bytes
        self.journal = self._begin(continued=False)

    def turn(self) -> bool:
        """True if a file was full and the next one has begun: time to `tidy`, when the machine is calm."""
        if self.journal.size_bytes < self._file_bytes:
            return False
        self.journal.close(_LAST_SYNC_WAIT_S)
        self.journal = self._begin(continued=True)
        return True

    def tidy(self, kept_bytes: int = KEPT_BYTES, kept_s: float = KEPT_S) -> None:
        """Packs what is full and removes what is too old or too much; 0.1 s of work, so not under memory pressure.

        What fails because of space or permissions is retried the next time.
        """
        with suppress(OSError):
            _remove_leftovers(self._folder)
            for record_file in record_files(self._folder):
                if record_file.path != self.journal.path and not record_file.is_packed:
                    pack(record_file)
        with suppress(OSError):
            self._make_room(kept_bytes, time.time() - kept_s)

    def close(self) -> None:
        self.journal.close()
        os.close(self._lock_fd)

    def _begin(self, continued: bool) -> Journal:
        # Twice as much as will ever be written into it, so that the journal's own thinning never begins.
        journal = Journal(Appender(self._create), self._command, cap_bytes=4 * self._file_bytes)
        journal.start(self._limits, {}, continued=continued)
        return journal

    def _create(self) -> tuple[int, str]:
        number = max((record_file.number for record_file in record_files(self._folder)), default=0) + 1
        name = f"{number:06d}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}{SUFFIX}"
        path = os.path.join(self._folder, name)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), path

    def _make_room(self, kept_bytes: int, oldest_t: float) -> None:
        size_bytes = self._file_bytes  # what the open one may grow to
        for record_file in reversed(record_files(self._folder)):
            if record_file.path == self.journal.path:
                continue
            size_bytes += record_file.size_bytes
            if size_bytes > kept_bytes or record_file.written_t < oldest_t:
                os.unlink(record_file.path)


def pack(record_file: RecordFile) -> None:
    """Raises OSError. The plain one goes only when the packed one is on the disk, whole and under its name."""
    packed = record_file.path.removesuffix(SUFFIX) + PACKED_SUFFIX
    packer = zlib.compressobj(wbits=_GZIP_FORMAT)
    with whole_file(packed, packed + _UNFINISHED, mode=0o600) as target:
        with open(record_file.path, "rb", buffering=0) as plain:
            while chunk := plain.read(_CHUNK_BYTES):
                target.write(packer.compress(chunk))
        target.write(packer.flush())
        target.flush()  # A later write would change the time again.
        os.utime(target.fileno(), (record_file.written_t, record_file.written_t))
    os.unlink(record_file.path)


def _remove_leftovers(folder: str) -> None:
    """Delete what a crash left half packed, or packed and still plain."""
    names = set(os.listdir(folder))
    for name in names:
        stem = name.removesuffix(_UNFINISHED)
        is_half = stem != name and number_of(stem) is not None
        is_twice = name.endswith(SUFFIX) and name.removesuffix(SUFFIX) + PACKED_SUFFIX in names
        if is_half or (is_twice and number_of(name) is not None):
            os.unlink(os.path.join(folder, name))


def _lock(folder: str) -> int:
    """Lock the record; the kernel releases the lock when this process ends. Raises MemwatchError if it is locked."""
    path = os.path.join(folder, "lock")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(fd, 20, 0).decode(errors="replace").strip()
        os.close(fd)
        who = f", process {holder}" if holder.isdigit() else ""
        raise MemwatchError(f"another memwatch record of yours is running{who}") from error
    with suppress(OSError):  # A full disk is no reason not to begin.
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd
