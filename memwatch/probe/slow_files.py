"""Files of a process whose reading can block on that process. Read them through background.py, never in a sample.

    cmdline        waits for the memory map lock, which a process that maps or forks in a loop hardly ever gives up
    smaps_rollup   the same, and walks all page tables: milliseconds for each GiB
    io             waits while the process is in exec, which is as long as giving back its old memory takes

stat, statm, status, children and the links in fd wait for nothing but short spin locks.
"""

from dataclasses import dataclass

from memwatch.errors import printable
from memwatch.model.job_total import Key
from memwatch.model.units import KIB
from memwatch.probe.files import number_after, read_file
from memwatch.probe.own_memory import ShareReading
from memwatch.probe.stat import parse_stat

COMMAND_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class FileRequest:
    """Which files of a process to read."""

    key: Key
    folder: str  # of a thread that lives: the first one may have ended before the others
    image: bytes
    wants_command: bool = False
    wants_share: bool = False
    wants_transfers: bool = False


@dataclass(frozen=True, slots=True)
class Transfers:
    """Bytes read and written by a process and by the children that it has waited for."""

    read_bytes: int | None
    written_bytes: int | None
    off_disk_bytes: int | None  # written with write() to what is no disk: tmpfs, memfd, pipes, sockets


@dataclass(frozen=True, slots=True)
class Answer:
    """The requested files that could be read."""

    request: FileRequest
    command: str | None = None
    share: ShareReading | None = None
    transfers: Transfers | None = None


def answer(request: FileRequest) -> Answer | None:
    """None if the process has ended."""
    found = Answer(
        request,
        read_command(request.folder) if request.wants_command else None,
        read_share(request.folder) if request.wants_share else None,
        read_transfers(request.folder) if request.wants_transfers else None,
    )
    stat = read_file(f"{request.folder}/stat")
    # The start time of a thread is not that of its process; such a folder cannot pass to a stranger unnoticed by both.
    is_same = stat is not None and ("/task/" in request.folder or parse_stat(stat).start_ticks == request.key[1])
    return found if is_same else None


def read_command(folder: str) -> str | None:
    """The command line, fit to be shown; None for a kernel thread or a process that has ended."""
    try:
        with open(f"{folder}/cmdline", "rb", buffering=0) as file:
            line = file.read(4 * COMMAND_CHARACTERS)  # A command line can be megabytes long.
    except OSError:
        return None
    return shortened(shown_text(line.rstrip(b"\0").replace(b"\0", b" "))) if line else None


def read_share(folder: str) -> ShareReading | None:
    """None if it may not be read, or the kernel is before 4.14."""
    text = read_file(f"{folder}/smaps_rollup") or b""
    anonymous, pss = _bytes_after(text, b"Anonymous:"), _bytes_after(text, b"Pss:")
    if anonymous is None or pss is None:
        return None
    own_anonymous = _bytes_after(text, b"Pss_Anon:")
    if own_anonymous is None:
        own_anonymous = min(anonymous, pss)  # Before Linux 5.4, with the share of files in it.
    return ShareReading(
        held_bytes=anonymous + (_bytes_after(text, b"Swap:") or 0),
        own_held_bytes=own_anonymous + (_bytes_after(text, b"SwapPss:") or 0),
        own_shmem_bytes=_bytes_after(text, b"Pss_Shmem:") or 0,
    )


def read_transfers(folder: str) -> Transfers | None:
    """None if it may not be read: only the owner may."""
    text = read_file(f"{folder}/io")  # Only the owner may read it.
    if text is None:
        return None
    called, written = number_after(text, b"wchar:"), number_after(text, b"write_bytes:")
    off_disk = None if called is None or written is None else max(called - written, 0)
    return Transfers(number_after(text, b"read_bytes:"), written, off_disk)


def shown_text(raw: bytes) -> str:
    """Bytes from /proc as printable text."""
    return printable(raw.decode(errors="replace")).strip()


def shortened(text: str) -> str:
    """A command line, cut to what a screen shows."""
    return text if len(text) <= COMMAND_CHARACTERS else text[: COMMAND_CHARACTERS - 1] + "…"


def _bytes_after(text: bytes, key: bytes) -> int | None:
    kib = number_after(text, key)
    return None if kib is None else kib * KIB
