"""memwatch record, as a user or systemd runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

import pytest

from memwatch.journal.record_files import read_machine_events
from memwatch.tokenize.rss import rss_bytes
from tests.guard.processes import wait_until
from tests.helpers import HANG_S, error_of, memwatch


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@contextmanager
def recording(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "memwatch", "record", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as recorder:
        try:
            _wait_for_line(recorder.stderr)
            yield recorder
        finally:
            recorder.kill()


def _wait_for_line(stream: IO[str] | None) -> None:
    assert stream is not None
    assert stream.readline().startswith("memwatch: recording this machine every")


def samples() -> int:
    return sum(event["event"] == "sample" for event in read_machine_events())


def test_it_records_this_machine_and_ends_when_told() -> None:
    with recording("--interval", "0.1") as recorder:
        wait_until(lambda: samples() >= 3)
        recorder.send_signal(signal.SIGTERM)
        assert recorder.wait(HANG_S) == 0
    events = list(read_machine_events())
    assert [events[0]["event"], events[-1]["event"]] == ["start", "exit"]
    assert events[-1]["signal"] == signal.SIGTERM
    sample = next(event for event in events if event["event"] == "sample")
    assert sample["memory"]["total_bytes"] > 0  # type: ignore[index]
    assert sample["disk_free_bytes"]
    assert sample["others"]


def test_it_stays_within_its_budget() -> None:
    """20 MiB; and where the wheel turns ten times as fast as usual, less than ten times half a percent of a core."""
    with recording("--interval", "0.5") as recorder:
        wait_until(lambda: samples() >= 2)
        began_s, began_cpu_s, began = time.monotonic(), _cpu_s(recorder.pid), samples()
        wait_until(lambda: samples() >= began + 10)
        took_s, cpu_s = time.monotonic() - began_s, _cpu_s(recorder.pid) - began_cpu_s
        assert (rss_bytes(recorder.pid) or 0) <= 20 << 20
        assert cpu_s <= 0.05 * took_s


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_hard_reset_loses_nothing_that_was_written_and_the_next_one_goes_on() -> None:
    for run in range(2):
        with recording("--interval", "0.1") as recorder:
            before = samples()
            wait_until(lambda: samples() >= before + 3)  # noqa: B023
            recorder.kill()
            recorder.wait(HANG_S)
        events = list(read_machine_events())
        assert sum(event["event"] == "start" for event in events) == run + 1
        assert not any(event["event"] == "exit" for event in events)


def test_its_own_stall_is_in_the_record() -> None:
    """As in a freeze: it did not get to run, and the clock of the samples around it says how long."""
    with recording() as recorder:
        wait_until(lambda: samples() >= 1)
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(3)
        recorder.send_signal(signal.SIGCONT)
        wait_until(lambda: max(_pauses_s(), default=0.0) >= 3)


def _pauses_s() -> list[float]:
    clocks = [float(str(event["clock_s"])) for event in read_machine_events() if event["event"] == "sample"]
    return [later - earlier for earlier, later in pairwise(clocks)]


def test_a_second_recorder_is_told_that_there_is_one() -> None:
    with recording() as recorder:
        second = memwatch("record")
        assert second.code == 1
        assert f"another memwatch record of yours is running, process {recorder.pid}" in error_of(second)


def test_a_state_folder_that_cannot_be_used_is_one_sentence(state: Path) -> None:
    (state / "memwatch").write_text("hello")
    assert "is not a folder" in error_of(memwatch("record"))


def test_an_interval_that_makes_no_sense_is_refused() -> None:
    done = memwatch("record", "--interval", "soon")
    assert done.code == 2
    assert "is not a number of seconds" in done.err


def test_command_lines_are_kept_only_when_asked_for() -> None:
    secret = "hunter2-4711"
    with subprocess.Popen([sys.executable, "-c", "held = b'x' * (256 << 20); input()", secret], stdin=subprocess.PIPE):
        with recording("--interval", "0.1"):
            wait_until(lambda: samples() >= 2)
        assert secret not in json.dumps(list(read_machine_events()))
        with recording("--interval", "0.1", "--commands"):
            wait_until(lambda: secret in json.dumps(list(read_machine_events())))
