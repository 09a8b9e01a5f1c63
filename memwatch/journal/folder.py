"""Where journals are kept: $XDG_STATE_HOME/memwatch/runs, and machine beside it, readable by their owner alone.

They hold command lines, so nobody else may read them, and nobody else may choose where they go: a folder that belongs
to another user, or a symbolic link, is refused. Old journals are removed when a new run starts.
"""

import os
import re
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from memwatch.errors import MemwatchError
from memwatch.journal.liveness import GuardId, may_be_alive
from memwatch.journal.reader import first_event
from memwatch.model.units import MIB

if TYPE_CHECKING:  # pathlib would cost the guard half a MiB.
    from pathlib import Path

SUFFIX = ".jsonl"
SOCKET_SUFFIX = ".sock"  # beside the journal, while its guard lives
# NONBLOCK, so that a named pipe without a reader is an error and no wait. It means nothing to a file.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def state_path() -> str:
    """What the state folder is called; it need not be there."""
    home = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(home):  # The standard says to pass over others.
        home = os.path.join(os.path.expanduser("~"), ".local", "state")
    if not os.path.isabs(home):
        raise MemwatchError("there is no home folder to keep journals in; set XDG_STATE_HOME to a folder")
    return os.path.join(home, "memwatch")


def runs_path() -> str:
    return os.path.join(state_path(), "runs")


def machine_path() -> str:
    """Where `memwatch record` keeps what it saw of the whole machine."""
    return os.path.join(state_path(), "machine")


def state_folder() -> "Path":
    """The state folder, made and checked, with its `runs`."""
    from pathlib import Path

    try:
        return Path(os.path.dirname(make_runs_folder()))
    except OSError as error:
        raise MemwatchError(why_not(error, state_path())) from error


def make_runs_folder() -> str:
    return _make_in_state(runs_path())


def make_machine_folder() -> str:
    return _make_in_state(machine_path())


def _make_in_state(folder: str) -> str:
    """Raises OSError where it cannot be made, MemwatchError where it must not be used."""
    state = os.path.dirname(folder)
    os.makedirs(os.path.dirname(state), mode=0o700, exist_ok=True)
    for own in (state, folder):
        _make_own(own)
    return folder


def open_journal(path: str) -> int:
    """A journal the user has named. It must be new: nothing that exists is written into, or over."""
    fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
    status = os.fstat(fd)
    is_ordinary, is_ours = stat.S_ISREG(status.st_mode), status.st_uid == os.geteuid()
    if is_ordinary and is_ours and status.st_size == 0:
        os.fchmod(fd, 0o600)  # It may have been made by something less careful, such as touch.
        return fd
    os.close(fd)
    what = "is not empty" if is_ours else "belongs to another user"
    what = what if is_ordinary else "is not a regular file"
    raise MemwatchError(f"{path} {what}; choose another name for the journal")


def create_journal(folder: str, t: float) -> tuple[int, str]:
    """A new journal and its path. Names are in the order of time; no two are the same."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(t))}-{os.getpid()}"
    for number in range(1, 1000):
        path = os.path.join(folder, stem + (f"-{number}" if number > 1 else "") + SUFFIX)
        try:
            return os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600), path
        except FileExistsError:
            pass  # Another journal of this second, or of this process in another container.
    raise MemwatchError(f"{folder} is full of journals named {stem}; move them away")


def run_id(path: str) -> str:
    return os.path.basename(path).removesuffix(SUFFIX)


def why_not(error: OSError, path: str) -> str:
    """In one sentence, why nothing can be kept there."""
    return f"cannot write the journal in {error.filename or path}: {error.strerror or error}"


def _make_own(folder: str) -> None:
    with suppress(FileExistsError):  # Whose it is, is looked at next; also if it came into being this moment.
        os.mkdir(folder, 0o700)
    status = os.lstat(folder)
    if stat.S_ISLNK(status.st_mode):
        raise MemwatchError(f"{folder} is a symbolic link; remove it, or set XDG_STATE_HOME to a folder of your own")
    if not stat.S_ISDIR(status.st_mode):
        raise MemwatchError(f"{folder} is not a folder; remove it, or set XDG_STATE_HOME to a folder of your own")
    if status.st_uid != os.geteuid():
        raise MemwatchError(f"{folder} belongs to another user; set XDG_STATE_HOME to a folder of your own")
    if status.st_mode & 0o077:
        os.chmod(folder, 0o700)


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
