"""--bad-records, --bad-limit and --exact."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from memwatch.tokenize.blocks import BlockLayout
from memwatch.tokenize.inputs import json_records
from tests.helpers import Finished, error_of
from tests.tokenize.inputs.made import arrow_stream, json_array, jsonl, parquet, saved, table, tar
from tests.tokenize.inputs.test_quick_records import encoder

Run = Callable[..., Finished]
GOOD = [f"text {i}" for i in range(1000)]
BAD = [b'{"text": "torn\n', b'{"body": "x"}\n', b'{"text": 5}\n', b"[1]\n", b"rubbish\n"]


def with_bad_lines(lines: bytes) -> tuple[bytes, list[int]]:
    """The lines with bad ones among them, and the numbers of these."""
    found = lines.splitlines(keepends=True)
    numbers = []
    for i, bad in enumerate(BAD):
        found.insert(150 * i + 7, bad)
        numbers.append(150 * i + 8)
    return b"".join(found), numbers


MEMBERS = tar(("a.jsonl", jsonl(GOOD)), ("b.jsonl", with_bad_lines(jsonl(GOOD))[0]))


@pytest.mark.parametrize(
    ("name", "data", "listed"),
    [
        ("a.jsonl", with_bad_lines(jsonl(GOOD))[0], "a.jsonl"),
        ("a.jsonl.gz", gzip.compress(with_bad_lines(jsonl(GOOD))[0]), "a.jsonl.gz"),
        ("a.tar", MEMBERS, "a.tar:b.jsonl"),
    ],
)
@pytest.mark.parametrize("options", [("--block-size", "2k"), ("--shard-by", "segment", "--segment-size", "5k")])
def test_skipped_records_are_counted_and_listed_with_their_lines(
    name: str, data: bytes, listed: str, options: tuple[str, ...], tokenize: Run, tmp_path: Path
) -> None:
    path, out = saved(tmp_path, name, data), tmp_path / "out"
    done = tokenize(path, "--out", out, "--val-ratio", "0", "--bad-records", "skip", *options)
    assert done.code == 0, done.err
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["bad_records"]["skipped"] == 5
    _, numbers = with_bad_lines(jsonl(GOOD))
    found = [(each["file"], each["line"]) for each in manifest["bad_records"]["first"]]
    assert found == [(str(tmp_path / listed), number) for number in numbers]
    assert "is not JSON" in manifest["bad_records"]["first"][0]["problem"]
    assert "has no field 'text' (it has body)" in manifest["bad_records"]["first"][1]["problem"]


def test_what_is_left_is_the_output_of_the_good_records(tokenize: Run, tmp_path: Path) -> None:
    good = saved(tmp_path, "good.jsonl", jsonl(GOOD))
    mixed = saved(tmp_path, "mixed.jsonl", with_bad_lines(jsonl(GOOD))[0])
    for path in (good, mixed):
        assert tokenize(path, "--out", tmp_path / path.stem, "--val-ratio", "0", "--bad-records", "skip").code == 0
    assert (tmp_path / "good" / "train.bin").read_bytes() == (tmp_path / "mixed" / "train.bin").read_bytes()


LONG = "long " * 6_800_000
WITH_LONG = [*GOOD[:300], LONG, *GOOD[300:]]
LONG_INPUTS = {
    "a.jsonl": lambda: jsonl(WITH_LONG),
    "a.jsonl.gz": lambda: gzip.compress(jsonl(WITH_LONG), 1),
    "a.json": lambda: json_array(WITH_LONG),
    "lines.json": lambda: b"[\n" + jsonl(WITH_LONG)[:-1].replace(b"\n", b",\n") + b"]",
    "a.parquet": lambda: parquet(table(WITH_LONG), 500),
    "a.arrow": lambda: arrow_stream(table(WITH_LONG), 500),
}


BY_SEGMENT = ("--shard-by", "segment", "--segment-size", "5M")


@pytest.mark.parametrize(("name", "options"), [*((name, ()) for name in LONG_INPUTS), ("a.jsonl", BY_SEGMENT)])
def test_a_record_that_is_too_long_is_skipped(
    name: str, options: tuple[str, ...], tokenize: Run, tmp_path: Path, gpt2_reference: Callable[[str], list[int]]
) -> None:
    path = saved(tmp_path, name, LONG_INPUTS[name]())
    skip = ("--val-ratio", "0", "--bad-records", "skip", "--max-memory", "2G")
    done = tokenize(path, "--out", tmp_path / "out", *skip, *options)
    assert done.code == 0, done.err
    bad = json.loads((tmp_path / "out" / "manifest.json").read_text())["bad_records"]
    assert bad["first"] == [{"file": str(path), "line": 301, "problem": "is larger than 16.0 MiB"}]
    made = b"".join(each.read_bytes() for each in sorted((tmp_path / "out").glob("train*.bin")))
    wanted = [token for text in GOOD for token in (*gpt2_reference(text), 50256)]
    assert np.frombuffer(made, "<u2").tolist() == wanted


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_record_that_is_too_long_ends_a_run_that_skips_none(name: str, tokenize: Run, tmp_path: Path) -> None:
    done = tokenize(saved(tmp_path, name, LONG_INPUTS[name]()), "--max-memory", "2G")
    assert done.code == 1
    assert "larger than 16.0 MiB" in error_of(done)
    assert "--bad-records skip leaves it out" in error_of(done)


def test_broken_records_of_an_array_are_skipped_where_the_next_one_is_clear(tokenize: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"text": text}) for text in GOOD]
    lines[100] = '{"text": tru}'
    lines[200] = '{"text": "no quote}'
    lines[300] = '{"text": "no bracket", "more": {"a": 1}'
    lines[400] = '{"text": "NaN is fine", "score": NaN}'
    lines[500] = "5"
    path = saved(tmp_path, "a.json", ("[" + ",\n".join(lines) + "]").encode())
    done = tokenize(path, "--out", tmp_path / "out", "--val-ratio", "0", "--bad-records", "skip")
    assert done.code == 0, done.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [each["line"] for each in manifest["bad_records"]["first"]] == [101, 201, 301, 501]
    assert manifest["documents"] == len(GOOD) - 4
    lines[200] = lines[0]
    path = saved(tmp_path, "b.json", ("[" + ",".join(lines) + "]").encode())
    done = tokenize(path, "--out", tmp_path / "b", "--bad-records", "skip")
    assert done.code == 1
    assert "b.json is broken JSON: record 301 at byte" in error_of(done)


@pytest.mark.parametrize("read_bytes", range(64, 80))
def test_a_broken_record_at_the_end_of_what_was_read_takes_nothing_of_the_next(
    read_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_records, "READ_BYTES", read_bytes)
    records = [json.dumps({"text": f"text {i}"}).encode() for i in range(30)]
    records[1::3] = [b'{"text": tru}'] * 10
    source = io.BytesIO(b"[" + b", ".join(records) + b"]")
    reader = json_records.JsonRecords(source.read, "a.json")
    assert b"".join(iter(lambda: reader.read(1000), b"")).splitlines() == records


def test_a_long_record_at_the_end_is_counted_without_a_line_end() -> None:
    pieces = [(b'{"text": "lo', BlockLayout("jsonl", open_end=True)), (b'ng"}', BlockLayout("jsonl", continues=True))]
    counts = [encoder("text").encode(data, layout)[1] for data, layout in pieces]
    assert sum(each.records for each in counts) == 1
    assert [number for each in counts for number, _ in each.bad] == [1]


def test_too_many_bad_records_end_the_run_and_a_higher_limit_resumes_it(tokenize: Run, tmp_path: Path) -> None:
    path = saved(tmp_path, "a.jsonl", with_bad_lines(jsonl(GOOD[:300]) * 2)[0] * 3)
    command = (path, "--val-ratio", "0", "--bad-records", "skip", "--bad-limit", "0.001")
    done = tokenize(*command)
    assert done.code == 1
    assert "15 of 1815 records are bad, more than --bad-limit 0.001 allows; the first is line 8 of" in error_of(done)
    assert tokenize(*command[:-1], "0.01").code == 0


def test_rows_that_are_not_utf8_can_be_skipped(tokenize: Run, tmp_path: Path) -> None:
    column = pa.array([b"fine", b"not \xff", b"fine, too"] * 40, pa.binary())
    path = saved(tmp_path, "a.parquet", parquet(pa.table({"text": column}), 30))
    strict = (path, "--val-ratio", "0", "--errors", "strict")
    assert "bytes that are not UTF-8" in error_of(tokenize(*strict))
    assert tokenize(*strict, "--bad-records", "skip", "--bad-limit", "1/2").code == 0
    bad = json.loads((tmp_path / "manifest.json").read_text())["bad_records"]
    assert bad["skipped"] == 40
    assert [each["line"] for each in bad["first"]] == list(range(2, 120, 3))


def test_exact_refuses_an_inexact_cut_and_the_run_goes_on_without_it(tokenize: Run, tmp_path: Path) -> None:
    path = saved(tmp_path, "a.txt", b"some words\n" * 1000 + b"\xe0\xb8\x81" * 800_000 + b" and more words" * 1000)
    done = tokenize(path, "--val-ratio", "0", "--exact")
    assert done.code == 1
    assert f"{path} has no safe place to cut before byte" in error_of(done)
    assert "leave out --exact" in error_of(done)
    done = tokenize(path, "--val-ratio", "0")
    assert done.code == 0
    assert "inexact cuts" in done.out
    path.write_bytes(b"some words\n" * 1000)
    assert tokenize(path, "--val-ratio", "0", "--exact", "--force").code == 0
