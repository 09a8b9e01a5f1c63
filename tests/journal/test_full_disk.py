"""A disk that really fills up: the guard goes on, and so does the journal once there is room again."""

import subprocess
from pathlib import Path

import pytest

from memwatch.journal.appender import RETRY_S
from memwatch.journal.reader import read_events
from memwatch.journal.run_list import RunInfo, RunStatus
from tests.journal.examples import fill, kinds, sample, started


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_disk_that_fills_stops_nothing_and_the_journal_goes_on_when_there_is_room(disk: Path) -> None:
    clock = Clock()
    path = disk / "run.jsonl"
    journal = started(path, clock=clock)
    ballast = fill(disk)
    count = 0
    while journal.problem is None:
        journal.sample(sample(1000.0 + count))
        count += 1
    assert "No space left" in journal.problem
    written = kinds(path).count("sample")
    assert written == count - 1

    ballast.unlink()
    journal.sample(sample(2000.0))
    assert journal.problem is not None  # It does not try with every line.
    clock.now_s = RETRY_S
    journal.sample(sample(3000.0))
    assert journal.problem is None
    journal.exit(0, None, None)
    journal.close()

    events = list(read_events(path))
    assert [event["event"] for event in events][-3:] == ["gap", "sample", "exit"]
    assert events[-3]["lost_lines"] == 2
    assert events[-2]["t"] == 3000.0
    assert RunInfo.read(path).state == RunStatus.DONE


def test_a_disk_that_stays_full_is_tried_again_and_again(disk: Path) -> None:
    clock = Clock()
    journal = started(disk / "run.jsonl", clock=clock)
    fill(disk)
    for tries in range(20):
        clock.now_s = tries * RETRY_S
        for _ in range(5):
            journal.action("pause", [1], "guard", "x" * 1000)
    assert journal.problem is not None
    journal.exit(0, None, None)
    journal.close()


def test_a_disk_full_from_the_beginning_gets_its_start_line_later(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(disk))
    (disk / "memwatch" / "runs").mkdir(parents=True)
    ballast = fill(disk)
    for number in range(20):  # Not even room for an empty file.
        try:
            (disk / f"{number}").touch()
        except OSError:
            break
    clock = Clock()
    journal = started(None, clock=clock)
    assert "No space left" in (journal.problem or "")
    journal.sample(sample(1000.0))
    ballast.unlink()
    (disk / "0").unlink()
    clock.now_s = RETRY_S
    journal.sample(sample(2000.0))
    assert journal.problem is None
    journal.close()
    assert kinds(Path(journal.path or "")) == ["start", "gap", "sample"]


def test_a_disk_that_turns_read_only_stops_nothing(disk: Path) -> None:
    journal = started(disk / "run.jsonl")
    journal.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    journal = started(disk / "another.jsonl")
    assert "Read-only file system" in (journal.problem or "")
    journal.sample(sample())
    journal.exit(0, None, None)
    journal.close()
