"""Counters of the machine, read before the job starts: what a quick job does to them at once is then seen.

Imports next to nothing, because the job waits for it.
"""

from typing import NamedTuple

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import number_after, read_file


class BeforeStart(NamedTuple):
    """Unknown is None."""

    shmem_bytes: int | None = None  # shared memory of the host: what grows is files in RAM
    oom_kills: int | None = None  # by the kernel, on the whole machine


def read_before_start(proc_root: str = "/proc") -> BeforeStart:
    if not IS_LINUX:
        return BeforeStart()
    shmem_kib = number_after(read_file(f"{proc_root}/meminfo") or b"", b"Shmem:")
    oom_kills = number_after(read_file(f"{proc_root}/vmstat") or b"", b"oom_kill ")
    return BeforeStart(None if shmem_kib is None else shmem_kib * 1024, oom_kills)
