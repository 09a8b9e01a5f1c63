"""The registry: where the guards on a machine find each other. One small file a run, in a folder that all can read.

    /run/memwatch             machine-wide; root makes it
    /dev/shm/memwatch-runs    machine-wide, where root has not; in RAM, so that no slow disk holds a guard up
    /tmp/memwatch-runs        machine-wide, where there is no /dev/shm
    $XDG_RUNTIME_DIR/memwatch or /run/user/UID/memwatch      this user's, where none of these can be written

A guard writes to the first folder that it can and reads all of them; $MEMWATCH_RUNTIME_DIR, if set, is the only one.

Other users can put any file there, so nothing is trusted: a file is read without following links and without waiting,
up to a size; what it says must be plausible; the process that it names must live, have started when it says, and belong
to the owner of the file. So one can only publish a process of one's own, and it ends with that. What runs of other
users may cause at most is in decide/turns.py. Which run is older follows from what the kernel says of the process.

Nothing here raises because of a disk or a folder: a guard that cannot publish guards all the same.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from memwatch.decide.turns import GuardedRun
from memwatch.guard.published_run import from_json, to_json
from memwatch.journal.liveness import GuardId
from memwatch.on_linux import IS_LINUX
from memwatch.probe.stat import read_stat
from memwatch.whole_file import whole_file

SHARED_FOLDERS = ("/run/memwatch", "/dev/shm/memwatch-runs", "/tmp/memwatch-runs")
SUFFIX = ".run"
MOST_BYTES = 2048
MOST_FILES = 500  # that are looked at: a folder full of junk must not take the guard's time
MOST_RUNS = 50
MOST_PARENTS = 200
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# NONBLOCK: a named pipe must not keep the guard waiting.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folders() -> list[str]:
    """All that guards may use, the preferred one first."""
    if chosen := os.environ.get("MEMWATCH_RUNTIME_DIR"):
        return [chosen]
    own = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    return [*SHARED_FOLDERS, os.path.join(own, "memwatch")]


class Registry:
    """This guard's file, and everybody else's. `close` removes the file."""

    def __init__(self, proc_root: str = "/proc") -> None:
        self._proc_root = proc_root
        self._guard = GuardId.this(proc_root)
        self._name = f"{self._guard.pid}-{self._guard.start_ticks}{SUFFIX}"
        self._folders = folders()
        self._own_folder: int | None = None
        self._own_path: str | None = None
        self._ancestors = set(self._parents_of(self._guard.pid))
        self._is_related: dict[tuple[int, int], bool] = {}

    @property
    def identity(self) -> tuple[int, int] | None:
        """(start ticks, pid), as GuardedRun has them; None where /proc does not say, and nobody could check it."""
        ticks = self._guard.start_ticks
        return None if ticks is None else (ticks, self._guard.pid)

    def publish(self, run: GuardedRun) -> bool:
        """Replaces the file. False: it could not be written."""
        data = json.dumps(to_json(run) | {"guard": self._guard.as_json()}).encode()
        if len(data) > MOST_BYTES:
            return False
        for folder in [None, *self._folders]:
            if folder is not None:
                self._own_folder, self._own_path = _open_folder(folder, makes=True), folder
            if self._own_folder is None:
                continue
            try:
                _replace(self._own_folder, self._name, data)
                return True
            except OSError:  # Full, read-only, or the last other run has removed the folder.
                os.close(self._own_folder)
                self._own_folder = None
        return False

    def others(self) -> list[GuardedRun]:
        """The runs of all other guards that live, apart from those that this job is part of, or that are part of it."""
        found: dict[tuple[int, int], GuardedRun] = {}
        for folder in self._folders:
            fd = _open_folder(folder, makes=False)
            if fd is None:
                continue
            try:
                for run in self._read_folder(fd):
                    found.setdefault((run.pid, run.start_ticks), run)
                    if len(found) >= MOST_RUNS:
                        break
            except OSError:
                pass  # The folder has gone.
            finally:
                os.close(fd)
        return [run for run in found.values() if not self._is_kin(run)]

    def close(self) -> None:
        if self._own_folder is not None:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._own_folder)
            os.close(self._own_folder)
            self._own_folder = None
            if self._own_path is not None and self._own_path != os.environ.get("MEMWATCH_RUNTIME_DIR"):
                with suppress(OSError):  # Another run is in it, or the folder is another user's.
                    os.rmdir(self._own_path)

    def _read_folder(self, fd: int) -> Iterator[GuardedRun]:
        with os.scandir(fd) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_FILES:
                    return
                if not entry.name.endswith(SUFFIX) or entry.name == self._name:
                    continue
                if (run := self._read(fd, entry.name)) is not None:
                    yield run

    def _read(self, folder_fd: int, name: str) -> GuardedRun | None:
        read = _read_published(folder_fd, name)
        if read is None:
            return None
        published, owner_uid = read
        guard = GuardId.from_json(published.get("guard"))
        alive = None if guard is None else guard.is_alive(self._proc_root)
        if guard is None or not alive or guard.start_ticks is None:
            if alive is False and owner_uid == os.geteuid():
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder_fd)  # Its guard was killed, and could not.
            return None
        if self._owner_of(guard.pid) != owner_uid:
            return None
        return from_json(published, guard.pid, guard.start_ticks, is_stranger=owner_uid not in (0, os.geteuid()))

    def _owner_of(self, pid: int) -> int | None:
        if not IS_LINUX:
            from memwatch.probe import psutil_process

            return psutil_process.owner_of(pid)
        try:
            return os.stat(f"{self._proc_root}/{pid}").st_uid
        except OSError:
            return None

    def _is_kin(self, run: GuardedRun) -> bool:
        """A memwatch under memwatch: to wait for a run that waits for this one would be for ever."""
        key = (run.pid, run.start_ticks)
        if key not in self._is_related:
            if len(self._is_related) >= MOST_FILES:
                self._is_related.clear()
            is_below = self._guard.pid in self._parents_of(run.pid)
            self._is_related[key] = is_below or run.pid in self._ancestors
        return self._is_related[key]

    def _parents_of(self, pid: int) -> list[int]:
        """The pids above a process, the nearest first."""
        parents: list[int] = []
        while (
            len(parents) < MOST_PARENTS
            and (status := read_stat(pid, self._proc_root)) is not None
            and status.parent_pid > 0  # In a container the first process can be a guard.
        ):
            pid = status.parent_pid
            parents.append(pid)
        return parents


def _open_folder(path: str, makes: bool) -> int | None:
    """A descriptor of the folder itself, so that nobody can put a link in its place later."""
    if makes:
        with suppress(OSError):
            _make_folder(path)
    try:
        fd = os.open(path, _FOLDER_FLAGS)
    except OSError:
        return None
    if not makes or os.access(path, os.W_OK):
        return fd
    os.close(fd)
    return None


def _make_folder(path: str) -> None:
    os.mkdir(path, 0o700)
    if path in SHARED_FOLDERS:
        os.chmod(path, 0o1777)  # As /tmp: everybody may add files, and remove his own.


def _replace(folder_fd: int, name: str, data: bytes) -> None:
    """Write the file in one step: a reader sees the old one or the new one."""
    with whole_file(name, f".{name}.new", folder_fd=folder_fd, durable=False) as file:
        os.fchmod(file.fileno(), 0o644)  # Guards of other users read it, whatever the umask.
        file.write(data)


def _read_published(folder_fd: int, name: str) -> tuple[dict[str, object], int] | None:
    """What a file says, and whose it is; None if it is no file that a guard writes."""
    try:
        fd = os.open(name, _READ_FLAGS, dir_fd=folder_fd)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES or status.st_nlink != 1:
            return None
        published = json.loads(os.read(fd, MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(fd)
    return (published, status.st_uid) if isinstance(published, dict) else None
