"""A cage for hogs: a memory cgroup with a small limit, and swap to thrash in. The machine itself is never starved.

Needs root and the v1 memory controller; elsewhere tests that use it skip, and say so.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.helpers import HANG_S

CONTROLLER = Path("/sys/fs/cgroup/memory")
NEEDS = "needs root and a v1 memory controller to cage a hog in"
can_cage = os.geteuid() == 0 and os.access(CONTROLLER / "memory.limit_in_bytes", os.R_OK)
needs_cage = pytest.mark.skipif(not can_cage, reason=NEEDS)


class Cage:
    """Whatever is started by `command` is inside, with all its descendants; all of them end with the cage."""

    def __init__(self, limit_bytes: int) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="memwatch-test-", dir=CONTROLLER))
        (self._path / "memory.limit_in_bytes").write_text(str(limit_bytes))

    @property
    def name(self) -> str:
        """Its path below the controller, as /proc/PID/cgroup has it."""
        return f"/{self._path.name}"

    def command(self, *command: object) -> list[str]:
        """The command line that enters the cage and becomes `command`."""
        enter = f'echo $$ > "{self._path}/cgroup.procs" && exec "$@"'
        return ["sh", "-c", enter, "sh", *map(str, command)]

    def forbid_swap(self) -> None:
        """What does not fit is killed, also where another test has made swap."""
        (self._path / "memory.swappiness").write_text("0")

    def number(self, file: str) -> int:
        return int((self._path / file).read_text())

    def stat(self, key: str) -> int:
        return self.stats()[key]

    def stats(self) -> dict[str, int]:
        """All of memory.stat as it is at one moment."""
        pairs = (line.split() for line in (self._path / "memory.stat").read_text().splitlines())
        return {key: int(value) for key, value in pairs}

    def oom_kills(self) -> int:
        """By the kernel, in here."""
        words = (self._path / "memory.oom_control").read_text().split()
        return int(words[words.index("oom_kill") + 1])

    def cache_bytes(self) -> int:
        """Page cache that can be dropped."""
        return self.stat("active_file") + self.stat("inactive_file")

    def pids(self) -> list[int]:
        return [int(pid) for pid in (self._path / "cgroup.procs").read_text().split()]

    def close(self) -> None:
        deadline = time.monotonic() + HANG_S
        while self._path.exists() and time.monotonic() < deadline:
            for pid in self.pids():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(OSError):
                self._path.rmdir()
            time.sleep(0.02)


@contextmanager
def cage(limit_bytes: int) -> Iterator[Cage]:
    made = Cage(limit_bytes)
    try:
        yield made
    finally:
        made.close()


class NoSwap(OSError):
    """Why, in words."""


@contextmanager
def swap_file(folder: Path, size_bytes: int) -> Iterator[None]:
    """Swap for as long as the block lasts. Raises NoSwap where there can be none, as in a folder in RAM."""
    path = folder / "swap"
    if shutil.disk_usage(folder).free < 2 * size_bytes:
        raise NoSwap("too little disk space for a swap file")
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    path.chmod(0o600)
    try:
        for command in ("mkswap", "swapon"):
            done = subprocess.run([command, path], capture_output=True, text=True)
            if done.returncode:
                raise NoSwap(f"no swap can be made here: {done.stderr.strip()}")
        try:
            yield
        finally:
            subprocess.run(["swapoff", path], check=True, timeout=HANG_S)
    finally:
        path.unlink()


@contextmanager
def throttled(folder: Path, operations_a_second: int) -> Iterator[Callable[[list[str]], list[str]]]:
    """Gives a function: the same command line, with a slow disk. Only the disk that `folder` is on is slow."""
    device = folder.stat().st_dev
    group = Path(tempfile.mkdtemp(prefix="memwatch-test-", dir="/sys/fs/cgroup/blkio"))
    rule = f"{os.major(device)}:{os.minor(device)} {operations_a_second}"
    try:
        for file in ("blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"):
            (group / file).write_text(rule)
        yield lambda command: ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh", *command]
    finally:
        group.rmdir()
