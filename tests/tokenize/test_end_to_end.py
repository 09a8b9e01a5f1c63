"""`memwatch run tokenize` as a user runs it: modes, formats, inputs, the manifest, and verify."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memwatch.tokenize.vocabulary import encoding_named, rank_file, reference
from tests.helpers import HANG_S, Finished, error_of, memwatch, read_tokens

Run = Callable[..., Finished]
EXACT = ("--val-ratio", "0", "--documents", "none")
END_OF_TEXT = 50256


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("train_shard_*.bin"))


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--engine", "tiktoken"),
        ("--workers", 1),
        ("--workers", 3, "--block-size", "100k"),
        ("--block-size", "7777"),
        ("--mode", "memory"),
    ],
    ids=lambda options: " ".join(map(str, options)) or "defaults",
)
def test_output_is_exact(
    options: tuple[object, ...], tokenize: Run, real_text: Path, real_tokens: np.ndarray, tmp_path: Path
) -> None:
    done = tokenize(real_text, "--out", tmp_path, *EXACT, *options)
    assert done.code == 0, done.err
    assert np.array_equal(read_tokens(tmp_path / "train.bin"), real_tokens)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["manifest.json", "train.bin"]


def test_shards_put_together_are_the_stream(
    tokenize: Run, real_text: Path, real_tokens: np.ndarray, tmp_path: Path
) -> None:
    done = tokenize(real_text, "--out", tmp_path, *EXACT, "--mode", "shard", "--shard-tokens", "500k")
    assert done.code == 0, done.err
    assert np.array_equal(np.concatenate([read_tokens(path) for path in shards(tmp_path)]), real_tokens)
    sizes = [len(read_tokens(path)) for path in shards(tmp_path)]
    assert sizes[:-1] == [500_000] * (len(sizes) - 1)
    assert 0 < sizes[-1] <= 500_000
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [f["name"] for f in manifest["files"]] == [p.name for p in shards(tmp_path)]


def test_the_split_is_the_same_for_every_engine_mode_and_number_of_workers(
    tokenize: Run, real_text: Path, tmp_path: Path
) -> None:
    ways = [
        (),
        ("--engine", "tiktoken", "--workers", 1),
        ("--mode", "shard", "--shard-tokens", "1M"),
        ("--block-size", "50k"),
    ]
    found = set()
    for i, options in enumerate(ways):
        folder = tmp_path / str(i)
        assert tokenize(real_text, "--out", folder, "--val-ratio", "0.02", *options).code == 0
        train = b"".join(path.read_bytes() for path in sorted(folder.glob("train*.bin")))
        found.add((hashlib.sha256(train).hexdigest(), (folder / "val.bin").read_bytes()))
    assert len(found) == 1
    ranges = json.loads((tmp_path / "0" / "manifest.json").read_text())["val_ranges"]
    share = sum(each["end"] - each["start"] for each in ranges) / real_text.stat().st_size
    assert share == pytest.approx(0.02, rel=0.1)


def test_nanogpt_can_read_the_output(tokenize: Run, real_text: Path, tmp_path: Path) -> None:
    """As nanoGPT's train.py does in get_batch."""
    assert tokenize(real_text, "--out", tmp_path, "--val-ratio", "0.01").code == 0
    for name in ("train.bin", "val.bin"):
        data = np.memmap(tmp_path / name, dtype=np.uint16, mode="r")
        starts = np.random.default_rng(1).integers(0, len(data) - 256, 8)
        batch = np.stack([data[i : i + 256].astype(np.int64) for i in starts])
        assert batch.shape == (8, 256)
        assert batch.max() < 50257


def test_llm_c_can_read_the_output(tokenize: Run, real_text: Path, real_tokens: np.ndarray, tmp_path: Path) -> None:
    """As llm.c's dataloader checks a shard: magic, version, and the size that the count promises."""
    done = tokenize(real_text, "--out", tmp_path, "--format", "llmc", "--shard-tokens", "1M", "--val-ratio", "0")
    assert done.code == 0, done.err
    names = sorted(p.name for p in tmp_path.glob("*.bin"))
    assert names[0] == "real_train_000001.bin"
    found = []
    for name in names:
        header = np.fromfile(tmp_path / name, dtype=np.int32, count=256)
        assert header[0] == 20240520
        assert header[1] == 1
        assert (tmp_path / name).stat().st_size == 1024 + 2 * header[2]
        found.append(read_tokens(tmp_path / name, offset=1024))
    assert np.array_equal(np.concatenate(found), real_tokens)


def test_build_nanogpt_can_read_the_output(
    tokenize: Run, real_text: Path, real_tokens: np.ndarray, tmp_path: Path
) -> None:
    assert (
        tokenize(real_text, "--out", tmp_path, "--format", "npy", "--shard-tokens", "1M", "--val-ratio", "0").code == 0
    )
    found = [np.load(path) for path in sorted(tmp_path.glob("real_train_*.npy"))]
    assert len(found) > 1
    assert found[0].dtype == np.uint16
    assert np.array_equal(np.concatenate(found), real_tokens)


def test_a_large_vocabulary_is_written_in_32_bits(tokenize: Run, real_text: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.txt"
    small.write_bytes(real_text.read_bytes()[:500_000])
    assert tokenize(small, "--encoding", "cl100k_base", "--val-ratio", "0").code == 0
    encoding = encoding_named("cl100k_base")
    expected = reference(encoding, rank_file(encoding)).encode_ordinary(small.read_text())
    assert read_tokens(tmp_path / "train.bin", "<u4").tolist() == expected
    assert json.loads((tmp_path / "manifest.json").read_text())["dtype"] == "uint32"


RECORDS = [f"Document {i}: it's about {'日本語 ' * (i % 7)}things.\n\n" * (1 + i % 50) for i in range(2000)]


@pytest.fixture(scope="module")
def record_tokens(gpt2_reference: Callable[[str], list[int]]) -> list[int]:
    return [t for text in RECORDS for t in (*gpt2_reference(text), END_OF_TEXT)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.gz", "a.jsonl.zst", "a.parquet", "a.data"])
def test_records_are_documents(name: str, tokenize: Run, record_tokens: list[int], tmp_path: Path) -> None:
    path = tmp_path / name
    lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(RECORDS)).encode()
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"id": range(len(RECORDS)), "text": RECORDS}), path, row_group_size=300)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines))
    elif name.endswith(".zst"):
        from backports import zstd

        path.write_bytes(zstd.compress(lines))
    else:
        path.write_bytes(lines)
    done = tokenize(path, "--val-ratio", "0", "--block-size", "64k")
    assert done.code == 0, done.err
    assert read_tokens(tmp_path / "train.bin").tolist() == record_tokens
    assert json.loads((tmp_path / "manifest.json").read_text())["documents"] == len(RECORDS)


def test_several_files_and_patterns_are_read_in_order(
    tokenize: Run, gpt2_reference: Callable[[str], list[int]], tmp_path: Path
) -> None:
    texts = {"b1.txt": "first file ", "b2.txt": "second file", "a.txt": "last file\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert tokenize(tmp_path / "b*.txt", tmp_path / "a.txt", "--out", tmp_path / "out", *EXACT).code == 0
    expected = [t for name in ("b1.txt", "b2.txt", "a.txt") for t in gpt2_reference(texts[name])]
    assert read_tokens(tmp_path / "out" / "train.bin").tolist() == expected


def test_standard_input_is_an_input(tokenize: Run, real_text: Path, real_tokens: np.ndarray, tmp_path: Path) -> None:
    with real_text.open("rb") as file:
        done = tokenize("-", "--out", tmp_path, *EXACT, stdin=file)
    assert done.code == 0, done.err
    assert np.array_equal(read_tokens(tmp_path / "train.bin"), real_tokens)


def test_a_slow_pipe_is_an_input(gpt2_reference: Callable[[str], list[int]], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memwatch", "run", "tokenize", "-", "--out", str(tmp_path), *EXACT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        for word in ("one ", "two ", "three"):
            process.stdin.write(word.encode())
            process.stdin.flush()
        process.stdin.close()
        assert process.wait(HANG_S) == 0
    assert read_tokens(tmp_path / "train.bin").tolist() == gpt2_reference("one two three")


def test_the_manifest_says_what_was_made_from_what(tokenize: Run, real_text: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(b"\xff\xfe bad bytes, then text. " + real_text.read_bytes()[:3_000_000])
    assert tokenize(source, "--out", tmp_path / "out", "--val-ratio", "0.01", "--errors", "replace").code == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    (described,) = manifest["inputs"]
    assert described["path"] == str(source)
    assert described["size_bytes"] == source.stat().st_size
    assert described["modified_ns"] == source.stat().st_mtime_ns
    for record in manifest["files"]:
        data = (tmp_path / "out" / record["name"]).read_bytes()
        assert record["size_bytes"] == len(data) == 2 * record["tokens"]
        assert record["sha256"] == hashlib.sha256(data).hexdigest()
    assert manifest["tokens"] == {r["split"]: r["tokens"] for r in manifest["files"]}
    assert manifest["replaced_bytes"] == 2
    assert manifest["inexact_cuts"] == 0
    assert manifest["engine"].startswith("gigatoken ")
    assert manifest["seconds"] > 0
    assert 20 << 20 < manifest["peak_rss_bytes"] < 512 << 20
    val = sum(r["end"] - r["start"] for r in manifest["val_ranges"])
    assert val == pytest.approx(0.01 * source.stat().st_size, rel=0.1)
    # The ranges really are what went to val.bin.
    encoding = encoding_named("gpt2")
    encode = reference(encoding, rank_file(encoding)).encode_ordinary
    data = source.read_bytes()
    text = [data[r["start"] : r["end"]].decode() for r in manifest["val_ranges"]]
    assert read_tokens(tmp_path / "out" / "val.bin").tolist() == [t for part in text for t in encode(part)]


@pytest.mark.parametrize("options", [(), ("--mode", "shard", "--shard-tokens", "300k"), ("--format", "llmc")])
def test_verify_finds_nothing_wrong_with_a_good_run(
    options: tuple[str, ...], tokenize: Run, real_text: Path, tmp_path: Path
) -> None:
    assert tokenize(real_text, "--out", tmp_path, *options, "--documents", "blank", "--val-ratio", "0.02").code == 0
    done = memwatch("verify", tmp_path, "--input", real_text)
    assert (done.code, "match tiktoken" in done.out) == (0, True), done.out + done.err


def test_verify_finds_what_is_wrong(tokenize: Run, real_text: Path, tmp_path: Path) -> None:
    good = tmp_path / "good"
    assert tokenize(real_text, "--out", good, "--mode", "shard", "--shard-tokens", "1M").code == 0

    def flip_a_bit(folder: Path) -> None:
        data = bytearray((folder / "train_shard_0001.bin").read_bytes())
        data[1000] ^= 1
        (folder / "train_shard_0001.bin").write_bytes(data)

    def cut_short(folder: Path) -> None:
        os.truncate(folder / "val.bin", 10)

    def lose_a_file(folder: Path) -> None:
        (folder / "train_shard_0000.bin").unlink()

    def forge(folder: Path) -> None:
        """Wrong tokens, and a manifest that agrees with them: only the input tells."""
        tokens = read_tokens(folder / "train_shard_0000.bin")
        tokens[:] = 11
        tokens.tofile(folder / "train_shard_0000.bin")
        manifest = json.loads((folder / "manifest.json").read_text())
        data = (folder / "train_shard_0000.bin").read_bytes()
        manifest["files"][0]["sha256"] = hashlib.sha256(data).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))

    for damage, word in [
        (flip_a_bit, "SHA-256 differs"),
        (cut_short, "bytes"),
        (lose_a_file, "cannot read"),
        (forge, "tiktoken"),
    ]:
        folder = tmp_path / damage.__name__
        shutil.copytree(good, folder)
        damage(folder)
        done = memwatch("verify", folder, "--input", real_text)
        assert done.code == 3, (damage.__name__, done)
        assert word in done.out


def test_verify_says_when_there_is_nothing_to_verify(tmp_path: Path) -> None:
    done = memwatch("verify", tmp_path)
    assert done.code == 1
    assert "holds no finished output" in error_of(done)


def test_finished_output_is_not_overwritten_without_force(tokenize: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("one two three")
    assert tokenize(source, "--mode", "shard").code == 0
    before = (tmp_path / "train_shard_0000.bin").read_bytes()
    done = tokenize(source)
    assert done.code == 1
    assert "--force" in error_of(done)
    assert (tmp_path / "train_shard_0000.bin").read_bytes() == before
    # With --force, what the earlier run made and this one does not make is gone.
    assert tokenize(source, "--force").code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "manifest.json", "train.bin", "val.bin"]


def test_progress_is_reported_as_lines(tokenize: Run, real_text: Path, tmp_path: Path) -> None:
    done = tokenize(real_text, "--out", tmp_path, "--engine", "tiktoken", "--workers", 1, *EXACT)
    lines = [line for line in done.err.splitlines() if " %  " in line]
    assert len(lines) >= 2, done.err
    assert "tokens" in lines[0]
    assert "100.0 %" in lines[-1]
    assert "ETA" in lines[-1]


def test_plain_output_goes_to_standard_error_only(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three")
    done = memwatch("run", "--ui", "none", "tokenize", tmp_path / "a.txt")
    assert (done.code, done.err) == (0, "")
    assert "train.bin" in done.out


def test_force_replaces_what_memwatch_made_and_nothing_else(tokenize: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("one two three")
    assert tokenize(source, "--mode", "shard").code == 0
    for name in ("train_shard_notes.bin", "train_shard_0000.bin.bak", "val.bin.old"):
        (tmp_path / name).write_text("mine")
    # In another format too, the files of the earlier run go: its manifest names them.
    assert tokenize(source, "--force", "--format", "npy").code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "a.txt",
        "a_train_000001.npy",
        "a_val_000000.npy",
        "manifest.json",
        "train_shard_0000.bin.bak",
        "train_shard_notes.bin",
        "val.bin.old",
    ]


@pytest.mark.parametrize("name", ["train.bin", "train_shard_0000.bin"])
def test_an_input_is_never_taken_for_old_output(name: str, tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text("one two three")
    done = tokenize(tmp_path / name, "--force")
    assert done.code == 2
    assert "choose another --out" in error_of(done)
    assert (tmp_path / name).read_text() == "one two three"


def test_a_foreign_manifest_is_left_alone(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three")
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}')
    done = tokenize(tmp_path / "a.txt", "--force")
    assert done.code == 1
    assert "not a manifest of this version of memwatch" in error_of(done)
    assert (tmp_path / "manifest.json").read_text() == '{"name": "a web app"}'


def test_a_long_first_record_from_a_pipe_is_still_a_record(
    tokenize: Run, gpt2_reference: Callable[[str], list[int]], tmp_path: Path
) -> None:
    text = "long words " * 30_000
    source = tmp_path / "records"
    source.write_text(json.dumps({"text": text}) + "\n")
    with source.open("rb") as file:
        assert tokenize("-", "--out", tmp_path / "1", "--val-ratio", "0", stdin=file).code == 0
    assert tokenize(source, "--out", tmp_path / "2", "--val-ratio", "0").code == 0
    for folder in ("1", "2"):
        assert read_tokens(tmp_path / folder / "train.bin").tolist() == [*gpt2_reference(text), END_OF_TEXT]


def test_closed_streams_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three")
    command = f"{sys.executable} -m memwatch run tokenize"
    for i, line in enumerate(
        [f"{command} a.txt --out 0 2>&-", f"{command} a.txt --out 1 >&-", f"{command} a.txt --out 2 <&-"]
    ):
        assert subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, timeout=HANG_S).returncode == 0
        assert (tmp_path / str(i) / "train.bin").exists()
    done = subprocess.run(
        f"{command} - --out 3 <&-", shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 1
    assert "standard input is empty" in done.stderr


def test_a_cache_is_not_needed(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three")
    below_a_file = str(tmp_path / "a.txt" / "nowhere")
    done = tokenize(tmp_path / "a.txt", env={**os.environ, "XDG_CACHE_HOME": below_a_file})
    assert done.code == 0, done.err


def test_a_damaged_manifest_is_reported_in_one_sentence(tokenize: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two three")
    assert tokenize(tmp_path / "a.txt").code == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["files"][0]["sha256"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    done = memwatch("verify", tmp_path)
    assert done.code == 1
    assert "is damaged" in error_of(done)
