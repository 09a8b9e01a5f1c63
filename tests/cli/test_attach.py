"""memwatch attach: watch a run from elsewhere."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.guard.processes import Guarded, Watched, send, wait_until
from tests.helpers import HANG_S, error_of, memwatch


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "memwatch" / "runs"


@contextmanager
def attach(run: str = "last") -> "Iterator[subprocess.Popen[str]]":
    """A view that ends with the test, also where the test fails: it would follow its run for ever."""
    command = [sys.executable, "-m", "memwatch", "attach", run]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def test_it_tells_what_happens_and_ends_with_the_jobs_code(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with Watched("sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.05; done", record=str(journal)) as watched:
        watched.event("sample")
        with attach(str(journal)) as process:
            assert line_of(process).startswith("memwatch: attached: sh -c trap")
            watched.tell("pause")
            assert line_of(process) == "memwatch: you paused the job\n"
            watched.tell("stop")
            assert process.wait(HANG_S) == 7
            assert "stopped the job (SIGTERM)" in (process.stderr.read() if process.stderr else "")


def test_leaving_does_not_touch_the_job(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("sample")
        with attach(str(journal)) as process:
            line_of(process)
            send(process.pid, signal.SIGINT)
            assert process.wait(HANG_S) == 0
        watched.event("sample")
        assert watched.guard.poll() is None


def test_the_last_run_is_found_by_itself(state: Path) -> None:
    with Guarded("sleep", "1000", keeps_record=True) as guarded:
        wait_until(lambda: list(state.glob("*.sock")))
        with attach() as process:
            assert "sleep 1000" in line_of(process)
            send(guarded.front.pid, signal.SIGTERM)
            assert process.wait(HANG_S) == 143


def test_a_run_that_is_over_cannot_be_joined(state: Path) -> None:
    assert memwatch("run", "--", "true").code == 0
    done = memwatch("attach")
    assert done.code == 1
    assert error_of(done) == "memwatch: that run has ended, or does not answer; to see how it ended: memwatch runs"


def test_there_may_be_no_run_at_all() -> None:
    done = memwatch("attach", "20200101")
    assert done.code == 1
    assert "there is no run 20200101" in error_of(done)
