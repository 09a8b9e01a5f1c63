"""Killed, stopped, starved of disk, at any moment: the same command goes on, and the result is the same to the byte."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.jobs import PARTIAL, SLOW, RunningJob, contents, started_writing
from tests.guard.processes import send, state_of, wait_until
from tests.helpers import Finished, error_of, memwatch

Run = Callable[..., Finished]
OPTIONS = ("--val-ratio", "0.01", "--documents", "blank")


@pytest.fixture(scope="module")
def expected(real_text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    found = {}
    for mode in ("stream", "shard"):
        folder = tmp_path_factory.mktemp(mode)
        done = memwatch(
            "run", "tokenize", real_text, "--out", folder, *OPTIONS, "--mode", mode, "--shard-tokens", "300k"
        )
        assert done.code == 0, done.err
        found[mode] = contents(folder)
    return found


@pytest.mark.parametrize("mode", ["stream", "shard"])
def test_killed_at_random_moments_it_ends_byte_identical(
    mode: str, real_text: Path, expected: dict[str, dict[str, bytes]], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    chance = random.Random(f"{mode} {os.environ.get('MEMWATCH_SEED', '1')}")
    kills = request.config.getoption("--kills") // 2
    command = (real_text, "--out", tmp_path, *OPTIONS, "--mode", mode, "--shard-tokens", "300k")
    done = 0
    while done < kills:
        engine = SLOW if chance.random() < 0.7 else ("--workers", chance.randint(1, 3), "--block-size", "32k")
        with RunningJob(*command, *engine) as running:
            # Sometimes at once, while it starts; mostly while it works; sometimes while it ends.
            time.sleep(chance.choice([0.05, 0.3, 0.6, 1.2, 2.0]) * chance.uniform(0.5, 1.5))
            victims = running.tree()
            if (tmp_path / "manifest.json").exists():
                # It was faster, or went on to its end. Then start anew: a finished run is not to be resumed.
                running.finish()
                assert contents(tmp_path) == expected[mode]
                shutil.rmtree(tmp_path)
                tmp_path.mkdir()
                continue
            victim = chance.choice(victims)
            send(victim, signal.SIGKILL)
            done += 1
            _, err = running.finish()
            assert "Traceback" not in err
            # Without its front or its watcher a job goes on to its end, guarded.
            wait_until(lambda: not any(state_of(pid) for pid in victims), "everyone has ended")  # noqa: B023
    if not (tmp_path / "manifest.json").exists():
        last = memwatch("run", "tokenize", *command)
        assert last.code == 0, last.err
    assert contents(tmp_path) == expected[mode]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_stop_it_keeps_its_work_and_says_so(
    number: signal.Signals, real_text: Path, expected: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    command = (real_text, "--out", tmp_path, *OPTIONS)
    with RunningJob(*command, *SLOW) as running:
        wait_until(lambda: started_writing(tmp_path))
        send(running.process.pid, number)
        code, err = running.finish()
    assert code == 128 + number
    assert "repeat the same command to resume" in err
    assert "Traceback" not in err
    done = memwatch("run", "tokenize", *command)
    assert done.code == 0, done.err
    assert re.search(r"memwatch: resuming at \d+\.\d %, [\d.]+ [kM]? ?tokens; --fresh starts over", done.err), done.err
    assert contents(tmp_path) == expected["stream"]


def test_a_run_that_starts_does_not_say_that_it_resumes(real_text: Path, tmp_path: Path, tokenize: Run) -> None:
    assert "resum" not in tokenize(real_text, "--out", tmp_path).err


def test_ctrl_c_reaches_everyone_and_is_taken_once(long_text: Path, tmp_path: Path) -> None:
    """A terminal sends SIGINT to the whole group: memwatch, the job and its workers."""
    with RunningJob(long_text, "--out", tmp_path, *SLOW) as running:
        wait_until(lambda: started_writing(tmp_path))
        os.killpg(running.process.pid, signal.SIGINT)
        code, err = running.finish()
    assert code == 130
    assert err.count("repeat the same command to resume") == 1
    assert "Traceback" not in err


def test_when_the_guard_is_killed_the_job_keeps_its_work_and_ends(long_text: Path, tmp_path: Path) -> None:
    with RunningJob(long_text, "--out", tmp_path, *SLOW) as running:
        wait_until(lambda: started_writing(tmp_path))
        guard, job = running.tree()[1], running.job_tree()
        send(guard, signal.SIGKILL)
        code, err = running.finish()
        wait_until(lambda: not any(state_of(pid) for pid in job), "the job and its worker end")
    assert code == 143
    assert "repeat the same command to resume" in err


def test_when_the_front_is_killed_the_job_ends_with_it_and_the_same_command_goes_on(
    real_text: Path, expected: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    """As subprocess.run(timeout=) does: without a screen the front stands for the job (docs/DIFFERENCES.md)."""
    command = (real_text, "--out", tmp_path, *OPTIONS, *SLOW)
    with RunningJob(*command) as running:
        wait_until(lambda: started_writing(tmp_path))
        tree = running.tree()
        send(running.process.pid, signal.SIGKILL)
        wait_until(lambda: not any(state_of(pid) for pid in tree), "everyone ends")
    assert (tmp_path / PARTIAL).exists()
    with RunningJob(*command) as again:
        assert again.finish()[0] == 0
    assert contents(tmp_path) == expected["stream"]


def test_a_checkpoint_comes_by_itself_and_holds_all_that_was_written(long_text: Path, tmp_path: Path) -> None:
    path = tmp_path / PARTIAL / "checkpoint.json"
    with RunningJob(long_text, "--out", tmp_path, "--val-ratio", "0", *SLOW) as running:
        wait_until(lambda: started_writing(tmp_path))
        # A worker that stands still keeps the run from ending before its checkpoint is due.
        send(running.workers()[0], signal.SIGSTOP)
        first = path.stat().st_mtime_ns
        wait_until(lambda: path.stat().st_mtime_ns > first, "a checkpoint every few seconds")
        written = (tmp_path / PARTIAL / "train_0000.part").stat().st_size
        assert json.loads(path.read_text())["outputs"]["train"]["tokens"] == written // 2 > 0


def test_the_work_of_a_stopped_run_is_not_done_again(long_text: Path, tmp_path: Path) -> None:
    command = (long_text, "--out", tmp_path, "--val-ratio", "0", *SLOW)
    with RunningJob(*command) as running:
        wait_until(lambda: started_writing(tmp_path))
        time.sleep(0.5)
        send(running.process.pid, signal.SIGINT)
        running.finish()
    kept = (tmp_path / PARTIAL / "train_0000.part").stat().st_size
    assert kept > 0
    with RunningJob(*command) as running:
        wait_until(lambda: running.process.poll() is not None or running.workers())
        while running.process.poll() is None:
            part = tmp_path / PARTIAL / "train_0000.part"
            assert not part.exists() or part.stat().st_size >= kept
            time.sleep(0.01)


def test_a_second_run_in_the_same_folder_is_refused(long_text: Path, tmp_path: Path, tokenize: Run) -> None:
    with RunningJob(long_text, "--out", tmp_path, *SLOW) as running:
        wait_until(lambda: started_writing(tmp_path))
        send(running.job(), signal.SIGSTOP)
        done = tokenize(long_text, "--out", tmp_path, *SLOW)
    assert done.code == 1
    assert "another memwatch run writes to" in error_of(done)


@pytest.fixture
def stopped(real_text: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A partial run: its input and its output folder."""
    source = tmp_path / "in.txt"
    shutil.copy(real_text, source)
    out = tmp_path / "out"
    with RunningJob(source, "--out", out, "--val-ratio", "0", *SLOW) as running:
        wait_until(lambda: started_writing(out))
        send(running.process.pid, signal.SIGINT)
        running.finish()
    return source, out


def test_changed_settings_are_refused_by_name(stopped: tuple[Path, Path], tokenize: Run) -> None:
    source, out = stopped
    done = tokenize(source, "--out", out, "--val-ratio", "0", "--documents", "line")
    assert done.code == 1
    assert "--documents was 'auto' and is now 'line'" in error_of(done)
    assert "--fresh" in error_of(done)


def test_changed_input_is_refused_by_name(stopped: tuple[Path, Path], tokenize: Run) -> None:
    source, out = stopped
    original = source.stat()
    data = bytearray(source.read_bytes())
    data[0] ^= 1
    source.write_bytes(data)
    os.utime(source, ns=(original.st_atime_ns, original.st_mtime_ns))
    done = tokenize(source, "--out", out, "--val-ratio", "0")
    assert done.code == 1
    assert f"{source} has changed contents" in error_of(done)
    with source.open("ab") as file:
        file.write(b"more")
    done = tokenize(source, "--out", out, "--val-ratio", "0")
    assert "bytes and now has" in error_of(done)


def test_fresh_starts_over(stopped: tuple[Path, Path], tokenize: Run) -> None:
    source, out = stopped
    done = tokenize(source, "--out", out, "--documents", "line", "--fresh")
    assert done.code == 0, done.err
    assert not (out / PARTIAL).exists()


def test_fresh_drops_the_shards_of_the_partial_run(long_text: Path, tmp_path: Path, tokenize: Run) -> None:
    with RunningJob(long_text, "--out", tmp_path, "--mode", "shard", "--shard-tokens", "50k", *SLOW) as running:
        wait_until(lambda: (tmp_path / "train_shard_0003.bin").exists())
        send(running.job(), signal.SIGKILL)
        running.finish()
    assert tokenize(long_text, "--out", tmp_path, "--fresh").code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["manifest.json", "train.bin", "val.bin"]


def test_input_that_changes_under_way_is_not_published(real_text: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    shutil.copy(real_text, source)
    out = tmp_path / "out"
    with RunningJob(source, "--out", out, *SLOW) as running:
        wait_until(lambda: started_writing(out))
        with source.open("ab") as file:
            file.write(b"a line that came later\n")
        code, err = running.finish()
    assert code == 1
    assert f"{source} changed while it was read" in err
    assert [p.name for p in out.iterdir()] == [PARTIAL]


@pytest.fixture
def small_disk(tmp_path: Path) -> "pytest.Generator[Path, None, None]":  # type: ignore[name-defined]
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "memwatch-test", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_too_small_a_disk_is_seen_before_the_start(small_disk: Path, real_text: Path, tokenize: Run) -> None:
    done = tokenize(real_text, "--out", small_disk)
    assert done.code == 124
    assert "the output needs about" in error_of(done)
    assert list(small_disk.iterdir()) == []


def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(
    small_disk: Path, real_text: Path, expected: dict[str, dict[str, bytes]]
) -> None:
    # GIVEN a disk that is large enough when the run begins
    subprocess.run(["mount", "-o", "remount,size=30m", small_disk], check=True)
    command = (real_text, "--out", small_disk, *OPTIONS)
    with RunningJob(*command, *SLOW) as running:
        wait_until(lambda: started_writing(small_disk))
        # WHEN somebody else fills it
        with pytest.raises(OSError, match="No space"):
            (small_disk / "other").write_bytes(b"x" * (40 << 20))
        code, err = running.finish()
    # THEN the run stops with what it has
    assert code == 124, err
    assert "free disk space and repeat the same command to resume" in err
    # AND goes on when there is room
    (small_disk / "other").unlink()
    done = memwatch("run", "tokenize", *command)
    assert done.code == 0, done.err
    assert contents(small_disk) == expected["stream"]


def test_standard_input_can_be_resumed_if_it_is_the_same(real_text: Path, tmp_path: Path, tokenize: Run) -> None:
    with real_text.open("rb") as file, RunningJob("-", "--out", tmp_path, *SLOW, stdin=file) as running:
        wait_until(lambda: started_writing(tmp_path))
        send(running.process.pid, signal.SIGINT)
        assert running.finish()[0] == 130
    other = tmp_path / "other.txt"
    other.write_bytes(b"x" * real_text.stat().st_size)
    with other.open("rb") as file:
        done = tokenize("-", "--out", tmp_path, stdin=file)
        assert done.code == 1
        assert "standard input differs from what the interrupted run has read" in error_of(done)
    with real_text.open("rb") as file:
        assert tokenize("-", "--out", tmp_path, stdin=file).code == 0
    assert tokenize(real_text, "--out", tmp_path / "whole").code == 0
    assert contents(tmp_path / "whole")["train.bin"] == (tmp_path / "train.bin").read_bytes()
