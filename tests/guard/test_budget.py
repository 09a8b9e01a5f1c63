"""The guard's own cost, as far as it does not depend on the machine's speed (for that: make bench)."""

import os
from pathlib import Path

import pytest

from memwatch.tokenize.rss import rss_bytes
from tests.guard.processes import Watched, children, wait_until


def test_the_guard_stays_small() -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("start")
        for _ in range(3):
            watched.event("sample")
        guard = watched.guard.pid
        wait_until(lambda: len(children(guard)) == 2)
        watcher, _ = children(guard)
        assert (rss_bytes(guard) or 0) <= 20 << 20
        assert (rss_bytes(watcher) or 0) <= 20 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may lock memory")
def test_the_guard_cannot_be_swapped_out() -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("sample")
        status = Path(f"/proc/{watched.guard.pid}/status").read_text()
        assert int(status.partition("VmLck:")[2].split()[0]) > 0
