"""Runs that read from a bucket and write to one."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memwatch.storage.store import store_of
from tests.cluster.rank_jobs import end_of, start_rank, sums
from tests.helpers import HANG_S, error_of, memwatch
from tests.storage.conftest import bucket_of
from tests.storage.s3_server import BUCKET, Faults, environment, running_proxy


@pytest.fixture
def inputs(real_text: Path, tmp_path: Path) -> Path:
    """One input of each kind."""
    folder = tmp_path / "in"
    folder.mkdir()
    text = real_text.read_bytes()[:1_500_000]
    documents = text.decode("utf-8", "ignore").split("\n\n")
    (folder / "a.txt").write_bytes(text)
    (folder / "b.jsonl").write_text("".join(json.dumps({"text": document}) + "\n" for document in documents))
    table = pa.table({"text": documents, "number": list(range(len(documents)))})
    pq.write_table(table, folder / "c.parquet", row_group_size=1000)
    (folder / "d.txt.gz").write_bytes(gzip.compress(text[:300_000]))
    return folder


@pytest.fixture
def bucket(s3_port: int, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the same inputs behind a store that fails now and then."""
    faults = Faults(error_share=0.03, cut_share=0.03, slow_share=0.03)
    with running_proxy(s3_port, faults) as port:
        for name, value in environment(port).items():
            monkeypatch.setenv(name, value)
        store_of.__globals__["_bucket"].cache_clear()
        address = f"s3://{BUCKET}/{tmp_path.name}"
        for path in inputs.iterdir():
            store_of(address).put(f"{address}/in/{path.name}", path.read_bytes())
        yield address
        assert faults.harmed > 0


def downloaded(address: str, folder: Path) -> Path:
    folder.mkdir()
    for info in store_of(address).list_folder(address):
        name = info.address.removeprefix(address).lstrip("/")
        if name.startswith(".memwatch-journals"):
            continue
        assert "/" not in name, f"{name} is left"
        (folder / name).write_bytes(store_of(address).read(info.address))
    return folder


def test_a_failing_bucket_gives_the_files_of_a_local_run(bucket: str, inputs: Path, tmp_path: Path) -> None:
    local = start_rank(inputs / "*", tmp_path / "local", 0, 1)
    remote = start_rank(f"{bucket}/in/*", f"{bucket}/out", 0, 1)
    for rank in (local, remote):
        code, words = end_of(rank)
        assert code == 0, words
    assert sums(downloaded(f"{bucket}/out", tmp_path / "remote")) == sums(tmp_path / "local")
    manifest = (tmp_path / "remote" / "manifest.json").read_text()
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in manifest
    assert os.environ["AWS_ACCESS_KEY_ID"] not in manifest


@pytest.mark.parametrize("mode", ["stream", "memory", "shard"])
def test_a_local_run_reads_a_failing_bucket_in_every_mode(bucket: str, inputs: Path, tmp_path: Path, mode: str) -> None:
    """All kinds of input at once; the same files as from a folder."""
    options = ("--mode", mode, "--val-ratio", "0.01", *(("--shard-tokens", "100000") if mode == "shard" else ()))
    for source, out in ((f"{bucket}/in/*", tmp_path / "there"), (inputs / "*", tmp_path / "here")):
        done = memwatch("run", "--ui", "none", "tokenize", source, "--out", out, *options)
        assert done.code == 0, done.err
    assert sums(tmp_path / "there") == sums(tmp_path / "here")
    assert ("train.bin" in sums(tmp_path / "there")) == (mode != "shard")


def test_a_killed_local_run_from_a_bucket_is_resumed(bucket: str, inputs: Path, tmp_path: Path) -> None:
    options = ("--val-ratio", "0.01", "--out", str(tmp_path / "there"))
    command = [sys.executable, "-m", "memwatch.tokenize", f"{bucket}/in/*", *options]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + HANG_S
    while not list(tmp_path.glob("there/.memwatch-partial/*.part")) and run.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    done = memwatch("run", "--ui", "none", "tokenize", f"{bucket}/in/*", *options)
    assert done.code == 0, done.err
    local = memwatch("run", "--ui", "none", "tokenize", inputs / "*", "--val-ratio", "0.01", "--out", tmp_path / "here")
    assert local.code == 0, local.err
    assert sums(tmp_path / "there") == sums(tmp_path / "here")


def test_estimate_reads_a_bucket(bucket: str, inputs: Path) -> None:
    there = memwatch("estimate", "--json", f"{bucket}/in/*")
    here = memwatch("estimate", "--json", inputs / "*")
    assert there.code in (0, 3), there.err
    # It is read in the same time, and less of it is seen.
    tokens = json.loads(here.out)["tokens"]["estimate"]
    assert 0.7 * tokens < json.loads(there.out)["tokens"]["estimate"] < 1.4 * tokens


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_plain_run_into_a_bucket_of_each_kind_makes_shards_and_says_so(
    scheme: str, inputs: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{bucket_of(scheme, request, monkeypatch)}/{tmp_path.name}"
    store_of(address).put(f"{address}/in/a.txt", (inputs / "a.txt").read_bytes())
    there = memwatch("run", "--ui", "plain", "tokenize", f"{address}/in/*.txt", "--out", f"{address}/out")
    assert there.code == 0, there.err
    assert "makes a shard for each segment" in there.err
    here = memwatch("run", "--ui", "none", "tokenize", inputs / "a.txt", "--out", tmp_path / "here")
    assert here.code == 0, here.err
    made = sums(downloaded(f"{address}/out", tmp_path / "there"))
    assert (tmp_path / "there" / "train_shard_0000.bin").read_bytes() == (tmp_path / "here/train.bin").read_bytes()
    assert set(made) == {"train_shard_0000.bin", "val.bin"}
    matching = memwatch("verify", f"{address}/out", "--input", f"{address}/in/a.txt")
    assert matching.code == 0, matching.out + matching.err
    assert "sampled tokens: match" in matching.out
    shard = f"{address}/out/train_shard_0000.bin"
    store_of(address).put(shard, bytes([255]) + store_of(address).read(shard, 1))
    damaged = memwatch("verify", f"{address}/out")
    assert damaged.code == 3
    assert damaged.out == f"{shard} has changed: its SHA-256 differs from the manifest\n"
    store_of(address).remove(shard)
    assert f"cannot read {shard}: No such object" in memwatch("verify", f"{address}/out").out


def test_a_bucket_that_does_not_exist_is_one_sentence(s3_environment: int, inputs: Path) -> None:
    for command in (
        ("run", "--ui", "none", "tokenize", inputs / "a.txt", "--out", "s3://no-such-bucket/x"),
        ("run", "--ui", "none", "tokenize", "s3://no-such-bucket/*.txt", "--out", f"s3://{BUCKET}/x"),
    ):
        done = memwatch(*command)
        assert done.code == 1
        assert "there is no such bucket" in error_of(done)


@pytest.mark.parametrize("options", [("--mode", "stream"), ("--shard-by", "tokens")])
def test_what_a_bucket_cannot_do_is_a_usage_error(options: tuple[str, ...], s3_environment: int) -> None:
    done = memwatch("run", "--ui", "none", "tokenize", "x", "--out", f"s3://{BUCKET}/x", *options)
    assert done.code == 2
    assert options[1] in error_of(done)


def test_a_credential_in_an_address_is_refused_before_anything_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for address in ("s3://KEY:topsecret@bucket/x", "s3://bucket/x?X-Amz-Signature=topsecret"):
        done = memwatch("run", "--ui", "plain", "tokenize", address)
        assert done.code == 2
        assert "topsecret" not in done.err
        assert "environment" in error_of(done)
    assert not any(b"topsecret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_an_object_that_is_missing_is_one_sentence(s3_environment: int) -> None:
    store_of.__globals__["_bucket"].cache_clear()
    done = memwatch("run", "--ui", "none", "tokenize", f"s3://{BUCKET}/nothing.txt", "--out", f"s3://{BUCKET}/o")
    assert done.code == 1
    assert "no such object" in error_of(done)
    done = memwatch("run", "--ui", "none", "tokenize", f"s3://{BUCKET}/nothing/*", "--out", f"s3://{BUCKET}/o")
    assert "no object matches" in error_of(done)
