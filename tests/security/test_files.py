"""Links, other users' files and forged checkpoints in the place of ours: refused or replaced, never followed."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memwatch.channel import VARIABLE
from memwatch.errors import MemwatchError
from memwatch.journal.folder import make_runs_folder, open_journal
from memwatch.tokenize.checkpoint import SCHEMA
from tests.faults.jobs import PARTIAL
from tests.guard.processes import Watched, wait_until
from tests.helpers import Finished, error_of, memwatch, open_to_others

Run = Callable[..., Finished]
NOBODY = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("Some words to make tokens of.\n" * 1000)
    return path


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("not to be touched")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.mkdir()
    return path


@pytest.mark.parametrize("name", ["train.bin", "val.bin", "manifest.json", "train_shard_0000.bin"])
@pytest.mark.parametrize("mode", ["stream", "shard"])
def test_a_link_in_place_of_an_output_is_replaced_and_not_followed(
    name: str, mode: str, text: Path, out: Path, precious: Path, tokenize: Run
) -> None:
    (out / name).symlink_to(precious)
    done = tokenize(text, "--out", out, "--mode", mode, "--force")
    assert precious.read_text() == "not to be touched"
    if done.code == 0:
        assert not any(path.is_symlink() for path in out.iterdir())
    else:  # Behind the name of a manifest there must be one.
        assert name == "manifest.json"
        error_of(done)


def test_a_link_in_place_of_the_partial_folder_is_refused(text: Path, out: Path, tmp_path: Path, tokenize: Run) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (out / PARTIAL).symlink_to(elsewhere)
    for more in ((), ("--fresh",)):
        done = tokenize(text, "--out", out, *more)
        assert done.code == 1
        assert "is a symbolic link; remove it" in error_of(done)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("name", ["checkpoint.json", "checkpoint.json.new", "train_0000.part"])
def test_a_link_inside_the_partial_folder_is_not_followed(
    name: str, text: Path, out: Path, precious: Path, tokenize: Run
) -> None:
    (out / PARTIAL).mkdir()
    (out / PARTIAL / name).symlink_to(precious)
    tokenize(text, "--out", out)
    assert precious.read_text() == "not to be touched"


@only_root
def test_a_partial_folder_of_another_user_is_refused(text: Path, out: Path) -> None:
    open_to_others(out)
    (out / PARTIAL).mkdir(mode=0o755)
    script = f"""if True:
        import os, pathlib
        from memwatch.tokenize.checkpoint import load
        os.setuid({NOBODY})
        load(pathlib.Path({str(out / PARTIAL)!r}))"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "belongs to another user; choose another --out" in done.stderr


def test_a_forged_checkpoint_removes_and_renames_nothing_elsewhere(
    text: Path, out: Path, precious: Path, tokenize: Run
) -> None:
    record = {"name": "../precious", "part": "x", "split": "train", "tokens": 1, "size_bytes": 2, "sha256": ""}
    part = {"shard": 0, "tokens": 0, "sha256": ""}
    forged = {
        "schema": SCHEMA, "settings": {}, "inputs": [], "position": {}, "totals": {}, "replaces": [], "finished": True,
        "outputs": {"sharded": False, "train": part, "val": part, "complete": [record]},
    }  # fmt: skip
    for more in ({}, {"replaces": ["../precious"], "outputs": {**forged["outputs"], "complete": []}}):  # type: ignore[dict-item]
        for options in ((), ("--fresh",)):
            (out / PARTIAL).mkdir(exist_ok=True)
            (out / PARTIAL / "checkpoint.json").write_text(json.dumps({**forged, **more}))
            done = tokenize(text, "--out", out, "--force", *options)
            assert options or "names files in other folders" in error_of(done)
            assert precious.exists()


def test_a_forged_manifest_makes_verify_read_nothing_elsewhere(text: Path, out: Path, tokenize: Run) -> None:
    assert tokenize(text, "--out", out).code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["files"][0]["name"] = "../precious"
    (out / "manifest.json").write_text(json.dumps(manifest))
    done = memwatch("verify", out)
    assert done.code == 1
    assert "names files in other folders" in error_of(done)


def test_all_that_a_run_keeps_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = os.umask(0)
    try:
        with Watched("sleep", "1000", record=None) as watched:
            watched.event("start")
            watched.event("sample")
            runs = tmp_path / "memwatch" / "runs"
            wait_until(lambda: list(runs.glob("*.sock")), "the guard can be joined")
            assert {mode_of(path) for path in runs.iterdir()} == {0o600}
            assert mode_of(runs) == mode_of(runs.parent) == 0o700
    finally:
        os.umask(before)


def test_a_journal_made_for_us_by_touch_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.touch(0o666)
    os.close(open_journal(str(path)))
    assert mode_of(path) == 0o600


@only_root
def test_a_journal_of_another_user_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(MemwatchError, match="belongs to another user"):
        open_journal(str(path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "memwatch").mkdir()
    os.chown(tmp_path / "memwatch", NOBODY, NOBODY)
    with pytest.raises(MemwatchError, match="belongs to another user"):
        make_runs_folder()


@pytest.mark.parametrize("suffix", [".jsonl", ".sock"])
def test_a_link_in_place_of_a_journal_or_its_socket_is_not_followed(
    suffix: str, tmp_path: Path, precious: Path
) -> None:
    (tmp_path / f"run{suffix}").symlink_to(precious)
    done = memwatch("run", "--record", tmp_path / "run.jsonl", "--", "sh", "-c", "exit 3")
    assert done.code == 3  # The job is run all the same.
    assert precious.read_text() == "not to be touched"
    if suffix == ".jsonl":
        assert done.err.count("cannot write the journal") == 1


@pytest.mark.parametrize(
    "address",
    ["1", "3", "-1", "x", "", "@", "@memwatch-", "@memwatch-nobody", "@memwatch-" + "x" * 200, "@x", "/run/x"],
)
def test_a_forged_channel_is_no_channel(address: str) -> None:
    script = "from memwatch import job; job.progress(1, 2, 'files'); print('well')"
    environment = {**os.environ, VARIABLE: address}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("well\n", "")
