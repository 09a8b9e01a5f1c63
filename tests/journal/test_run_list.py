"""A run in one line, from its journal."""

import os
from pathlib import Path

import pytest

from memwatch.journal.reader import read_events
from memwatch.journal.run_list import RunInfo, RunStatus, list_runs
from tests.journal.examples import sample, started, whole_run


def test_a_whole_run_is_summed_up(tmp_path: Path) -> None:
    path = tmp_path / "20261116-053012-12345.jsonl"
    whole_run(path)
    info = RunInfo.read(path)
    assert (info.run_id, info.command) == ("20261116-053012-12345", ("python", "train.py"))
    assert (info.started_t, info.ended_t) == (999.0, 1002.0)
    assert (info.state, info.exit_code, info.signal, info.by) == (RunStatus.DONE, 0, None, None)
    assert (info.peak_job_bytes, info.worst_level, info.actions) == (300 << 20, "warn", (("pause", 1),))
    assert info.size_bytes == path.stat().st_size


@pytest.mark.parametrize(
    ("code", "signal", "by", "state"),
    [
        pytest.param(0, None, None, RunStatus.DONE, id="0"),
        pytest.param(3, None, None, RunStatus.FAILED, id="3"),
        pytest.param(3, None, "job", RunStatus.FAILED, id="by itself"),
        pytest.param(None, 9, None, RunStatus.KILLED, id="by the kernel"),
        pytest.param(137, 9, None, RunStatus.KILLED, id="code and signal"),
        pytest.param(124, 15, "guard", RunStatus.STOPPED, id="by the guard"),
        pytest.param(130, 2, "user", RunStatus.STOPPED, id="by the user"),
    ],
)
def test_how_it_ended_is_one_word(
    tmp_path: Path, code: int | None, signal: int | None, by: str | None, state: RunStatus
) -> None:
    journal = started(tmp_path / "run.jsonl")
    journal.exit(code, signal, by)
    journal.close()
    assert RunInfo.read(tmp_path / "run.jsonl").state == state


def test_without_an_exit_it_runs_as_long_as_its_guard_does(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    journal.sample(sample(1234.0))
    assert RunInfo.read(path).state == RunStatus.RUNNING
    assert RunInfo.read(path).ended_t is None
    journal.close()
    path.write_text(path.read_text().replace('"start_ticks":', '"start_ticks":1'))
    assert RunInfo.read(path).state == RunStatus.DIED
    assert RunInfo.read(path).ended_t == 1234.0


def test_the_short_look_at_samples_finds_what_the_long_one_does(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    whole_run(path)
    quick = RunInfo.read(path)
    spaced = tmp_path / "spaced.jsonl"  # As another JSON library would write it: the short look does not match.
    spaced.write_text(path.read_text().replace('"event":"', '"event": "').replace('"peak_job_bytes"', '"forgotten"'))
    slow = RunInfo.read(spaced)
    assert list(read_events(spaced))[1] == list(read_events(path))[1]
    assert (slow.peak_job_bytes, slow.ended_t) == (quick.peak_job_bytes, quick.ended_t)


def test_runs_are_listed_the_newest_last_and_only_once_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert list_runs() == ([], [])
    assert list(tmp_path.iterdir()) == []  # Looking makes nothing.
    journals = [started(None) for _ in range(3)]
    assert [run.run_id for run in list_runs()[0]] == [journal.run_id for journal in journals]
    for journal in journals:
        journal.close()


def test_what_is_no_journal_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    journal = started(None)
    runs = tmp_path / "memwatch" / "runs"
    (runs / "folder.jsonl").mkdir()
    os.mkfifo(runs / "pipe.jsonl")
    (runs / "link.jsonl").symlink_to("/etc/passwd")
    (runs / "empty.jsonl").touch()
    (runs / "noise.jsonl").write_bytes(bytes(range(256)) * 100)
    read, problems = list_runs()
    assert [run.run_id for run in read] == [journal.run_id, "empty", "noise"]
    assert problems == []
    journal.close()
