"""A running `memwatch run tokenize`, to be watched and harmed."""

import signal
import subprocess
import sys
from pathlib import Path

from memwatch.model.units import KIB
from memwatch.probe.files import number_after, read_file
from memwatch.tokenize.rss import rss_bytes
from tests.guard.processes import children, command_of, send, wait_until
from tests.helpers import HANG_S

PARTIAL = ".memwatch-partial"
# tiktoken with one worker takes some seconds for the text, which leaves time to do harm.
SLOW = ("--engine", "tiktoken", "--workers", 1, "--block-size", "64k")


def contents(folder: Path) -> dict[str, bytes]:
    """The output files; the manifest tells of times, which differ."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in ("manifest.json", PARTIAL)}


def started_writing(folder: Path) -> bool:
    part = folder / PARTIAL / "train_0000.part"
    return (part.exists() and part.stat().st_size > 0) or (folder / "train_shard_0000.bin").exists()


class RunningJob:
    def __init__(self, *arguments: object, record: object = None, **options: object) -> None:
        kept = ["--no-record"] if record is None else ["--record", str(record)]
        ours = [sys.executable, "-m", "memwatch", "run", *kept, "--ui", "plain"]
        command = [*ours, "tokenize", *map(str, arguments)]
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
        """Everyone: memwatch itself, the guard and its watcher, the job, and its workers."""
        pids = [self.process.pid]
        for pid in pids:
            pids += children(pid)
        return pids

    def job_tree(self) -> list[int]:
        """The job and its workers."""
        return [pid for pid in self.tree() if "memwatch.tokenize" in command_of(pid)]

    def job(self) -> int:
        wait_until(lambda: self.job_tree() or self.process.poll() is not None)
        return self.job_tree()[0]

    def workers(self) -> list[int]:
        return [pid for pid in self.job_tree() if read_file(f"/proc/{pid}/comm") == b"memwatch-worker\n"]

    def rss_bytes(self) -> int:
        return sum(rss_bytes(pid) or 0 for pid in self.job_tree())

    def high_water_bytes(self) -> int:
        """The most that each of them has had so far: a look that comes late misses nothing."""
        statuses = [read_file(f"/proc/{pid}/status") or b"" for pid in self.job_tree()]
        return sum(number_after(status, b"VmHWM:") or 0 for status in statuses) * KIB

    def finish(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=HANG_S)
        return self.process.returncode, err
