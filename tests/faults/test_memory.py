"""Flat: the job stays under --max-memory whatever the text, and leaves the page cache as it was.

What is measured here is small (half a GiB at the most), and each job would stop at its own limit long before it hurts.
"""

import gzip
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memwatch.tokenize.engines import choose
from memwatch.tokenize.vocabulary import Encoding, rank_file
from tests.faults.jobs import RunningJob
from tests.helpers import cached_bytes

MIB = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def usual_cache(gpt2: Encoding) -> None:
    """As in every run but the first. The first one also loads tiktoken for a check, and renews its engine earlier."""
    choose("auto", gpt2, rank_file(gpt2), check=True)


LIMIT_MIB = 300


def _words(chance: random.Random, count: int) -> bytes:
    return b" ".join(b"".join(chance.choices(LETTERS, k=chance.randint(3, 10))) for _ in range(count))


LETTERS = [bytes([c]) for c in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"]


def random_words(path: Path, count: int = 4_200_000) -> Path:
    """Every word is new, which swells what the engine remembers."""
    chance = random.Random(3)
    with path.open("wb") as file:
        for _ in range(30):
            file.write(_words(chance, count // 30) + b"\n")
    return path


def _random_words(path: Path, _: bytes) -> Path:
    return random_words(path)


def _one_line(path: Path, text: bytes) -> Path:
    line = text.replace(b"\n", b" ").replace(b"\r", b" ")
    with path.open("wb") as file:
        while file.tell() < 200_000_000:
            file.write(line)
    return path


def _no_spaces(path: Path, _: bytes) -> Path:
    with path.open("wb") as file:
        for _number in range(40):
            file.write(b"x" * MIB)
    return path


def _packed(path: Path, text: bytes) -> Path:
    path = path.with_suffix(".txt.gz")
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(12):
            file.write(text)
    return path


def _parquet(path: Path, text: bytes) -> Path:
    """One row group of 100 MB, and a row of 20 MB in it."""
    path = path.with_suffix(".parquet")
    pieces = [text[i : i + 5000].decode("utf-8", "ignore") for i in range(0, len(text), 5000)]
    table = pa.table({"text": pieces * 10 + [text.decode("utf-8", "ignore") * 2]})
    pq.write_table(table, path, row_group_size=1_000_000)
    return path


def peak_rss_of(*arguments: object) -> int:
    """The most that memwatch, the job and its workers had at once."""
    return peak_of(RunningJob.rss_bytes, *arguments)


def peak_of(size_of: Callable[[RunningJob], int], *arguments: object) -> int:
    peak = 0
    with RunningJob(*arguments) as running:
        while running.process.poll() is None:
            peak = max(peak, size_of(running))
            time.sleep(0.01)
        code, err = running.finish()
    assert code == 0, err
    return peak


@pytest.mark.parametrize(
    "make", [_random_words, _one_line, _no_spaces, _packed, _parquet], ids=lambda make: make.__name__
)
def test_memory_stays_under_the_limit(make: Callable[[Path, bytes], Path], real_text: Path, tmp_path: Path) -> None:
    source = make(tmp_path / "input.txt", real_text.read_bytes())
    limit = LIMIT_MIB if source.suffix != ".parquet" else 450
    peak = peak_rss_of(source, "--max-memory", f"{limit}M", "--val-ratio", "0")
    assert peak < limit * MIB, f"{peak / MIB:.0f} MiB"
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["text_bytes"] > 30 * MIB
    assert 0 < manifest["peak_rss_bytes"] < limit * MIB


def test_ten_times_the_input_takes_no_more_memory(real_text: Path, tmp_path: Path) -> None:
    once, often = tmp_path / "once.txt", tmp_path / "often.txt"
    # Once means enough for every worker to have all its blocks under way.
    once.write_bytes(real_text.read_bytes() * 5)
    often.write_bytes(real_text.read_bytes() * 50)
    first = peak_of(RunningJob.high_water_bytes, once, "--out", tmp_path / "1")
    second = peak_of(RunningJob.high_water_bytes, often, "--out", tmp_path / "10")
    # The same words come again, so what the engine remembers is the same too; the rest is noise of the allocator.
    assert second < first * 1.25 + 16 * MIB, f"{first / MIB:.0f} MiB, then {second / MIB:.0f} MiB"


@pytest.fixture
def big_text(real_text: Path, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "big.txt"
    with path.open("wb") as file:
        while file.tell() < 1_000_000_000:
            file.write(real_text.read_bytes())
    subprocess.run(["sync", path], check=True)
    yield path
    path.unlink()


def test_neither_input_nor_output_fills_the_page_cache(big_text: Path, tmp_path: Path) -> None:
    size_bytes, were_cached = big_text.stat().st_size, cached_bytes(big_text)
    assert were_cached > 100 * MIB, "the text was just written and should be cached"
    blocks_before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "tokenize", str(big_text)]
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
    from_disk = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - blocks_before) * 512
    assert from_disk < size_bytes - were_cached + size_bytes // 10, "dropped before another worker had read it"
    assert cached_bytes(big_text) < 32 * MIB
    assert (tmp_path / "train.bin").stat().st_size > 300 * MIB
    assert cached_bytes(tmp_path / "train.bin") < 32 * MIB
