"""The registry: guards find each other, and forged files do no harm."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwatch.decide.turns import GuardedRun, RunState
from memwatch.guard import registry as registry_module
from memwatch.guard.registry import MOST_BYTES, MOST_FILES, MOST_RUNS, SUFFIX, Registry
from memwatch.journal.liveness import GuardId
from tests.helpers import open_to_others

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files to another user")

Other = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "runs"
    monkeypatch.setenv("MEMWATCH_RUNTIME_DIR", str(made))
    return made


@pytest.fixture
def other() -> Iterator[Other]:
    """A process that is no relative of the test's, as far as the registry can see."""
    started = []

    def start(uid: int | None = None) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "1000"], user=uid)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Registry]:
    """Its own children count as strangers here: a test has no others."""
    made = Registry()
    monkeypatch.setattr(made, "_is_kin", lambda run: False)
    yield made
    made.close()


def me(registry: Registry, **more: object) -> GuardedRun:
    assert registry.identity is not None
    ticks, pid = registry.identity
    return replace(GuardedRun("20261116-1", "prepare.py", ticks, pid, RunState.RUNNING, 5, 9), **more)  # type: ignore[arg-type]


def identity_of(pid: int) -> dict[str, object]:
    text = Path(f"/proc/{pid}/stat").read_text()
    return GuardId.this().as_json() | {"pid": pid, "start_ticks": int(text.rpartition(")")[2].split()[19])}


def published(pid: int, **more: object) -> dict[str, Any]:
    facts = {"run": "20261116-2", "command": "hog.py", "state": "running", "job_bytes": 7, "peak_bytes": 8}
    return {"guard": identity_of(pid), "room": "", "cgroups": ["/a"], **facts, **more}


def write(folder: Path, value: object, name: str = f"1{SUFFIX}", uid: int | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    if uid is not None:
        os.chown(path, uid, uid)
    return path


def test_what_one_guard_publishes_another_reads(registry: Registry, folder: Path) -> None:
    """The other guard is a real process, which publishes itself and waits."""
    code = (
        "from memwatch.guard.registry import Registry; from memwatch.decide.turns import GuardedRun, RunState\n"
        "r = Registry(); ticks, pid = r.identity\n"
        "run = GuardedRun('20261116-3', 'a.py', ticks, pid, RunState.PAUSED, 1, 2, 0.5, 0.25, '/r', ('/r/x',))\n"
        "assert r.publish(run); print('published', flush=True); input(); r.close()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as guard:
        assert guard.stdout is not None
        assert guard.stdout.readline() == "published\n"
        (found,) = registry.others()
        assert (found.pid, str(found), found.state) == (guard.pid, "run 20261116-3 (a.py)", RunState.PAUSED)
        assert (found.job_bytes, found.peak_bytes, found.grew_s, found.resumed_s) == (1, 2, 0.5, 0.25)
        assert (found.room, found.cgroups, found.is_stranger) == ("/r", ("/r/x",), False)
        guard.communicate("\n")
    assert list(folder.iterdir()) == []


def test_its_own_run_is_not_among_the_others(registry: Registry, folder: Path) -> None:
    assert registry.publish(me(registry))
    assert registry.publish(me(registry, state=RunState.PAUSED))
    assert len(list(folder.iterdir())) == 1
    assert registry.others() == []
    registry.close()
    assert list(folder.iterdir()) == []


def test_a_memwatch_under_memwatch_does_not_wait_for_the_outer_one(folder: Path, other: Other) -> None:
    registry = Registry()
    ancestors = [os.getppid()]
    while (parent := int(Path(f"/proc/{ancestors[-1]}/stat").read_text().rpartition(")")[2].split()[1])) > 1:
        ancestors.append(parent)
    for pid in ancestors:
        write(folder, published(pid), f"outer-{pid}.run")
    write(folder, published(other().pid), "inner.run")
    assert registry.others() == []


def test_the_file_of_a_dead_guard_is_ignored_and_removed(registry: Registry, folder: Path, other: Other) -> None:
    process = other()
    path = write(folder, published(process.pid))
    assert len(registry.others()) == 1
    process.kill()
    process.wait()
    assert registry.others() == []
    assert not path.exists()


def test_a_process_that_has_taken_the_pid_is_not_the_guard(registry: Registry, folder: Path, other: Other) -> None:
    facts = published(other().pid)
    facts["guard"]["start_ticks"] -= 1
    write(folder, facts)
    assert registry.others() == []


@needs_root
class TestOtherUsers:
    def test_their_runs_are_strangers(self, registry: Registry, folder: Path, other: Other) -> None:
        write(folder, published(other(uid=NOBODY).pid), uid=NOBODY)
        (found,) = registry.others()
        assert found.is_stranger

    def test_nobody_can_publish_the_process_of_another_user(
        self, registry: Registry, folder: Path, other: Other
    ) -> None:
        write(folder, published(other().pid), uid=NOBODY)
        assert registry.others() == []

    def test_their_stale_files_are_theirs_to_remove(self, registry: Registry, folder: Path, other: Other) -> None:
        process = other()
        path = write(folder, published(process.pid), uid=NOBODY)
        process.kill()
        process.wait()
        assert registry.others() == []
        assert path.exists()

    def test_the_machine_wide_folder_is_open_to_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        open_to_others(tmp_path)
        shared = str(tmp_path / "memwatch-runs")
        monkeypatch.delenv("MEMWATCH_RUNTIME_DIR", raising=False)
        monkeypatch.setattr(registry_module, "SHARED_FOLDERS", (str(tmp_path / "no" / "such"), shared))
        registry = Registry()
        assert registry.publish(me(registry))
        assert os.stat(shared).st_mode & 0o7777 == 0o1777
        registry.close()


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="torn"),
        pytest.param("[" * 2000, id="nested"),
        pytest.param("[1, 2]", id="a-list"),
        pytest.param({"guard": {"pid": "1"}}, id="a-pid-in-words"),
        pytest.param({"guard": {"pid": 10**400, "start_ticks": 1}}, id="a-pid-of-400-digits"),
        pytest.param({"guard": {"pid": -1, "start_ticks": 1}}, id="a-negative-pid"),
    ],
)
def test_junk_is_ignored(registry: Registry, folder: Path, junk: object) -> None:
    write(folder, junk)
    assert registry.others() == []


@pytest.mark.parametrize(
    "lie",
    [
        {"state": "crashed"},
        {"state": ["running"]},
        {"job_bytes": -1},
        {"job_bytes": 1 << 70},
        {"job_bytes": True},
        {"peak_bytes": 1e9},
        {"room": None},
        {"room": "/" * 600},
        {"cgroups": "/a"},
        {"cgroups": ["/a"] * 3},
        {"cgroups": [1]},
    ],
    ids=str,
)
def test_what_is_not_plausible_is_ignored(
    registry: Registry, folder: Path, other: Other, lie: dict[str, object]
) -> None:
    write(folder, published(other().pid, **lie))
    assert registry.others() == []


def test_a_time_to_come_is_no_time(registry: Registry, folder: Path, other: Other) -> None:
    write(folder, published(other().pid, grew_s=time.monotonic() + 1e6, resumed_s="now"))
    (found,) = registry.others()
    assert (found.grew_s, found.resumed_s) == (None, None)


def test_names_cannot_write_to_a_terminal(registry: Registry, folder: Path, other: Other) -> None:
    write(folder, published(other().pid, command="\x1b[2Jevil\n" + "x" * 500))
    (found,) = registry.others()
    assert found.command.isprintable()
    assert len(found.command) <= 64


def test_links_pipes_folders_and_large_files_are_not_read(registry: Registry, folder: Path, other: Other) -> None:
    honest = published(other().pid)
    target = write(folder, honest, "elsewhere")
    (folder / f"link{SUFFIX}").symlink_to(target)
    (folder / f"hard{SUFFIX}").hardlink_to(target)
    (folder / f"folder{SUFFIX}").mkdir()
    os.mkfifo(folder / f"pipe{SUFFIX}")
    write(folder, json.dumps(honest) + " " * MOST_BYTES, f"large{SUFFIX}")
    assert registry.others() == []


def test_a_folder_that_is_a_link_is_not_used(registry: Registry, folder: Path, tmp_path: Path, other: Other) -> None:
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, published(other().pid))
    folder.symlink_to(elsewhere)
    assert registry.others() == []
    assert not registry.publish(me(registry))
    assert len(list(elsewhere.iterdir())) == 1


def test_a_folder_full_of_junk_takes_no_time(registry: Registry, folder: Path, other: Other) -> None:
    facts = published(other().pid)
    for number in range(MOST_FILES + 200):
        write(folder, facts, f"{number}{SUFFIX}")
    opened = []
    reading = registry._read

    def noted(folder_fd: int, name: str) -> GuardedRun | None:
        opened.append(name)
        return reading(folder_fd, name)

    registry._read = noted  # type: ignore[method-assign]
    assert len(registry.others()) <= MOST_RUNS
    assert len(opened) <= MOST_FILES


def test_a_guard_that_cannot_publish_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MEMWATCH_RUNTIME_DIR", str(tmp_path / "file" / "runs"))
    registry = Registry()
    assert not registry.publish(me(registry))
    assert registry.others() == []
    registry.close()


def test_a_folder_that_was_removed_is_made_again(registry: Registry, folder: Path) -> None:
    assert registry.publish(me(registry))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert registry.publish(me(registry))
    assert len(list(folder.iterdir())) == 1


def test_the_last_run_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setattr(registry_module, "folders", lambda: [str(shared)])
    first, second = Registry(), Registry()
    second._name = f"2{SUFFIX}"
    assert first.publish(me(first))
    assert second.publish(me(second))
    first.close()
    assert len(list(shared.iterdir())) == 1
    second.close()
    assert not shared.exists()
