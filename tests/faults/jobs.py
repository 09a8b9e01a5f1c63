"""A running `memwatch run tokenize`, to be watched and harmed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memwatch.tokenize.rss import rss_bytes
from tests.helpers import HANG_S

PARTIAL = ".memwatch-partial"


class RunningJob:
    def __init__(self, *arguments: object, **options: object) -> None:
        command = [sys.executable, "-m", "memwatch", "run", "--ui", "plain", "tokenize", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
        )  # type: ignore[call-overload]

    def __enter__(self) -> "RunningJob":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.tree():
            send(pid, signal.SIGKILL)
        self.process.communicate(timeout=HANG_S)

    def tree(self) -> list[int]:
        """memwatch itself, the job, and its workers."""
        pids = [self.process.pid]
        for pid in pids:
            try:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            except OSError:
                continue
            pids += map(int, children)
        return pids

    def job(self) -> int:
        wait_until(lambda: len(self.tree()) > 1 or self.process.poll() is not None)
        return self.tree()[1]

    def rss_bytes(self) -> int:
        return sum(rss_bytes(pid) or 0 for pid in self.tree())

    def finish(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=HANG_S)
        return self.process.returncode, err


def send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(condition: Callable[[], object], what: str = "") -> None:
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.005)
