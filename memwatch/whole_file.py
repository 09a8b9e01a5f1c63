"""Files that appear whole or not at all: the one way in which every room replaces a file.

`whole_file` writes beside the final name and renames at the end, so a reader, or a reboot, finds the old file or the
new one. `output_file` is the same for a path that the user named, where `-`, pipes and devices count as files too.
"""

import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, TextIO

from memwatch.errors import MemwatchError

STANDARD_OUTPUT = "-"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What network file systems answer to a request to sync a folder.
_REFUSED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)


class PartFile:
    """A new file under the name `part`: `publish` renames it to `path`, `discard` deletes it.

    `folder_fd`: both names are relative to this folder. `durable=False`: for files that need not outlast a power cut.
    """

    def __init__(
        self, path: str, part: str, *, mode: int = 0o666, folder_fd: int | None = None, durable: bool = True
    ) -> None:
        self.path, self.part = path, part
        self._folder_fd = folder_fd
        self._durable = durable
        try:
            fd = os.open(part, _FLAGS, mode, dir_fd=folder_fd)
        except FileExistsError:  # left by a crash
            os.unlink(part, dir_fd=folder_fd)
            fd = os.open(part, _FLAGS, mode, dir_fd=folder_fd)
        self.file: BinaryIO = os.fdopen(fd, "wb")

    def write(self, data: bytes | memoryview) -> None:
        self.file.write(data)

    def complete(self) -> None:
        self.file.flush()
        if self._durable:
            os.fsync(self.file.fileno())
        self.file.close()

    def publish(self) -> None:
        self.complete()
        os.rename(self.part, self.path, src_dir_fd=self._folder_fd, dst_dir_fd=self._folder_fd)
        if self._durable:
            sync_folder(os.path.dirname(self.path))

    def discard(self) -> None:
        with suppress(OSError):
            self.file.close()
        with suppress(OSError):
            os.unlink(self.part, dir_fd=self._folder_fd)


@contextmanager
def whole_file(
    path: str | os.PathLike[str],
    part: str | os.PathLike[str] | None = None,
    *,
    mode: int = 0o666,
    folder_fd: int | None = None,
    durable: bool = True,
) -> Iterator[BinaryIO]:
    """Replaces `path` when the block ends without an error. `part`, the name until then, is on the same file system."""
    path = os.fspath(path)
    name = f"{path}.new" if part is None else os.fspath(part)
    new = PartFile(path, name, mode=mode, folder_fd=folder_fd, durable=durable)
    with ExitStack() as on_error:
        on_error.callback(new.discard)
        yield new.file
        new.publish()
        on_error.pop_all()


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """A rename is durable when its folder is. Some network file systems refuse to sync one."""
    fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
    finally:
        os.close(fd)


@contextmanager
def output_file(path: str) -> Iterator[TextIO]:
    """Text in UTF-8. What was there under that name is replaced at the end; `-`, pipes and devices are written to.

    A symbolic link is refused: another user may have pointed it at any file.
    """
    try:
        if path == STANDARD_OUTPUT:
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(encoding="utf-8", newline="")  # Whatever the terminal would have.
            yield sys.stdout
            sys.stdout.flush()
        elif _is_stream(path):
            with open(path, "w", encoding="utf-8", newline="") as file:
                yield file
        else:
            with _replacing(path) as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MemwatchError(f"cannot write {error.filename or path}: {error.strerror or error}") from error


@contextmanager
def _replacing(path: str) -> Iterator[TextIO]:
    if os.path.islink(path):
        raise MemwatchError(f"{path} is a symbolic link; name the file itself, or - for standard output")
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{os.getpid()}.memwatch-partial")
    with whole_file(path, part) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        yield text
        text.detach()


def _is_stream(path: str) -> bool:
    """A pipe, a terminal or /dev/null; a folder is none."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise MemwatchError(f"{path} is a folder; name a file in it")
    return not stat.S_ISREG(mode)
