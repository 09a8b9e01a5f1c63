"""Where memory cannot be read, memwatch says that it guards nothing and refuses, unless told to run all the same."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memwatch.probe.before_start import memory_can_be_read, obstacle
from memwatch.probe.stat import shows_own_processes
from tests.helpers import HANG_S, linux_only, memwatch

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


@pytest.mark.skipif(not can_hide_proc, reason="needs root and unshare to make a PID namespace")
class TestInAPidNamespaceWithTheProcOfAnother:
    """The guard's pid is the number of a stranger there: all kernel threads once counted as its job."""

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        told = ("run", "--no-record", "--ui", "plain", *options, "--", "sh", "-c", "sleep 0.5; echo the job ran")
        command = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-m", "memwatch", *told]
        return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)

    def test_it_refuses_and_says_what_to_mount(self) -> None:
        done = self.run()
        assert (done.returncode, done.stdout) == (125, ""), done.stderr
        assert "another PID namespace" in done.stderr
        assert "--mount-proc" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_no_stranger_counts_as_the_job_when_told_to_run(self) -> None:
        done = self.run("--unguarded")
        assert (done.returncode, done.stdout) == (0, "the job ran\n"), done.stderr
        assert "of its processes" not in done.stderr


@linux_only
def test_a_proc_that_shows_this_process_under_another_number_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "self").symlink_to("1" if os.getpid() != 1 else "2")
    (tmp_path / "nowhere").mkdir()
    assert shows_own_processes()
    assert not shows_own_processes(str(tmp_path / "other"))
    assert shows_own_processes(str(tmp_path / "nowhere"))


def test_with_too_few_descriptors_it_refuses_and_says_how_many_it_needs() -> None:
    limit = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    run = [sys.executable, "-m", "memwatch", "run", "--no-record", "--ui", "none", "--", "echo", "the job ran"]
    done = subprocess.run([sys.executable, "-c", limit, *run], capture_output=True, text=True, timeout=HANG_S)
    if done.returncode == 0:
        pytest.skip("root may open more files than the hard limit here, so the guard has all it needs")
    assert (done.returncode, done.stdout) == (125, "")
    assert "ulimit -n" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert obstacle(most_files=64) is None


@pytest.mark.parametrize("who", [pytest.param("memwatch.guard", id="guard"), pytest.param("run", id="front")])
def test_without_another_process_to_be_had_it_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, who: str
) -> None:
    # GIVEN a fork that fails as at RLIMIT_NPROC, in the guard or in the front
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "def fork(): raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        f"if {who!r} in sys.orig_argv: os.fork = fork\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = memwatch("run", "--no-record", "--", "echo", "the job ran")
    assert (done.code, done.out) == (125, "")
    assert done.err.startswith("memwatch: cannot start the guard")
    assert done.err.rstrip().endswith("Resource temporarily unavailable")
    assert len(done.err.splitlines()) == 1


def test_an_empty_proc_and_sys_give_nothing_to_guard_by(tmp_path: Path) -> None:
    assert memory_can_be_read()
    assert not memory_can_be_read(str(tmp_path), str(tmp_path))
