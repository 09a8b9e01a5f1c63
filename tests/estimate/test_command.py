"""memwatch estimate, as a user and as a program meet it."""

import gzip
import json
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwatch.estimate.needs import JobMemory, JobSpeed, OutputDisk
from memwatch.estimate.outlook import Outlook
from memwatch.estimate.report import as_lines
from memwatch.estimate.sampling import Sampled
from memwatch.model.python_list import ListScript
from memwatch.model.ranges import Range
from memwatch.model.units import GIB, MIB
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.vocabulary import encoding_named
from tests.helpers import Finished, error_of, memwatch, read_tokens
from tests.texts import code, prose, repeated, shuffled

RANGE = {"estimate", "low", "high"}
PROMISED = {
    "inputs": None,
    "bytes": None,
    "tokens": RANGE,
    "bytes_per_token": None,
    "dtype": None,
    "output_bytes": None,
    "ram": {"stream", "shard", "memory", "list"},
    "memory": {"total", "available", "swap_total", "limit"},
    "disk_free_bytes": None,
    "seconds": RANGE,
    "list_script": {"bytes_per_token", "swaps_at_tokens", "dies_at_tokens", "seconds"},
    "verdict": None,
    "advice": None,
}


def estimated(*arguments: object, **options: Any) -> dict[str, Any]:
    finished = memwatch("estimate", "--json", *arguments, **options)
    assert finished.code == 0, finished.err
    found: dict[str, Any] = json.loads(finished.out)
    return found


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(shuffled([prose(), code()], 18_000_000, random.Random(1)))
    return path


def test_the_json_has_what_was_promised(text: Path) -> None:
    found = estimated(text)
    for key, inner in PROMISED.items():
        assert key in found
        assert inner is None or inner <= set(found[key]), key
    assert found["bytes"] == text.stat().st_size
    assert found["dtype"] == "uint16"
    assert found["verdict"] == "safe"
    assert found["advice"] == f"memwatch run tokenize {text}"
    assert found["tokens"]["low"] < found["tokens"]["estimate"] < found["tokens"]["high"]
    assert found["output_bytes"] == 2 * found["tokens"]["estimate"]
    assert found["ram"]["stream"] == found["ram"]["shard"] < found["ram"]["memory"]
    assert found["ram"]["list"] > 10 * found["output_bytes"]
    assert 8 < found["list_script"]["bytes_per_token"] < 42
    assert found["seconds"]["low"] < found["seconds"]["estimate"] < found["seconds"]["high"]


@pytest.fixture
def small(real_text: Path, tmp_path: Path) -> Path:
    path = tmp_path / "real.txt"
    path.write_bytes(real_text.read_bytes()[:600_000])
    return path


def test_a_small_file_gets_the_tokens_that_the_job_makes(small: Path, tmp_path: Path) -> None:
    found = estimated(small, "--out", tmp_path)
    assert found["exact"]
    assert found["tokens"]["low"] == found["tokens"]["estimate"] == found["tokens"]["high"]
    assert memwatch("run", "--no-record", "tokenize", small, "--out", tmp_path).code == 0
    made = sum(len(read_tokens(tmp_path / name)) for name in ("train.bin", "val.bin"))
    assert found["tokens"]["estimate"] == made
    assert found["output_bytes"] == sum((tmp_path / name).stat().st_size for name in ("train.bin", "val.bin"))


@pytest.mark.parametrize("kind", ["llmc", "npy"])
def test_the_size_of_other_formats_is_right_to_the_byte(kind: str, small: Path, tmp_path: Path) -> None:
    found = estimated(small, "--out", tmp_path, "--format", kind)
    assert memwatch("run", "--no-record", "tokenize", small, "--out", tmp_path, "--format", kind).code == 0
    made = [path.stat().st_size for path in tmp_path.iterdir() if path.name.startswith("real_")]
    assert found["output_bytes"] == sum(made)


def test_options_that_change_the_output_are_in_the_advice(real_text: Path, tmp_path: Path) -> None:
    found = estimated(real_text, "--encoding", "cl100k_base", "--out", tmp_path / "my data", "--workers", "1")
    assert found["dtype"] == "uint32"
    assert found["advice"] == (
        f"memwatch run tokenize {real_text} --out '{tmp_path}/my data' --encoding cl100k_base --workers 1"
    )


def test_many_files_have_a_line_each_and_a_total(text: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(prose()))
    empty = tmp_path / "empty.txt"
    empty.touch()
    finished = memwatch("estimate", text, packed, empty)
    assert finished.code == 0, finished.err
    lines = finished.out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == [str(text), str(packed), str(empty), "3"]
    assert "exactly 0 tokens" in lines[2]


def test_of_hundreds_of_files_some_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}.txt").write_bytes(prose()[number * 100 : number * 100 + 70_000])
    finished = memwatch("estimate", f"{tmp_path}/*.txt")
    assert finished.code == 0, finished.err
    assert "... 288 more" in finished.out
    assert "300 files" in finished.out
    assert len(finished.out.splitlines()) < 40
    assert f"memwatch run tokenize '{tmp_path}/*.txt'" in finished.out


def test_standard_input_is_refused_in_a_sentence() -> None:
    finished = memwatch("estimate", "-", input="some text")
    assert finished.code == 2
    assert "standard input cannot be sampled" in error_of(finished)


def _failed(*arguments: object) -> Finished:
    finished = memwatch("estimate", *arguments)
    assert finished.code == 1, finished.out
    assert finished.out == ""
    return finished


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        pytest.param("empty.txt", b"", "is empty: nothing to tokenize", id="empty"),
        pytest.param("zeros.txt", bytes(100_000), "does not look like text", id="zeros"),
        pytest.param("wide.txt", "wide".encode("utf-16"), "UTF-16", id="UTF-16"),
        pytest.param("broken.parquet", b"PAR1 and nothing", "broken or not a parquet file", id="broken parquet"),
        pytest.param("short.txt.gz", gzip.compress(b"text " * 9000)[:-40], "is the download complete?", id="cut gzip"),
        pytest.param("no.jsonl", b'{"text": "a"}\nno json\n', "is not JSON", id="bad record"),
        pytest.param("other.jsonl", b'{"body": "a"}\n', "has no field 'text'", id="no such field"),
    ],
)
def test_bad_input_is_refused_as_by_the_tokenizer(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert complaint in error_of(_failed(path))


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in error_of(_failed(tmp_path))
    assert "No such file" in error_of(_failed(tmp_path / "missing.txt"))
    assert "no file matches" in error_of(_failed(f"{tmp_path}/*.txt"))
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in error_of(_failed(tmp_path / "pipe"))
    (tmp_path / "text\x1b[31m.txt").write_bytes(b"")
    sentence = error_of(_failed(tmp_path / "text\x1b[31m.txt"))
    assert "\x1b" not in sentence


def test_an_unknown_encoding_is_a_usage_error(real_text: Path) -> None:
    finished = memwatch("estimate", real_text, "--encoding", "morse")
    assert finished.code == 2
    assert "unknown encoding" in error_of(finished)


def test_zeros_are_estimated_when_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "zeros.txt"
    with path.open("wb") as file:
        file.truncate(64 * MIB)
    found = estimated(path, "--errors", "replace")
    assert found["tokens"]["low"] <= 64 * MIB <= found["tokens"]["high"]


def test_bytes_that_are_not_utf8_are_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes(repeated(prose().replace(b" e", b" \xe9"), 17_000_000))
    assert estimated(path)["tokens"]["estimate"] > 1_000_000
    assert "not UTF-8" in error_of(_failed(path, "--errors", "strict"))


def test_a_sparse_file_of_300_gigabytes_is_no_work(tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    path.write_bytes(repeated(prose(), 1_000_000))
    os.truncate(path, 300_000_000_000)
    finished = memwatch("estimate", path, "--json")
    assert finished.code in (0, 3), finished.err  # Few have room for what would come of it.
    found = json.loads(finished.out)
    assert found["bytes"] == 300_000_000_000
    assert sum(each["read_bytes"] for each in found["inputs"]) <= 32 * MIB


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="needs a small file system, so root")
def test_a_disk_that_is_too_small_is_exit_code_3(text: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.system(f"mount -t tmpfs -o size=1m none {small} 2>/dev/null"):
        pytest.skip("cannot mount a tmpfs here")
    try:
        finished = memwatch("estimate", text, "--out", small)
        assert finished.code == 3, finished.err
        assert "DOES NOT FIT" in finished.out
        assert f" in {small}, or choose another folder with --out" in finished.out
    finally:
        os.system(f"umount {small}")


def test_diagnose_gives_the_same_memory_for_the_same_list(small: Path, tmp_path: Path) -> None:
    script = tmp_path / "prepare.py"
    script.write_text("tokens = []\nfor chunk in text:\n    tokens.extend(enc.encode_ordinary(chunk))\n")
    found = estimated(small)
    finished = memwatch("diagnose", "--script", script, "--input", small, "--json")
    forecast = json.loads(finished.out)["input"]
    assert forecast["is_measured"]
    assert forecast["least_list_bytes"] == pytest.approx(found["ram"]["list"], rel=0.001)
    assert forecast["most_list_bytes"] == pytest.approx(found["ram"]["list"], rel=0.001)


DESKTOP = JobMemory(int(62.6 * GIB), 41 * GIB, 8 * GIB, 8 * GIB, None)


def outlook(tokens: float = 10.7e9, name: str = "train_fineweb.txt", **changes: Any) -> Outlook:
    """The desktop of the story."""
    size = round(tokens * 4.49)
    source = Input(name, "text", None, size, 0, "")
    made = Outlook(
        inputs=(Sampled(source, Range.around(tokens, 0.01 * tokens), Range.exactly(size), 512, 16 * MIB),),
        encoding=encoding_named("gpt2"),
        engine="gigatoken",
        format="bin",
        speed=JobSpeed(4e-8, 1e-9, 0.5, workers=8, cores=8, busy_others=0.0),
        usual_bytes=532 * MIB,
        least_bytes=164 * MIB,
        script=ListScript(32.4, 2, 2.1e6),
        memory=DESKTOP,
        disk=OutputDisk("/data", 212 * GIB),
        command=("memwatch", "run", "tokenize", name),
        notes=(),
        sampled_s=0.4,
    )
    return replace(made, **changes)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_the_report_keeps_within_the_terminal(width: int) -> None:
    lines = as_lines(outlook(), width)
    assert all(len(line) <= max(width, 75) for line in lines), "\n".join(lines)
    report = " ".join(" ".join(lines).split())
    for words in ("(sampled 512 x 32.0 KiB in 0.4 s)", "10.7 G (10.6 - 10.8)", "4.49 bytes/token, gpt2",
                  "free in /data: 212.0 GiB fits", "safe", "(32.4 + 2 bytes/token measured)",
                  "FREEZES at ~1.36 G tokens, after 11 min; OOM kill at ~1.62 G tokens",
                  "4 min (3 min - 7 min) at 186.1 MiB/s with 8 workers", "GPU not used",
                  "memwatch run tokenize"):  # fmt: skip
        assert words in report


def test_a_text_that_fits_gives_no_scare() -> None:
    report = "\n".join(as_lines(outlook(tokens=50e6), 100))
    assert report.count("safe") == 3
    assert not any(word in report for word in ("FREEZES", "OOM", "TOO LARGE", "DOES NOT"))


def test_without_swap_it_is_killed_rather_than_frozen() -> None:
    report = "\n".join(as_lines(outlook(memory=JobMemory(24 * GIB, 22 * GIB, 0, 0, None)), 120))
    assert "OOM KILL at ~727 M tokens, after 6 min" in report
    assert "FREEZES" not in report


def test_where_memory_is_short_the_advice_limits_it() -> None:
    found = outlook(memory=JobMemory(1 * GIB, 600 * MIB, 0, 0, None))
    assert found.advice == "memwatch run tokenize train_fineweb.txt --max-memory 336M"


def test_names_cannot_write_to_the_terminal() -> None:
    lines = as_lines(outlook(name="a\x1b[31m\nb", disk=OutputDisk("\x1b]0;x", 1)), 80)
    assert "".join(lines).isprintable()
