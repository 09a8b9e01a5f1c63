"""Standard input and `estimate`: the same formats as from a file of `run tokenize`, or a sentence."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from tests.helpers import HANG_S, Finished, error_of, memwatch
from tests.tokenize.inputs.made import (
    PACKED,
    arrow_stream,
    json_array,
    jsonl,
    long_zstd,
    parquet,
    saved,
    table,
    tar,
    zipped,
)

TEXTS = [f"text {i} with some words\n" for i in range(2000)]
LINES = jsonl(TEXTS)
# Written in small pieces, as a program would.
WRITER = """
import sys
while data := sys.stdin.buffer.read(4000):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
"""


def piped(data: bytes, *arguments: object) -> Finished:
    """`memwatch run tokenize - ARGUMENTS`, fed through a pipe."""
    command = [sys.executable, "-m", "memwatch", "run", "tokenize", "-", *map(str, arguments)]
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    job = subprocess.Popen(command, stdin=writer.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    writer.stdout.close()
    with suppress(BrokenPipeError):
        writer.stdin.write(data)
        writer.stdin.close()
    out, err = job.communicate(timeout=HANG_S)
    with suppress(BrokenPipeError):
        writer.stdin.close()
    writer.wait()
    return Finished(job.returncode, out, err)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("wanted")
    done = memwatch("run", "tokenize", saved(folder, "a.jsonl", LINES), "--val-ratio", "0")
    assert done.code == 0, done.err
    return (folder / "train.bin").read_bytes()


SAME = {
    "a byte order mark": b"\xef\xbb\xbf" + LINES,
    "a blank first line": b"\n" + LINES,
    "no newline at the end": LINES[:-1],
    **{suffix: pack(LINES) for suffix, pack in PACKED.items()},
    "zstd --long": long_zstd(LINES),
    "tar.gz": PACKED["gz"](tar(("a.jsonl", LINES))),
    "an array": json_array(TEXTS, indent=1),
    "a packed array": PACKED["zst"](json_array(TEXTS)),
}


@pytest.mark.parametrize("name", SAME)
def test_standard_input_gives_what_the_file_gives(name: str, wanted: bytes, tmp_path: Path) -> None:
    done = piped(SAME[name], "--out", tmp_path, "--val-ratio", "0", "--max-memory", "4G")
    assert done.code == 0, done.err
    assert (tmp_path / "train.bin").read_bytes() == wanted


REFUSED = {
    "parquet": (parquet(table(TEXTS)), "standard input is parquet; name the file"),
    "arrow": (arrow_stream(table(TEXTS)), "standard input is arrow; name the file"),
    "zip": (zipped(("a.jsonl", LINES)), "is a zip archive that cannot be read from the front"),
    "damaged gzip": (PACKED["gz"](LINES)[:2000] + b"rubbish" * 1000, "standard input is damaged"),
    "zstd --long in little memory": (long_zstd(LINES), "--max-memory 512.0 MiB is too small"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_standard_input_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    data, words = REFUSED[name]
    done = piped(data, "--out", tmp_path, "--max-memory", "512M")
    assert done.code in (1, 2), done.err
    assert words in error_of(done)


MADE = {
    "a.json": LINES,
    "array.json": json_array(TEXTS),
    **{f"a.jsonl.{suffix}": pack(LINES) for suffix, pack in PACKED.items()},
    "a.tar.gz": PACKED["gz"](tar(("a.jsonl", LINES))),
    "a.zip": zipped(("a.jsonl", LINES)),
    "a.parquet": parquet(table(TEXTS), 500),
    "a.arrow": arrow_stream(table(TEXTS), 500),
}


def test_estimate_reads_every_format_with_the_options_of_a_run(wanted: bytes, tmp_path: Path) -> None:
    paths = [saved(tmp_path, name, data) for name, data in MADE.items()]
    done = memwatch("estimate", *paths, "--json", "--bad-records", "skip", "--exact", "--text-column", "text")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [each["tokens"]["estimate"] for each in found["inputs"]] == [len(wanted) // 2] * len(MADE)
    assert "--bad-records skip --exact --text-column text" in done.out or "command" not in found


def test_estimate_of_an_arrow_file_counts_the_text_alone(tmp_path: Path) -> None:
    texts = ["some words of text, again and again. " * 60] * 8_000
    data = pa.table({"noise": [bytes(3000)] * len(texts), "text": texts})
    path = saved(tmp_path, "a.arrow", arrow_stream(data, 1000))
    found = json.loads(memwatch("estimate", path, "--json").out)
    size = sum(map(len, texts))
    assert found["text_bytes"]["estimate"] == pytest.approx(size, rel=0.05)
    assert found["text_bytes"]["low"] <= size <= found["text_bytes"]["high"]
