"""A run is found by what people call it."""

from pathlib import Path

import pytest

from memwatch.errors import MemwatchError, UsageError
from memwatch.journal.run_list import journal_of

IDS = ("20261116-100000-7", "20261116-100000-71", "20261117-090000-9")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "memwatch" / "runs"
    folder.mkdir(parents=True)
    for run in IDS:
        (folder / f"{run}.jsonl").touch()
    return folder


@pytest.mark.parametrize(
    ("called", "run"),
    [("last", IDS[2]), (IDS[0], IDS[0]), (IDS[1], IDS[1]), ("20261117", IDS[2])],
    ids=["last", "exact though another begins so", "exact", "beginning"],
)
def test_a_run_is_found(runs: Path, called: str, run: str) -> None:
    assert journal_of(called) == runs / f"{run}.jsonl"


def test_a_path_is_taken_as_it_is(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").touch()
    assert journal_of(f"{tmp_path}/mine.jsonl") == tmp_path / "mine.jsonl"


@pytest.mark.parametrize("called", ["2025", "nowhere/x", "x.jsonl", "", "2026111*"])
def test_what_is_not_there_is_said_in_one_sentence(runs: Path, called: str) -> None:
    with pytest.raises(MemwatchError):
        journal_of(called)


def test_what_could_be_several_is_not_guessed(runs: Path) -> None:
    with pytest.raises(UsageError, match="matches 2 runs"):
        journal_of("20261116")


def test_no_runs_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(MemwatchError, match="no runs yet"):
        journal_of("last")
