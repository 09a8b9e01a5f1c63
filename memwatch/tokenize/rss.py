"""Memory of processes, and the peak of the whole job. None where there is none to read."""

import ctypes
import os
import resource
import select
import time

from memwatch.channel import Channel
from memwatch.on_linux import IS_LINUX, MAXRSS_UNIT_BYTES

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# The guard answers within milliseconds, unless the machine is in trouble.
ANSWER_S = 1.0


def rss_bytes(pid: int) -> int | None:
    """The resident memory of a process now; None if it has ended."""
    if not IS_LINUX:
        from memwatch.probe import psutil_process

        return psutil_process.rss_bytes(pid)
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return None


def guarded_peak_bytes(channel: Channel | None) -> int | None:
    """Peak memory of this job as the guard and all its views have it; None without an answer.

    To be read when all other processes of the job have ended: what a single one of them held counts, too, and the guard
    sees that at the end.
    """
    if channel is None or not channel.send({"event": "peak"}):
        return None
    until_s = time.monotonic() + ANSWER_S
    while channel.is_open and (left_s := until_s - time.monotonic()) > 0:
        select.select([channel], [], [], left_s)
        for message in channel.receive():
            if isinstance(sampled := message.get("peak_job_bytes"), int):
                own = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
                return max(sampled, *(used * MAXRSS_UNIT_BYTES for used in own))
    return None


def release_free_memory() -> None:
    """Hand the free parts of the heap back to the system, where the C library can do it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))
