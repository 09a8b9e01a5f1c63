"""Files on a local disk or a shared file system (NFS, Lustre)."""

import glob
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress

from memwatch.errors import MemwatchError
from memwatch.storage.store import ObjectInfo, Upload


class LocalStore:
    def glob(self, pattern: str) -> list[ObjectInfo]:
        return [self.info(path) for path in sorted(glob.glob(pattern, recursive=True))]

    def list_folder(self, folder: str) -> Iterator[ObjectInfo]:
        for parent, _, names in os.walk(folder):
            for name in names:
                # Another process may rename or remove files meanwhile.
                with suppress(FileNotFoundError):
                    yield self.info(os.path.join(parent, name))

    def info(self, address: str) -> ObjectInfo:
        status = os.stat(address)
        if stat.S_ISDIR(status.st_mode):
            raise MemwatchError(f"{address} is a folder")
        return ObjectInfo(address, status.st_size, status.st_mtime_ns)

    def read(self, address: str, start: int = 0, end: int | None = None) -> bytes:
        with open(address, "rb") as file:
            file.seek(start)
            return file.read(-1 if end is None else end - start)

    def open(self, info: ObjectInfo, sequential: bool) -> io.RawIOBase:
        return io.FileIO(info.address, "rb")

    def upload(self, address: str, scratch: str | None = None) -> Upload:
        return LocalUpload(address, scratch or os.path.dirname(address))

    def put(self, address: str, data: bytes) -> None:
        upload = self.upload(address)
        upload.write(data)
        upload.publish()

    def put_if_absent(self, address: str, data: bytes) -> bool:
        upload = LocalUpload(address, os.path.dirname(address))
        upload.write(data)
        return upload.publish_if_absent()

    def remove(self, address: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(address)


class LocalUpload:
    """A new file with a name of its own in the scratch folder, renamed when it is complete and on disk."""

    def __init__(self, address: str, scratch: str) -> None:
        self._address = address
        for folder in (scratch, os.path.dirname(address)):
            os.makedirs(folder or ".", exist_ok=True)
        # Random, because processes on other machines write to the same folder.
        self._part = os.path.join(scratch, f"{os.path.basename(address)}.{secrets.token_hex(6)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._part, flags, 0o666), "wb")

    def write(self, data: bytes | memoryview) -> None:
        self._file.write(data)

    def publish(self) -> None:
        self._complete()
        os.replace(self._part, self._address)
        sync_folder(os.path.dirname(self._address))

    def publish_if_absent(self) -> bool:
        """A hard link fails if the name exists, also on NFS, where O_EXCL was not always reliable."""
        self._complete()
        try:
            os.link(self._part, self._address)
            return True
        except FileExistsError:
            return False
        except OSError:
            # A file system without hard links.
            if os.path.exists(self._address):
                return False
            os.replace(self._part, self._address)
            return True
        finally:
            self.discard()

    def discard(self) -> None:
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            os.unlink(self._part)

    def _complete(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def sync_folder(folder: str) -> None:
    """A rename is durable when its folder is. Some network file systems refuse to sync a folder."""
    with suppress(OSError):
        fd = os.open(folder or ".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
