"""Ranges of one object, most of them one after the other."""

from memwatch.storage.object_file import ObjectFile
from memwatch.storage.store import ObjectInfo, Store


class ObjectRanges:
    """Two reads that follow each other open one long request, from which all following reads are served. A look
    somewhere else is a request of its own, and leaves the long one open."""

    def __init__(self, store: Store, info: ObjectInfo) -> None:
        self._store = store
        self._info = info
        self._file = store.open(info, sequential=True)
        self._follows = -1

    def read(self, start: int, end: int) -> bytes:
        if start != self._file.tell() and start != self._follows:
            self._follows = end
            with self._store.open(self._info, sequential=False) as file:
                if isinstance(file, ObjectFile):
                    file.read_ahead_bytes = 0  # Nothing more is read from it.
                file.seek(start)
                return file.read(end - start) or b""
        self._file.seek(start)
        return self._file.read(end - start) or b""

    def close(self) -> None:
        self._file.close()
