"""Where memory cannot be read, memwatch says that it guards nothing and refuses, unless told to run all the same."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memwatch.guard.readable import memory_can_be_read
from tests.helpers import HANG_S

can_hide_proc = os.geteuid() == 0 and shutil.which("unshare") is not None


def without_proc(*options: str) -> subprocess.CompletedProcess[str]:
    """A real `memwatch run` in a mount namespace of its own, where /proc is an empty folder."""
    hide = 'mount -t tmpfs none /proc && exec "$@"'
    run = [
        sys.executable,
        "-m",
        "memwatch",
        "run",
        "--no-record",
        "--ui",
        "none",
        *options,
        "--",
        "echo",
        "the job ran",
    ]
    command = ["unshare", "--mount", "sh", "-c", hide, "sh", *run]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)


@pytest.mark.skipif(not can_hide_proc, reason="needs root and unshare to hide /proc")
class TestWithoutProc:
    def test_it_says_in_one_sentence_that_it_would_guard_nothing_and_refuses(self) -> None:
        done = without_proc()
        assert done.returncode == 125, done.stderr
        assert done.stdout == ""
        assert "would guard nothing" in done.stderr
        assert "--unguarded" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_it_runs_the_job_without_protection_when_told_to(self) -> None:
        done = without_proc("--unguarded")
        assert (done.returncode, done.stdout) == (0, "the job ran\n"), done.stderr


def test_an_empty_proc_and_sys_give_nothing_to_guard_by(tmp_path: Path) -> None:
    assert memory_can_be_read()
    assert not memory_can_be_read(str(tmp_path), str(tmp_path))
