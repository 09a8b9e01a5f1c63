"""Resident memory of processes. None where there is none to read."""

import os

from memwatch.on_linux import IS_LINUX

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def rss_bytes(pid: int) -> int | None:
    if not IS_LINUX:
        from memwatch.probe import psutil_process

        return psutil_process.rss_bytes(pid)
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return None
