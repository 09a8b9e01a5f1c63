"""The socket that `memwatch attach` connects to: beside the journal, for its owner alone.

A view that attaches gets the length of the journal at that moment, then every event. So it reads the past from the
journal and the present from the socket, and nothing is missed or seen twice.
"""

import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress

from memwatch.channel import Channel, peer_of
from memwatch.errors import MemwatchError
from memwatch.journal.folder import SOCKET_SUFFIX, SUFFIX
from memwatch.on_linux import IS_LINUX

MOST_WAITING = 8


class AttachSocket:
    """Raises OSError where there can be none; then nobody can attach, and all else goes on."""

    def __init__(self, journal_path: str) -> None:
        self._path = socket_path(journal_path)
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            if _is_left_behind(self._path):
                os.unlink(self._path)
            self._listen()
        except OSError:
            self._listener.close()
            raise
        self._listener.setblocking(False)

    def _listen(self) -> None:
        """The socket gets its name once it listens: who finds it can connect."""
        unfinished = f"{self._path}.{os.getpid()}"
        _bind(self._listener, unfinished)
        try:
            self._listener.listen(MOST_WAITING)
            os.link(unfinished, self._path)  # Not a rename: that would replace the socket of another guard.
        finally:
            os.unlink(unfinished)

    def fileno(self) -> int:
        return self._listener.fileno()

    def admit(self) -> Channel | None:
        """The view that has connected, or None if it belongs to another user."""
        try:
            line, _ = self._listener.accept()
        except OSError:
            return None
        if peer_of(line)[1] not in (os.geteuid(), 0):
            line.close()
            return None
        return Channel(line)

    def close(self) -> None:
        self._listener.close()
        with suppress(OSError):
            os.unlink(self._path)


def connect(journal_path: str) -> Channel:
    """Connect to the guard of a run as a view. Raises MemwatchError if there is none."""
    line = socket.socket(socket.AF_UNIX)
    try:
        _in_folder(socket_path(journal_path), line.connect)
        if peer_of(line)[1] not in (os.geteuid(), 0):
            raise MemwatchError(f"the guard of {journal_path} belongs to another user")
    except OSError as error:
        line.close()
        raise MemwatchError("that run has ended, or does not answer; to see how it ended: memwatch runs") from error
    except MemwatchError:
        line.close()
        raise
    return Channel(line)


def socket_path(journal_path: str) -> str:
    """Where the guard that writes this journal listens for views."""
    return os.path.abspath(journal_path).removesuffix(SUFFIX) + SOCKET_SUFFIX


def _is_left_behind(path: str) -> bool:
    """Whether a socket is there to which nobody listens: its guard was killed."""
    with socket.socket(socket.AF_UNIX) as line:
        try:
            _in_folder(path, line.connect)
        except ConnectionRefusedError:
            return stat.S_ISSOCK(os.lstat(path).st_mode)
        except OSError:
            return False
    return False


def _bind(listener: socket.socket, path: str) -> None:
    """Bind with the final permissions, so that there is no moment in which others could connect."""
    if IS_LINUX:
        os.fchmod(listener.fileno(), 0o600)
        _in_folder(path, listener.bind)
        return
    before = os.umask(0o177)  # macOS knows no permissions of a socket that has no file yet.
    try:
        _in_folder(path, listener.bind)
    finally:
        os.umask(before)


def _in_folder(path: str, do: Callable[[str], None]) -> None:
    """By the folder's descriptor: a socket's address holds 107 bytes (103 on macOS), and the path may be longer."""
    folder, name = os.path.split(path)
    if not IS_LINUX:
        before = os.open(os.curdir, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.chdir(folder)
            do(name)
        finally:
            os.fchdir(before)
            os.close(before)
        return
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        do(f"/proc/self/fd/{fd}/{name}")
    finally:
        os.close(fd)
