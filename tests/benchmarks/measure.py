"""Runs one command and tells what it took: time, memory of all its processes, and what it left in the page cache."""

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memwatch.errors import printable
from memwatch.tokenize.rss import rss_bytes
from tests.helpers import cached_bytes

LOOK_EVERY_S = 0.02
# Nothing here takes that long on two cores; what does, hangs.
PATIENCE_S = 240


class NotMeasured(Exception):
    """Says in words why there is no figure; the words go where the figure would be."""


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    peak_bytes: int
    cached_bytes: int


def measured(command: Sequence[object], text: Path, out: Path) -> Run:
    """The text is in the page cache when the command starts, and `out` is an empty folder."""
    subprocess.run(["cat", text], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    complaints = out.with_suffix(".stderr")
    with complaints.open("w") as stderr:
        started_s = time.perf_counter()
        process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=stderr)
        peak_bytes = peak_until_done(process, started_s + PATIENCE_S)
        seconds = time.perf_counter() - started_s
    if process.returncode:
        raise NotMeasured(last_line(complaints) or f"ended with code {process.returncode}")
    left = [text, *(path for path in out.rglob("*") if path.is_file() and path.stat().st_size)]
    return Run(seconds, peak_bytes, sum(map(cached_bytes, left)))


def peak_until_done(process: "subprocess.Popen[bytes]", deadline_s: float) -> int:
    peak_bytes = 0
    while process.poll() is None:
        peak_bytes = max(peak_bytes, sum(rss_bytes(pid) or 0 for pid in tree(process.pid)))
        time.sleep(LOOK_EVERY_S)
        if time.perf_counter() > deadline_s:
            process.kill()
            process.wait()
            raise NotMeasured(f"not done after {PATIENCE_S} s")
    return peak_bytes


def tree(pid: int) -> list[int]:
    pids = [pid]
    for each in pids:
        try:
            pids += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
        except OSError:
            continue
    return pids


def last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return printable(lines[-1])[:200] if lines else ""
