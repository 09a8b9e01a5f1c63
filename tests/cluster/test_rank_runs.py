"""Many processes make one run, through nothing but a shared folder."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.rank_jobs import SEGMENT_BYTES, end_of, start_rank, sums
from tests.helpers import HANG_S, memwatch

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts ranks, and ends those that a failing test leaves."""
    started: list[subprocess.Popen[str]] = []

    def start_and_keep(*arguments: object, **options: object) -> "subprocess.Popen[str]":
        started.append(start_rank(*arguments, **options))  # type: ignore[arg-type]
        return started[-1]

    yield start_and_keep
    for rank in started:
        kill(rank)
        rank.communicate()


def kill(rank: "subprocess.Popen[str]") -> None:
    """The rank with its workers, as a node that loses power."""
    if rank.poll() is None:
        os.killpg(rank.pid, signal.SIGKILL)
        rank.wait()


@pytest.fixture(scope="module")
def alone(real_text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes."""
    out = tmp_path_factory.mktemp("alone")
    code, words = end_of(start_rank(real_text, out, 0, 1))
    assert code == 0, words
    return out


def wait_for_marks(out: Path, count: int) -> None:
    deadline = time.monotonic() + HANG_S
    while len(list(out.glob(".memwatch-partial/segments/*.json"))) < count:
        assert time.monotonic() < deadline, "no segment is done"
        time.sleep(0.02)


def test_the_shards_together_are_the_train_bin_of_stream_mode(real_text: Path, alone: Path, tmp_path: Path) -> None:
    done = memwatch("run", "--ui", "none", "tokenize", real_text, "--out", tmp_path, "--val-ratio", "0.01")
    assert done.code == 0, done.err
    shards = sorted(alone.glob("train_shard_*.bin"))
    assert len(shards) > 10
    assert b"".join(shard.read_bytes() for shard in shards) == (tmp_path / "train.bin").read_bytes()
    assert (alone / "val.bin").read_bytes() == (tmp_path / "val.bin").read_bytes()


def test_the_output_passes_verification(real_text: Path, alone: Path) -> None:
    done = memwatch("verify", alone, "--input", real_text)
    assert done.code == 0, done.out + done.err


def test_eight_ranks_of_which_three_are_killed_make_the_same_files(
    start: Start, real_text: Path, alone: Path, tmp_path: Path
) -> None:
    ranks = [start(real_text, tmp_path, number, 8) for number in range(8)]
    wait_for_marks(tmp_path, 2)
    for rank in ranks[1:4]:
        kill(rank)
    for rank in (ranks[0], *ranks[4:]):
        code, words = end_of(rank)
        assert code == 0, words
    assert sums(tmp_path) == sums(alone)


def test_a_run_is_resumed_by_another_number_of_ranks(
    start: Start, real_text: Path, alone: Path, tmp_path: Path
) -> None:
    ranks = [start(real_text, tmp_path, number, 3) for number in range(3)]
    wait_for_marks(tmp_path, 3)
    for rank in ranks:
        kill(rank)
    marks = tmp_path.glob(".memwatch-partial/segments/*.json")
    made = [tmp_path / json.loads(mark.read_text())["train"]["name"] for mark in marks]
    before = {path: path.stat().st_mtime_ns for path in made}
    ranks = [start(real_text, tmp_path, number, 2) for number in range(2)]
    for rank in ranks:
        code, words = end_of(rank)
        assert code == 0, words
    assert sums(tmp_path) == sums(alone)
    assert {path: path.stat().st_mtime_ns for path in made} == before, "a finished segment was made again"


def test_two_commands_at_once_do_no_harm_and_say_so(start: Start, real_text: Path, alone: Path, tmp_path: Path) -> None:
    ends = [end_of(rank) for rank in [start(real_text, tmp_path, 0, 1), start(real_text, tmp_path, 0, 1)]]
    assert [code for code, _ in ends] == [0, 0], ends
    assert any("another process" in words for _, words in ends)
    assert sums(tmp_path) == sums(alone)


def test_a_rank_that_was_stopped_while_others_finished_makes_nothing_again(
    start: Start, real_text: Path, alone: Path, tmp_path: Path
) -> None:
    # GIVEN a rank that is stopped in the middle of its stripe, as by a pause of its guard
    stopped = start(real_text, tmp_path, 1, 2)
    wait_for_marks(tmp_path, 2)
    os.killpg(stopped.pid, signal.SIGSTOP)
    # WHEN another finishes the run, and the first one continues
    code, words = end_of(start(real_text, tmp_path, 0, 2))
    assert code == 0, words
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("train_shard_*.bin")}
    os.killpg(stopped.pid, signal.SIGCONT)
    # THEN it ends, and at most the segment that it had begun is made again
    code, words = end_of(stopped)
    assert code == 0, words
    assert "repeated" not in words
    assert sums(tmp_path) == sums(alone)
    again = {path.name for path, written_ns in before.items() if path.stat().st_mtime_ns != written_ns}
    assert len(again) <= 1, again


def test_attach_shows_the_processes_through_the_folder(start: Start, real_text: Path, tmp_path: Path) -> None:
    # GIVEN a run that is not over before somebody has looked
    text, out = tmp_path / "text.txt", tmp_path / "out"
    text.write_bytes(real_text.read_bytes() * 10)
    rank = start(text, out, 0, 2)
    wait_for_marks(out, 1)
    done = memwatch("attach", out)
    assert done.code == 0, done.err
    assert "segments" in done.out
    assert "rank 0 of 2  1 worker" in done.out
    assert done.out.rstrip().endswith("is complete")
    assert end_of(rank)[0] == 0


def test_a_late_rank_finds_the_run_complete(start: Start, real_text: Path, alone: Path) -> None:
    before = (alone / "manifest.json").read_bytes()
    code, words = end_of(start(real_text, alone, 3, 4))
    assert code == 0, words
    assert (alone / "manifest.json").read_bytes() == before


def test_another_run_into_finished_output_is_refused(start: Start, real_text: Path, alone: Path) -> None:
    code, words = end_of(start(real_text, alone, 0, 1, "--documents", "line"))
    assert code == 1
    assert "--force" in words


def test_changed_settings_and_inputs_are_refused_by_name(start: Start, real_text: Path, tmp_path: Path) -> None:
    source = tmp_path / "text.txt"
    source.write_bytes(real_text.read_bytes())
    rank = start(source, tmp_path / "out", 0, 1)
    wait_for_marks(tmp_path / "out", 1)
    kill(rank)
    code, words = end_of(start(source, tmp_path / "out", 0, 1, "--documents", "line"))
    assert code == 1
    assert "--documents" in words
    with source.open("ab") as file:
        file.write(b"more")
    code, words = end_of(start(source, tmp_path / "out", 1, 2))
    assert code == 1
    assert "text.txt had" in words


def test_fresh_is_refused_while_others_work(start: Start, real_text: Path, tmp_path: Path) -> None:
    code, words = end_of(start(real_text, tmp_path, 0, 2, "--fresh"))
    assert code == 2
    assert "--world-size 1" in words


def test_sigterm_ends_a_rank_and_its_workers(start: Start, real_text: Path, tmp_path: Path) -> None:
    rank = start(real_text, tmp_path, 0, 1)
    wait_for_marks(tmp_path, 1)
    os.kill(rank.pid, signal.SIGTERM)
    code, words = end_of(rank)
    assert code == 128 + signal.SIGTERM, words
    assert "repeat the same command" in words
    with pytest.raises(ProcessLookupError):
        os.killpg(rank.pid, 0)


def test_a_killed_worker_is_replaced(start: Start, real_text: Path, alone: Path, tmp_path: Path) -> None:
    rank = start(real_text, tmp_path, 0, 1)
    wait_for_marks(tmp_path, 1)
    children = Path(f"/proc/{rank.pid}/task/{rank.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    code, words = end_of(rank)
    assert code == 0, words
    assert sums(tmp_path) == sums(alone)


def test_a_segment_that_cannot_be_made_is_named_and_the_others_finish(start: Start, tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    record = json.dumps({"text": "word " * 200}) + "\n"
    source.write_text(record * 900 + "not json\n" + record * 600)
    code, words = end_of(start(source, tmp_path / "out", 0, 1))
    assert code == 1
    assert "segment 1 of 4 failed" in words
    assert "line 901" in words
    assert len(list(tmp_path.glob("out/.memwatch-partial/segments/*.json"))) == 3


def test_slurm_gives_the_rank(real_text: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    options = ("--shard-by", "segment", "--segment-size", SEGMENT_BYTES, "--val-ratio", "0.01", "--beat", "0.3")
    done = memwatch("run", "--ui", "none", "tokenize", real_text, "--out", tmp_path, *options, "--workers", "1")
    assert done.code == 0, done.err
    assert sums(tmp_path) == sums(alone)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [node[:5] for node in manifest["nodes"]] == ["00001"]
