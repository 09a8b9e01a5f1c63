"""The host's shared memory, read before the job starts: what the job writes to tmpfs at once is then seen as growth.

Imports next to nothing, because the job waits for it.
"""

from memwatch.probe.files import number_after, read_file


def host_shmem_bytes(proc_root: str = "/proc") -> int | None:
    kib = number_after(read_file(f"{proc_root}/meminfo") or b"", b"Shmem:")
    return None if kib is None else kib * 1024
