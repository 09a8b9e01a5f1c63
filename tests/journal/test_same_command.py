"""Earlier runs of a command, found in the journals by their first and last lines."""

import json
from pathlib import Path

import pytest

from memwatch.decide.earlier_runs import EarlierRun
from memwatch.journal.same_command import earlier_runs


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "memwatch" / "runs"
    folder.mkdir(parents=True)
    return folder


def write(runs: Path, name: str, command: list[str], **ended: object) -> None:
    start = {"t": 1.0, "event": "start", "command": command}
    sample = {"t": 2.0, "event": "sample", "job_bytes": 5}
    exit_event = {"t": 3.0, "event": "exit", "code": 0, "peak_job_bytes": 700, "work_total": 100, "input": "a.txt"}
    lines = [json.dumps(event) for event in (start, *([sample] * 500), exit_event | ended)]
    (runs / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def test_runs_of_the_same_command_are_found_whatever_their_input_is_called(runs: Path) -> None:
    write(runs, "1", ["python", "p.py", "/data/a.txt"])
    write(runs, "2", ["python", "p.py", "/data/b.txt"], input="b.txt", work_total=50, peak_job_bytes=400)
    write(runs, "3", ["python", "p.py", "/data/a.txt", "--fast"])
    write(runs, "4", ["python", "q.py", "/data/a.txt"])
    found = earlier_runs(["python", "p.py", "/home/c.txt"], "c.txt")
    assert found == [EarlierRun(50, 400), EarlierRun(100, 700)]


def test_a_run_that_did_not_finish_teaches_what_it_has_seen(runs: Path) -> None:
    command = ["python", "p.py"]
    write(runs, "1", command, code=124, curve=[[10, 100], [20.5, 200]])
    write(runs, "2", command, curve=[[10, 100], [5, 200]])
    write(runs, "3", command, code=124, curve=[[10, None]])
    assert earlier_runs(command, None) == [EarlierRun(100, 700), EarlierRun(100, None, ((10.0, 100), (20.5, 200)))]


def test_runs_that_did_not_finish_or_are_no_journals_teach_nothing(runs: Path) -> None:
    command = ["python", "p.py"]
    write(runs, "1", command, code=137)
    write(runs, "2", command, peak_job_bytes=None)
    write(runs, "3", command, work_total="all")
    (runs / "4.jsonl").write_bytes(b"\0" * 5000)
    (runs / "5.jsonl").write_bytes(b"")
    (runs / "6.jsonl").symlink_to("/dev/zero")
    assert earlier_runs(command, None) == []


def test_no_folder_is_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "none"))
    assert earlier_runs(["python"], None) == []
