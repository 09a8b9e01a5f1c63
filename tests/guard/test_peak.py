"""Peak memory of a job: one definition, and the same number in every view."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest

from memwatch.diagnose.collect.from_journals import read_run
from memwatch.journal.run_list import journal_of
from memwatch.model.units import MIB, format_size
from tests.helpers import memwatch

THREE_PROCESSES = """
import subprocess, sys, time
import memwatch.job
hold = "import sys; held = b'x' * (48 << 20); print(flush=True); sys.stdin.read()"
children = [
    subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)
]
for child in children:
    child.stdout.readline()
memwatch.job.progress(1, 1)  # After a word of the job, plain lines close with one too.
time.sleep(3)  # All three hold their memory at once: as long as several samples take.
for child in children:
    child.communicate()
"""
# A grandchild that nobody of the job waits for, and that is gone before a sample can see it at its peak.
ORPHAN = """
import os, sys, time
read_end, write_end = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        held = b"x" * (150 << 20)
    os._exit(0)
os.wait()
os.close(write_end)
os.read(read_end, 1)
time.sleep(0.5)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run(*command: str) -> str:
    """Standard error of a run that passes, with its closing line in any case."""
    finished = memwatch("run", "--ui", "plain", "--", *command)
    assert finished.code == 0, finished.err
    return finished.err


def exit_event() -> dict[str, object]:
    events = json.loads(memwatch("export", "last", "--json", "-").out)["events"]
    return next(event for event in events if event["event"] == "exit")


def test_every_view_has_the_same_peak_of_a_job_with_several_processes() -> None:
    said = run(sys.executable, "-c", THREE_PROCESSES)
    peak = exit_event()["peak_job_bytes"]
    assert isinstance(peak, int)
    assert 3 * 48 * MIB < peak < 400 * MIB  # the sum over its processes, not the largest of them
    assert f"peak memory {format_size(peak)}" in said
    assert json.loads(memwatch("runs", "--json").out)["runs"][0]["peak_job_bytes"] == peak
    assert format_size(peak) in memwatch("runs").out
    rows = list(csv.DictReader(io.StringIO(memwatch("export", "last", "--csv", "-").out)))
    assert int(rows[-1]["job_peak_bytes"]) == peak
    page = memwatch("export", "last", "--html", "-").out
    assert re.search(rf"Peak memory of the job</dt><dd>{format_size(peak)}<", page)
    _, diagnosed = read_run(journal_of("last"), show_commands=False)
    assert diagnosed.peak_job_bytes == peak


def test_the_manifest_has_the_peak_that_the_other_views_have(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The quick brown fox jumps over the lazy dog.\n" * 200_000)
    finished = memwatch("run", "--ui", "plain", "tokenize", str(tmp_path / "text.txt"))
    assert finished.code == 0, finished.err
    peak = exit_event()["peak_job_bytes"]
    assert json.loads((tmp_path / "manifest.json").read_text())["peak_rss_bytes"] == peak


def test_an_orphan_counts_with_the_peak_that_no_sample_saw() -> None:
    run(sys.executable, "-c", ORPHAN)
    peak = exit_event()["peak_job_bytes"]
    assert isinstance(peak, int)
    assert peak > 150 * MIB


def test_the_guard_s_own_memory_is_not_the_job_s() -> None:
    """A process begins with the peak of the one that started it."""
    run("sleep", "2")
    peak = exit_event()["peak_job_bytes"]
    assert isinstance(peak, int)
    assert peak < 8 * MIB
