"""Samples and journals for the tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memwatch.journal.codec import sample_from_json
from memwatch.journal.reader import read_events
from memwatch.journal.writer import Journal
from memwatch.model.sample import Gpu, Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB

DISK_BYTES = 256 * 1024  # of the disk that tests fill (conftest.py)


def read_samples(path: Path) -> list[Sample]:
    return [sample_from_json(event) for event in read_events(path) if event["event"] == "sample"]


def process(pid: int = 4000, rss_bytes: int = 100 << 20) -> Process:
    return Process(pid, 123456, 1, "S", rss_bytes, 4096, 1.25, 10, None, "python train.py --out data")


def sample(t: float = 1000.0, job_bytes: int = 100 << 20) -> Sample:
    return Sample(
        t=t,
        clock_s=t - 900,
        memory=Memory(24 * GIB, 12 * GIB, 0, 0, 0),
        limits=(Limit("/user.slice", 8 * GIB, GIB),),
        pressure=Pressure(1, 2, 3),
        paging=Paging(4, 5, 6),
        job=(process(rss_bytes=job_bytes - 4096),),
        disk_free_bytes=7 * GIB,
        gpus=(Gpu(0, "a card", used_fraction=0.5),),
    )


def started(path: Path | None, **options: Any) -> Journal:
    journal = Journal.open(path, ["python", "train.py"], **options)
    journal.start({"reserve_bytes": GIB}, {"scope": False}, t=999.0)
    return journal


def whole_run(path: Path) -> Journal:
    """A short run in which everything happens once."""
    journal = started(path)
    journal.sample(sample(1000.0))
    journal.progress({"event": "progress", "done": 1, "total": 2, "unit": "rows"}, t=1000.5)
    journal.sample(sample(1001.0, job_bytes=300 << 20))
    journal.verdict("warn", "RAM is full in about 9 s at this rate", 9.0, t=1001.0, signals=["headroom"])
    journal.action("pause", [4000], "guard", "stopped 1 process", t=1001.1)
    journal.output(b"loss 2.31\nstep \xff 20", t=1001.2)
    journal.exit(0, None, None, t=1002.0)
    journal.close()
    return journal


def kinds(path: Path) -> list[str]:
    return [str(event["event"]) for event in read_events(path)]


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with pytest.raises(OSError, match="No space left"):
        ballast.write_bytes(bytes(2 * DISK_BYTES))
    return ballast


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run with the rights of an ordinary user, which root's tests lack."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
