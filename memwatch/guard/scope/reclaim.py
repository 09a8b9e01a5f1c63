"""Takes memory from the job's scope without killing anything: memory.reclaim (cgroup v2, Linux 5.19 and newer)."""

import os

from memwatch.model.units import MIB
from memwatch.probe.background import Background

# One write takes as long as the disk needs for it, and cannot be broken off.
CHUNK_BYTES = 32 * MIB


class Reclaimer:
    """Works on a thread, because the write waits for the disk. `folder` is the job's cgroup, once there is one."""

    def __init__(self, folder: str | None, in_background: bool = True) -> None:
        self.folder = folder
        self._background = Background("reclaim", in_background)
        self._stopping = False

    @property
    def can_reclaim(self) -> bool:
        return self.folder is not None and os.access(f"{self.folder}/memory.reclaim", os.W_OK)

    @property
    def is_busy(self) -> bool:
        return self._background.is_busy

    def start(self, size_bytes: int) -> bool:
        """False if it is still busy, or cannot."""
        if not self.can_reclaim:
            return False
        self._stopping = False
        return self._background.start(lambda: self._reclaim(size_bytes))

    def stop(self) -> None:
        """Stop after the chunk that is under way."""
        self._stopping = True

    def _reclaim(self, size_bytes: int) -> None:
        fd = os.open(f"{self.folder}/memory.reclaim", os.O_WRONLY)
        try:
            while size_bytes > 0 and not self._stopping:
                chunk = min(size_bytes, CHUNK_BYTES)
                try:
                    os.write(fd, str(chunk).encode())
                except OSError:
                    break  # EAGAIN: less than that could be taken. What came free is seen in the samples.
                size_bytes -= chunk
        finally:
            os.close(fd)
