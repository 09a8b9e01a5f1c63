"""A temporary folder for one task. Ray kills its workers with SIGKILL, so the next task removes what they left."""

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

PREFIX = "memwatch-task-"
LOCK = "lock"


@contextmanager
def task_folder() -> Iterator[str]:
    """Locked as long as this process lives: pids mean nothing where containers share a folder."""
    remove_abandoned(tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock = os.open(os.path.join(folder, LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned(where: str) -> None:
    for folder in glob.glob(os.path.join(glob.escape(where), f"{PREFIX}*")):
        try:
            lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # Another user's, or about to be locked.
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # At work.
        finally:
            os.close(lock)
