"""No place to keep a journal, or no sense in what was asked for: the job is guarded all the same, or not run at all."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import error_of, memwatch


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "memwatch-test", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("seconds", [0, 2.5])
@pytest.mark.parametrize("state", ["read-only", "full"])
def test_without_a_place_for_its_journal_the_guard_guards_and_says_so_once(
    state: str, seconds: float, disk: Path
) -> None:
    if state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    else:
        with pytest.raises(OSError, match="No space"):
            (disk / "full").write_bytes(b"x" * (1 << 20))
    environment = {**os.environ, "XDG_STATE_HOME": str(disk)}
    done = memwatch("run", "--", "sh", "-c", f"sleep {seconds}; exit 3", env=environment)
    assert done.code == 3
    assert done.err.count("cannot write the journal in") == 1, done.err


@pytest.mark.parametrize("home", ["relative", "/dev/null/x", "/proc/nowhere"])
def test_a_state_folder_that_cannot_be_is_told_of_once(home: str, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": home, "HOME": "/dev/null"}
    done = memwatch("run", "--", "sh", "-c", "exit 3", env=environment, cwd=tmp_path)
    assert done.code == 3
    assert done.err.count("journal") == 1, done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "reserve", ["999T", "100%", "101%", "-5", "-5%", "nonsense", "1e3", "", "nan%", "1.2.3G", "5 GG"]
)
def test_a_limit_that_cannot_be_met_runs_nothing(reserve: str, tmp_path: Path) -> None:
    done = memwatch("run", "--no-record", "--reserve", reserve, "--", "touch", tmp_path / "ran")
    assert done.code == 2
    error_of(done)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--pause-timeout", "-1"), ("--pause-timeout", "nan"), ("--interval", "0"), ("--interval", "inf"),
        ("--on-pressure", "panic"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_nonsense_runs_nothing(options: tuple[str, ...], tmp_path: Path) -> None:
    done = memwatch("run", "--no-record", *options, "--", "touch", tmp_path / "ran")
    assert done.code == 2
    error_of(done)
    assert not (tmp_path / "ran").exists()
