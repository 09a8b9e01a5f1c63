"""--val: other ways to choose the text for validation than units spread over the input."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memwatch.errors import UsageError
from memwatch.tokenize.run_inputs import run_inputs, shuffle_notes
from memwatch.tokenize.settings import Resources, TokenizeRequest, TokenizeSettings
from memwatch.tokenize.vocabulary import encoding_named, rank_file, reference
from tests.faults.jobs import contents
from tests.guard.processes import wait_until
from tests.helpers import HANG_S, Finished, error_of, memwatch
from tests.loaders.readers import MegatronDataset

END_OF_TEXT = 50256


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return [json.dumps({"text": f"{number} " + "word " * (number % 70)}) for number in range(12000)]


@pytest.fixture(scope="module")
def documents(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("val") / "docs.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments: object) -> Finished:
    return memwatch("run", "--ui", "none", "tokenize", *arguments, "--workers", 2)


def made(out: Path, *arguments: object) -> Path:
    done = run(*arguments, "--out", out)
    assert done.code == 0, done.err
    return out


def numbers(*paths: Path) -> list[int]:
    """Of the documents in files, by their first tokens. Every document begins with its number."""
    encoding = encoding_named("gpt2")
    decode = reference(encoding, rank_file(encoding)).decode
    tokens = np.concatenate([np.fromfile(path, "<u2") for path in paths])
    found = np.split(tokens, np.flatnonzero(tokens == END_OF_TEXT) + 1)[:-1]
    return [int(decode(piece[:8].tolist()).split()[0]) for piece in found]


def test_tail_is_the_last_share_of_the_input(documents: Path, tmp_path: Path) -> None:
    out = made(tmp_path, documents, "--val", "tail", "--val-ratio", "0.1")
    train, val = numbers(out / "train.bin"), numbers(out / "val.bin")
    assert train + val == list(range(12000))
    size = documents.stat().st_size
    val_bytes = sum(len(line) + 1 for line in documents.read_text().splitlines()[len(train) :])
    assert abs(val_bytes - 0.1 * size) < 1000
    ranges = json.loads((out / "manifest.json").read_text())["val_ranges"]
    assert ranges[0]["start"] == size - val_bytes
    assert ranges[-1]["end"] == size


def test_the_tail_of_several_files_may_begin_in_any_of_them(lines: list[str], tmp_path: Path) -> None:
    """Also where the last files are compressed: they are taken whole. Parquet counts in rows."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": [json.loads(line)["text"] for line in lines[:8000]]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1500, compression="none", use_dictionary=False)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[8000:]).encode()))
    whole = (tmp_path / "a.parquet").stat().st_size
    packed = (tmp_path / "b.jsonl.gz").stat().st_size
    inputs = (tmp_path / "a.parquet", tmp_path / "b.jsonl.gz")
    ratio = (whole / 4 + packed) / (whole + packed)
    out = made(tmp_path / "out", *inputs, "--val", "tail", "--val-ratio", ratio)
    train, val = numbers(out / "train.bin"), numbers(out / "val.bin")
    assert abs(len(train) - 6000) <= 1
    assert train + val == list(range(12000))
    # A tail that begins inside the compressed file cannot be found.
    done = run(*inputs, "--out", tmp_path / "no", "--val", "tail", "--val-ratio", 0.0001)
    assert done.code == 2
    assert "b.jsonl.gz, which is compressed, begins" in error_of(done)


def test_json_that_is_read_from_the_front_is_not_called_compressed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"text": "some text"}] * 50))
    with pytest.raises(UsageError, match=r"a.json, which is JSON, begins; .* or convert it to JSONL"):
        run_inputs(TokenizeRequest((str(path),), None, TokenizeSettings(val="tail", val_ratio="0.1"), Resources()))
    inputs, settings = run_inputs(TokenizeRequest((str(path),), None, TokenizeSettings(shuffle=1), Resources()))
    (note,) = shuffle_notes(settings, inputs)
    assert "a.json: a JSON file is read from the front" in note


def test_a_validation_file_is_left_out_of_a_pattern(lines: list[str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name, part in (("a", lines[:5000]), ("b", lines[5000:5500]), ("c", lines[5500:])):
        (data / f"{name}.jsonl").write_text("\n".join(part) + "\n")
    out = made(tmp_path / "out", f"{data}/*.jsonl", "--val", data / "b.jsonl")
    assert numbers(out / "val.bin") == list(range(5000, 5500))
    assert numbers(out / "train.bin") == [*range(5000), *range(5500, 12000)]
    done = run(data / "b.jsonl", "--out", tmp_path / "no", "--val", data / "b.jsonl")
    assert done.code == 2
    assert "nothing is left for training" in error_of(done)


def test_first_shard_has_the_first_tokens_as_other_scripts_do_it(documents: Path, tmp_path: Path) -> None:
    whole = made(tmp_path / "whole", documents, "--val-ratio", 0)
    tokens = np.fromfile(whole / "train.bin", "<u2")
    out = made(tmp_path / "out", documents, "--val", "first-shard", "--mode", "shard", "--shard-tokens", "50k")
    val = np.fromfile(out / "val.bin", "<u2")
    assert len(val) == 50_000
    shards = [np.fromfile(path, "<u2") for path in sorted(out.glob("train_shard_*.bin"))]
    assert np.array_equal(np.concatenate([val, *shards]), tokens)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["tokens"] == {"train": len(tokens) - 50_000, "val": 50_000}
    done = memwatch("verify", out, "--input", documents)
    assert done.code == 0, done.out + done.err


def test_a_ratio_beside_another_rule_is_refused(documents: Path, tmp_path: Path) -> None:
    done = run(documents, "--out", tmp_path, "--val", "first-shard", "--val-ratio", 0.1)
    assert done.code == 2
    assert "--val-ratio has no effect" in error_of(done)


RATIO = ("--val-ratio", "0.1")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--val", "tail", *RATIO), id="tail"),
        pytest.param(("--val", "first-shard"), id="first-shard"),
        pytest.param(("--format", "megatron", *RATIO), id="megatron"),
        pytest.param(("--index", "--format", "npy", *RATIO), id="index"),
    ],
)
def test_segments_and_ranks_make_the_same_files(documents: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """One rank, and two at the same time, of which one is killed; and all documents are there once."""
    for world_size in (1, 2):
        out = tmp_path / str(world_size)
        ranks = [start(documents, out, rank, world_size, *options) for rank in range(world_size)]
        if world_size > 1:
            kill_when_at_work(ranks.pop(), out)
        for rank in ranks:
            _, err = rank.communicate(timeout=HANG_S)
            assert rank.returncode == 0, err
        done = memwatch("verify", out, "--input", documents)
        assert done.code == 0, done.out + done.err
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    first = tmp_path / "1"
    if "npy" in options:
        starts = np.load(first / "docs_documents_v000000.npy")
        tokens = np.load(first / "docs_val_000000.npy")
        assert np.array_equal(starts, np.flatnonzero(tokens == END_OF_TEXT))
        return
    shards = sorted(first.glob("train_shard_*.bin"))
    assert len(shards) > 2
    train, val = numbers(*shards), numbers(first / "val.bin")
    assert sorted(train + val) == list(range(12000))
    if "--val" in options:
        assert (val + train if "first-shard" in options else train + val) == list(range(12000))
    else:
        for path in (*shards, first / "val.bin"):
            dataset = MegatronDataset(path.with_suffix(""))
            assert sum(dataset.lengths) == len(dataset.tokens)
            assert all(dataset[i][-1] == END_OF_TEXT for i in range(len(dataset)))


def start(inputs: Path, out: Path, rank: int, world_size: int, *options: str) -> "subprocess.Popen[str]":
    segments = ("--shard-by", "segment", "--segment-size", "300000", "--beat", "0.3", "--workers", "1")
    ranked = ("--rank", str(rank), "--world-size", str(world_size))
    command = [sys.executable, "-m", "memwatch.cluster", str(inputs), "--out", str(out), *segments, *ranked, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def kill_when_at_work(rank: "subprocess.Popen[str]", out: Path) -> None:
    wait_until(lambda: any(out.glob(".memwatch-partial/segments/*")) or rank.poll() is not None)
    if rank.poll() is None:
        os.killpg(rank.pid, signal.SIGKILL)
    rank.communicate(timeout=HANG_S)
