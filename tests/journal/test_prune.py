"""Old runs make room, but never one that is still written."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memwatch.journal import folder as pruning
from memwatch.journal.folder import prune
from memwatch.journal.liveness import NEW_S, UNSEEN_S, GuardId
from tests.journal.examples import started, whole_run

LONG_AGO = 1_600_000_000


def old_run(folder: Path, number: int, size_bytes: int = 0) -> Path:
    """A run of long ago; they get newer with their number."""
    path = folder / f"20200101-0000{number:02}-77.jsonl"
    whole_run(path)
    text = path.read_text().replace(f'"pid":{os.getpid()}', '"pid":4194999')
    path.write_text(text + "\n" * max(size_bytes - len(text), 0))
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def test_the_newest_are_kept(tmp_path: Path) -> None:
    runs = [old_run(tmp_path, number) for number in range(6)]
    assert prune(str(tmp_path), kept_runs=2) == [run.name for run in reversed(runs[:4])]
    assert sorted(tmp_path.iterdir()) == runs[4:]


def test_together_they_take_no_more_than_allowed(tmp_path: Path) -> None:
    runs = [old_run(tmp_path, number, size_bytes=10_000) for number in range(6)]
    prune(str(tmp_path), kept_bytes=35_000)
    assert sorted(tmp_path.iterdir()) == runs[3:]


def test_a_run_whose_guard_is_alive_is_spared(tmp_path: Path) -> None:
    old_run(tmp_path, 1)
    journal = started(live := tmp_path / "20200101-000000-77.jsonl")
    os.utime(live, (LONG_AGO, LONG_AGO))
    prune(str(tmp_path), kept_runs=0)
    assert list(tmp_path.iterdir()) == [live]
    journal.close()


def test_a_later_process_with_the_pid_of_the_guard_does_not_spare_it(tmp_path: Path) -> None:
    path = tmp_path / "20200101-000000-77.jsonl"
    started(path).close()
    ticks = GuardId.this().start_ticks
    path.write_text(path.read_text().replace(f'"start_ticks":{ticks}', '"start_ticks":1'))
    prune(str(tmp_path), kept_runs=0)
    assert not path.exists()


def test_a_guard_of_an_earlier_boot_is_gone() -> None:
    this = GuardId.this()
    assert this.is_alive() is True
    assert GuardId(this.pid, this.start_ticks, "an earlier boot", this.pid_namespace).is_alive() is False


def test_a_guard_that_only_its_parent_has_not_buried_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        ticks = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        assert GuardId(child.pid, ticks).is_alive() is False


def test_a_guard_in_a_container_has_a_day(tmp_path: Path) -> None:
    path = tmp_path / "20200101-000000-77.jsonl"
    started(path).close()
    namespace = GuardId.this().pid_namespace
    path.write_text(path.read_text().replace(f'"pid_namespace":{namespace}', '"pid_namespace":1'))
    assert GuardId(1, 1, None, 1).is_alive() is None
    prune(str(tmp_path), kept_runs=0)
    assert path.exists()
    os.utime(path, (time.time() - UNSEEN_S - 1,) * 2)
    prune(str(tmp_path), kept_runs=0)
    assert not path.exists()


def test_a_journal_that_is_about_to_start_is_spared(tmp_path: Path) -> None:
    path = tmp_path / "20200101-000000-77.jsonl"
    path.touch()
    prune(str(tmp_path), kept_runs=0)
    assert path.exists()
    os.utime(path, (time.time() - NEW_S - 1,) * 2)
    prune(str(tmp_path), kept_runs=0)
    assert not path.exists()


def test_nothing_else_in_the_folder_is_removed(tmp_path: Path) -> None:
    names = ["notes.txt", "mine.jsonl", "20200101-000000-77.jsonl.gz", "20200101-000001-77.jsonl"]
    for name in names[:3]:
        (tmp_path / name).write_text("precious")
        os.utime(tmp_path / name, (LONG_AGO, LONG_AGO))
    (tmp_path / names[3]).symlink_to(tmp_path / "notes.txt")
    assert prune(str(tmp_path), kept_runs=0) == []
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_a_new_run_prunes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    runs = tmp_path / "memwatch" / "runs"
    runs.mkdir(parents=True)
    for number in range(60):
        old = old_run(runs, number)
        old.rename(old.with_name(old.name.replace("-77", "-78")))
        old_run(runs, number)
    journal = started(None)
    assert len(list(runs.iterdir())) == pruning.KEPT_RUNS
    assert journal.path in [str(path) for path in runs.iterdir()]
    journal.close()
