"""Flipped bits: the right documents, or a sentence with the file and the place. Never a crash, never a hang.

The reading happens in processes of its own, because a damaged file may end the one that reads it.
"""

import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.helpers import HANG_S, Finished, error_of
from tests.tokenize.inputs.made import (
    PACKED,
    arrow_file,
    arrow_stream,
    json_array,
    jsonl,
    parquet,
    saved,
    table,
    tar,
    zipped,
)

TEXTS = [f"text {i} of some words {i * i}\n" * 5 for i in range(200)]
LINES = jsonl(TEXTS)
SEED = int(os.environ.get("MEMWATCH_SEED", "1"))
FLIPS = int(os.environ.get("MEMWATCH_FLIPS", "150"))

# What has a checksum over everything gives the right documents or an error; the others cannot know.
CHECKED = {
    **{f"a.jsonl.{suffix}": pack(LINES) for suffix, pack in PACKED.items()},
    **{f"two.jsonl.{suffix}": pack(LINES[:20000]) + pack(LINES[20000:]) for suffix, pack in PACKED.items()},
    "a.tar.gz": PACKED["gz"](tar(("a.jsonl", LINES))),
}
UNCHECKED = {
    "a.tar": tar(("a.jsonl", LINES), ("b.jsonl", LINES)),
    "a.json": json_array(TEXTS, indent=1),
    "one line.json": json_array(TEXTS),
    "a.zip": zipped(("a.jsonl", LINES), ("b.jsonl", LINES)),
    "a.parquet": parquet(table(TEXTS), 50),
    "zstd.parquet": parquet(table(TEXTS), 50, compression="zstd"),
    "checked.parquet": parquet(table(TEXTS), 50, write_page_checksum=True, use_dictionary=False),
    "a.arrow": arrow_stream(table(TEXTS), 50),
    "file.arrow": arrow_file(table(TEXTS), 50),
    "zstd.arrow": arrow_stream(table(TEXTS), 50, compression="zstd"),
    "views.arrow": arrow_stream(table(TEXTS, pa.string_view()), 50),
    "dictionary.arrow": arrow_stream(pa.table({"text": pa.array(TEXTS).dictionary_encode()}), 50),
}

READER = """
import hashlib, os, sys
from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.block_opener import BlockReader
from memwatch.tokenize.inputs.finding import look_at
from memwatch.tokenize.inputs.reading_memory import reading_memory
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import encoding_named

import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
encoding, settings = encoding_named("gpt2"), TokenizeSettings(val_ratio="0")
for line in sys.stdin:
    path = line.rstrip("\\n")
    try:
        source = look_at(path)
        reading_memory([source], "text")
        reader, found, count = BlockReader([source], settings, encoding, ReadPosition()), hashlib.sha256(), 0
        while (block := reader.next(1 << 16)) is not None:
            found.update(block.data)
        reader.close()
        print("read", found.hexdigest(), flush=True)
    except MemwatchError as error:
        print("refused", error, flush=True)
"""


def flipped(data: bytes, chance: random.Random) -> bytes:
    """Mostly one bit; sometimes some bytes, or the end cut off."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 4])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    if chance.random() < 0.1:
        del changed[max(chance.randrange(len(changed)), 1) :]  # An empty file is not damaged.
    return bytes(changed)


def outcomes(folder: Path, name: str, data: bytes, count: int) -> list[tuple[bytes, str]]:
    """What became of damaged copies, each read by a process that reads many."""
    chance = random.Random(f"{name} {SEED}")
    with subprocess.Popen(
        [sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        found = []
        watchdog = threading.Timer(HANG_S, process.kill)
        watchdog.start()
        for i in range(count + 1):
            damaged = data if i == 0 else flipped(data, chance)
            path = saved(folder, name, damaged)
            print(path, file=process.stdin, flush=True)
            answer = process.stdout.readline().strip()
            if not answer:
                watchdog.cancel()
                pytest.fail(f"{name} damaged in step {i} of seed {SEED} ended its reader: {process.stderr.read()}")
            found.append((damaged, answer))
        watchdog.cancel()
        process.stdin.close()
    return found


def check_sentence(answer: str, path: Path) -> None:
    assert str(path) in answer, answer
    assert "\n" not in answer


@pytest.mark.parametrize("name", CHECKED)
def test_damage_in_checked_data_is_always_seen(name: str, tmp_path: Path) -> None:
    [(_, right), *damaged] = outcomes(tmp_path, name, CHECKED[name], FLIPS)
    for data, answer in damaged:
        if data != CHECKED[name] and answer != right:
            assert answer.startswith("refused "), answer
            check_sentence(answer, tmp_path / name)


@pytest.mark.parametrize("name", UNCHECKED)
def test_damage_anywhere_ends_in_a_sentence_at_worst(name: str, tmp_path: Path) -> None:
    for _, answer in outcomes(tmp_path, name, UNCHECKED[name], FLIPS):
        if answer.startswith("refused "):
            check_sentence(answer, tmp_path / name)


def test_a_flipped_bit_in_a_page_is_found_by_its_checksum(tmp_path: Path) -> None:
    data = bytearray(parquet(table(TEXTS), 50, write_page_checksum=True, use_dictionary=False, compression="none"))
    at = data.index(b"text 120 of")
    data[at] ^= 1
    [(_, answer)] = outcomes(tmp_path, "a.parquet", bytes(data), 0)
    assert re.search(r"a\.parquet is damaged in row group 2 at row 0: .*(CRC|checksum|corrupt)", answer, re.I), answer


Tokenize = Callable[..., Finished]


DAMAGED = {
    "a.jsonl.zst": (PACKED["zst"](LINES), 0.5, "is damaged: cannot unpack it before byte"),
    "a.jsonl.bz2": (PACKED["bz2"](LINES), 0.5, "is damaged: cannot unpack it before byte"),
    "a.parquet": (
        parquet(table(TEXTS), 50, write_page_checksum=True, use_dictionary=False, compression="none"),
        0.5,
        "is damaged in row group",
    ),
    "a.arrow": (arrow_stream(table(TEXTS), 50, compression="zstd"), 0.5, "is damaged in row group"),
    "a.tar": (
        tar(("a.jsonl", LINES), ("b.jsonl", LINES)),
        512 + -(-len(LINES) // 512) * 512 + 5,
        "no tar header at byte",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_run_over_damaged_input_exits_with_1(name: str, tokenize: Tokenize, tmp_path: Path) -> None:
    whole, where, words = DAMAGED[name]
    data = bytearray(whole)
    data[int(where * len(data)) if where < 1 else int(where)] ^= 4
    path = saved(tmp_path, name, bytes(data))
    done = tokenize(path, "--out", tmp_path / "out")
    assert done.code == 1, done.err
    assert words in error_of(done)
    assert str(path) in error_of(done)
