"""Lines that another program prints, or a file ends with; never more of them, or for longer, than is good."""

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memwatch.model.units import KIB, MIB

MOST_BYTES = 64 * MIB
MOST_SECONDS = 10.0
_CHUNK_BYTES = 256 * KIB
_MOST_LINE_BYTES = 64 * KIB
_MOST_TROUBLE_BYTES = 2 * KIB


@dataclass(slots=True)
class Captured:
    """How a command ended; known after its last line was read."""

    trouble: str | None = None  # what the program complained of, or why it could not be run
    cut_short: str | None = None  # why there may be more
    permission_denied: bool = False
    missing: bool = False


def command_lines(
    command: Sequence[str], captured: Captured, most_bytes: int = MOST_BYTES, seconds: float = MOST_SECONDS
) -> Iterator[str]:
    environment = os.environ | {"LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints, env=environment
            )
        except OSError as error:
            captured.trouble = f"cannot run {command[0]} ({error.strerror})"
            captured.missing = isinstance(error, FileNotFoundError)
            return
        try:
            yield from _lines(_chunks(process, captured, most_bytes, seconds))
        finally:
            # Whoever takes the lines may have had enough, and what hangs must not keep us.
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        complaints.seek(0)
        said = complaints.read(_MOST_TROUBLE_BYTES).decode(errors="replace").strip()
        captured.trouble = said.splitlines()[0] if said else None
        captured.permission_denied = any(words in said for words in _DENIALS)


_DENIALS = ("ermission denied", "not permitted", "not seeing messages", "nsufficient permissions")


def file_lines(path: str, captured: Captured, most_bytes: int = MOST_BYTES) -> Iterator[str]:
    """The last lines of a file."""
    try:
        # NONBLOCK, so that a named pipe is an error and no wait.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        captured.trouble = error.strerror
        captured.missing = isinstance(error, FileNotFoundError)
        captured.permission_denied = isinstance(error, PermissionError)
        return
    with open(fd, "rb", 0) as file:
        size_bytes = os.fstat(fd).st_size
        if size_bytes > most_bytes:
            file.seek(size_bytes - most_bytes)
            captured.cut_short = f"only its last {most_bytes // MIB} MiB were read"
        yield from _lines(iter(lambda: file.read(_CHUNK_BYTES), b""))


def _chunks(process: "subprocess.Popen[bytes]", captured: Captured, most_bytes: int, seconds: float) -> Iterator[bytes]:
    assert process.stdout is not None
    deadline_s = time.monotonic() + seconds
    fd, left = process.stdout.fileno(), most_bytes
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            if not selector.select(max(deadline_s - time.monotonic(), 0)):
                captured.cut_short = f"it did not finish in {seconds:.0f} s"
                return
            chunk = os.read(fd, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
            left -= len(chunk)
            if left <= 0:
                captured.cut_short = f"only its first {most_bytes // MIB} MiB were read"
                return


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
        if len(rest) > _MOST_LINE_BYTES:
            rest = rest[:_MOST_LINE_BYTES]  # No log line is that long; what it begins with will do.
    if rest:
        yield rest.decode(errors="replace")
