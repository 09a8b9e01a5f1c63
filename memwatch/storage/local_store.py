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
from memwatch.whole_file import PartFile


class LocalStore:
    """Files. An upload is written beside its final name, or in a scratch folder, and renamed."""

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


class LocalUpload(PartFile):
    """A new file with a name of its own in the scratch folder, renamed when it is complete and on disk."""

    def __init__(self, address: str, scratch: str) -> None:
        for folder in (scratch, os.path.dirname(address)):
            os.makedirs(folder or ".", exist_ok=True)
        # Random, because processes on other machines write to the same folder.
        part = os.path.join(scratch, f"{os.path.basename(address)}.{secrets.token_hex(6)}.part")
        super().__init__(address, part)

    def publish_if_absent(self) -> bool:
        """A hard link fails if the name exists, also on NFS, where O_EXCL was not always reliable."""
        self.complete()
        try:
            os.link(self.part, self.path)
            return True
        except FileExistsError:
            return False
        except OSError:
            # A file system without hard links.
            if os.path.exists(self.path):
                return False
            os.replace(self.part, self.path)
            return True
        finally:
            self.discard()
