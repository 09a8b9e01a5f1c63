"""The guard's own cost, as far as it does not depend on the machine's speed (for that: make bench)."""

import os
from pathlib import Path

import pytest

from memwatch.guard.spawn import NICENESS
from memwatch.guard.system import FIRST_NICENESS
from memwatch.tokenize.rss import rss_bytes
from tests.guard.processes import Guarded, Watched, children, wait_until


def test_the_guard_stays_small() -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("start")
        for _ in range(3):
            watched.event("sample")
        guard = watched.guard.pid
        wait_until(lambda: len(children(guard)) == 3)
        watcher, _, keeper = children(guard)
        for pid in (guard, watcher, keeper):
            assert (rss_bytes(pid) or 0) <= 20 << 20


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may lock memory")
def test_the_guard_cannot_be_swapped_out() -> None:
    with Watched("sleep", "1000") as watched:
        watched.event("sample")
        status = Path(f"/proc/{watched.guard.pid}/status").read_text()
        assert int(status.partition("VmLck:")[2].split()[0]) > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority")
def test_the_guard_comes_before_hundreds_of_busy_processes_and_the_job_does_not(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    leave = 'setsid sh -c "echo \\$\\$ > $0; exec sleep 1000" >/dev/null 2>&1 </dev/null &'
    script = leave + ' until [ -s "$0" ]; do sleep 0.05; done; read line'
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    reader, writer = os.pipe()
    with Guarded("sh", "-c", script, pid_file, stdin=reader) as run:
        job = run.job
        wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the job leaves something behind")
        left_behind = int(pid_file.read_text())
        run.known.add(left_behind)
        assert os.getpriority(os.PRIO_PROCESS, run.guard) == FIRST_NICENESS
        assert os.getpriority(os.PRIO_PROCESS, job) == usual + NICENESS
        os.close(writer)
        os.close(reader)
        run.finish()
        assert os.getpriority(os.PRIO_PROCESS, left_behind) == usual
