"""Old runs make room for new ones."""

import os
import re
import time
from contextlib import suppress

from memwatch.journal.folder import SOCKET_SUFFIX, SUFFIX
from memwatch.journal.liveness import GuardId, may_be_alive
from memwatch.journal.reader import first_event
from memwatch.model.units import MIB

KEPT_RUNS = 100
KEPT_BYTES = 500 * MIB

# Nothing else that lies in the folder is ours to remove.
_OURS = re.compile(r"\d{8}-\d{6}-\d+(-\d+)?\.jsonl")


def prune(folder: str, kept_runs: int = KEPT_RUNS, kept_bytes: int = KEPT_BYTES) -> list[str]:
    """Removes the oldest journals, but none whose guard is alive. Gives back the names of those removed."""
    removed = []
    runs = size_bytes = 0
    for entry in _newest_first(folder):
        with suppress(OSError):  # Another guard may be pruning, too.
            status = entry.stat(follow_symlinks=False)
            runs += 1
            size_bytes += status.st_size
            if (runs > kept_runs or size_bytes > kept_bytes) and not _is_in_use(entry.path):
                os.unlink(entry.path)
                removed.append(entry.name)
                with suppress(FileNotFoundError):
                    os.unlink(entry.path.removesuffix(SUFFIX) + SOCKET_SUFFIX)  # of a guard that was killed
    return removed


def _is_in_use(path: str) -> bool:
    start = first_event(path)
    guard = None if start is None else GuardId.from_json(start.get("guard"))
    return may_be_alive(guard, age_s=time.time() - os.stat(path).st_mtime)


def _newest_first(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            ours = [entry for entry in entries if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(ours, key=lambda entry: entry.name, reverse=True)
