"""One process, from /proc/PID."""

import os

from memwatch.core.sample import Process
from memwatch.core.units import KIB
from memwatch.errors import printable
from memwatch.probe.files import KeptFile, number_after
from memwatch.probe.stat import Stat, parse_stat

COMMAND_CHARACTERS = 160

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ProcessFiles:
    """The files of one process. Kept open they also name it for ever: they never show a later one with its pid."""

    __slots__ = (
        "_children",
        "_comm",
        "_command",
        "_command_reads_left",
        "_folder",
        "_io",
        "_stat",
        "_statm",
        "_status",
        "pid",
    )

    def __init__(self, proc_root: str, pid: int, keep: bool) -> None:
        self.pid = pid
        self._folder = f"{proc_root}/{pid}"
        self._stat = KeptFile(f"{self._folder}/stat", keep)
        self._io = KeptFile(f"{self._folder}/io", keep)
        self._statm = KeptFile(f"{self._folder}/statm", keep)
        self._status = KeptFile(f"{self._folder}/status", keep)
        self._children = KeptFile(f"{self._folder}/task/{pid}/children", keep)
        self._comm: bytes | None = None
        self._command = ""
        self._command_reads_left = 0

    def stat(self) -> Stat | None:
        text = self._stat.read()
        return parse_stat(text) if text else None

    def process(self, stat: Stat, swap_in_use: bool) -> Process | None:
        """None if it has ended since `stat` was read."""
        rss_bytes = self._rss_bytes()
        if rss_bytes is None:
            return None
        read_bytes, written_bytes = self._transfers()
        return Process(
            pid=stat.pid,
            start_ticks=stat.start_ticks,
            parent_pid=stat.parent_pid,
            state=stat.state,
            rss_bytes=rss_bytes,
            # `status` is the dearest of these files, and all swap being free says the same.
            swap_bytes=self._swap_bytes() if swap_in_use else 0,
            cpu_s=stat.cpu_s,
            read_bytes=read_bytes,
            written_bytes=written_bytes,
            command=self._shown_command(stat.comm),
        )

    def children(self) -> list[int]:
        """Born of the main thread."""
        return [int(pid) for pid in (self._children.read() or b"").split()]

    def children_of_all_threads(self) -> list[int]:
        try:
            threads = os.listdir(f"{self._folder}/task")
        except OSError:
            return []
        texts = [KeptFile(f"{self._folder}/task/{thread}/children", keep=False).read() for thread in threads]
        return [int(pid) for text in texts if text for pid in text.split()]

    def close(self) -> None:
        for file in (self._stat, self._statm, self._io, self._status, self._children):
            file.close()

    def _transfers(self) -> tuple[int | None, int | None]:
        text = self._io.read()  # Only the owner may read it.
        if text is None:
            return None, None
        return number_after(text, b"read_bytes:"), number_after(text, b"write_bytes:")

    def _rss_bytes(self) -> int | None:
        # Not from `stat`: there the kernel leaves out what its cores have yet to add up, many MiB where cores are many.
        text = self._statm.read()
        return int(text.split(None, 2)[1]) * _PAGE_BYTES if text else None

    def _swap_bytes(self) -> int:
        # A process that has just ended has no such line, and nothing in swap.
        return (number_after(self._status.read() or b"", b"VmSwap:") or 0) * KIB

    def _shown_command(self, comm: bytes) -> str:
        # Kept as long as the name: that changes when the process starts another program. Read twice all the same,
        # because at its first sight a process may not have come from fork to exec, and be about to keep its name.
        if comm != self._comm:
            self._comm, self._command_reads_left = comm, 2
        if self._command_reads_left:
            self._command_reads_left -= 1
            self._command = read_command(self._folder) or _shortened(f"[{_text(comm)}]")
        return self._command


def read_command(folder: str) -> str | None:
    """The command line, fit to be shown; None for a kernel thread or a process that has ended."""
    try:
        with open(f"{folder}/cmdline", "rb", buffering=0) as file:
            line = file.read(4 * COMMAND_CHARACTERS)  # A command line can be megabytes long.
    except OSError:
        return None
    return _shortened(_text(line.rstrip(b"\0").replace(b"\0", b" "))) if line else None


def _text(raw: bytes) -> str:
    return printable(raw.decode(errors="replace")).strip()


def _shortened(text: str) -> str:
    return text if len(text) <= COMMAND_CHARACTERS else text[: COMMAND_CHARACTERS - 1] + "…"
