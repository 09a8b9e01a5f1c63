"""What the jobs in Python do: python work.py NAME [ARGUMENT...]. Sizes are in MiB, durations in seconds.

Each function is one job. A size is what the whole process may take (its RssAnon), the interpreter included, so that a
job can come near a limit on purpose without knowing how large an interpreter is.
"""

import gc
import mmap
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 1 << 20


def anon_mib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) // 1024


def until(size_mib: int) -> int:
    """MiB that are left until this process takes `size_mib`."""
    return max(size_mib - anon_mib(), 1)


def full(size_mib: int) -> Any:
    """An array that is written to, so that it is really there."""
    import numpy

    return numpy.ones(size_mib * MIB // 8)


def compute(seconds: float, *arrays: Any) -> None:
    """Work on what is there without taking more."""
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        for array in arrays:
            array[::512] += 1
        time.sleep(0.01)


# One allocation


def ones(size_mib: int, seconds: float = 3) -> None:
    import numpy

    compute(seconds, numpy.ones(until(size_mib) * MIB // 8))


def ones_and_exit(size_mib: int) -> None:
    time.sleep(1.5)
    full(until(size_mib))


def late_ones(size_mib: int) -> None:
    """Calm for seconds, then all of it at once."""
    time.sleep(4)
    ones(size_mib, 3)


def populate(size_mib: int) -> None:
    """The kernel hands out all pages in one call, during which no signal is handled."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000
    held = mmap.mmap(-1, until(size_mib) * MIB, flags=flags)
    time.sleep(3)
    held.close()


def list_of_integers(count: int) -> None:
    numbers = list(range(count))
    time.sleep(1)
    assert sum(numbers[::1000]) > 0
    time.sleep(1)


def big_zip(count: int) -> None:
    pairs = list(zip(range(count), range(count), strict=True))
    time.sleep(1)
    assert len(pairs) == count


# numpy


def products(size_mib: int) -> None:
    """Every operator makes a temporary; four arrays of the same size at the peak."""
    import numpy

    count = until(size_mib) * MIB // 8 // 5
    a, b = numpy.ones(count), numpy.full(count, 2.0)
    for _ in range(6):
        c = a * b + b * a - (a + b) / 2
        time.sleep(0.2)
        del c


def matrices(size_mib: int) -> None:
    import numpy

    side = int((until(size_mib) * MIB / 8 / 3.2) ** 0.5)
    side = min(side, 3500)
    a = numpy.random.default_rng(1).random((side, side))
    for _ in range(2):
        a = a @ a
        a /= a.max()
    time.sleep(0.5)


def sort_copies(size_mib: int) -> None:
    import numpy

    values = numpy.random.default_rng(1).random(until(size_mib) * MIB // 8 // 3)
    ranked = numpy.sort(values[: len(values) // 4])
    both = numpy.concatenate([values, values])
    time.sleep(1)
    assert len(both) > len(ranked)


def fourier(size_mib: int) -> None:
    import numpy

    # A length of small factors: others take several times the memory.
    values = numpy.ones(until(size_mib) * MIB // 8 // 10 // 4096 * 4096)
    spectrum = numpy.fft.rfft(values)
    back = numpy.fft.irfft(spectrum)
    time.sleep(1)
    assert len(back)


def boolean_masks(size_mib: int) -> None:
    import numpy

    values = numpy.random.default_rng(1).random(until(size_mib) * MIB // 8 // 3)
    for limit in (0.1, 0.3, 0.5, 0.7, 0.9):
        chosen = values[values > limit]
        time.sleep(0.3)
        del chosen


def appended(size_mib: int) -> None:
    """numpy.concatenate in a loop: a copy of all for every piece."""
    import numpy

    piece = numpy.ones(until(size_mib) * MIB // 8 // 24)
    whole = piece.copy()
    while len(whole) < 11 * len(piece):
        whole = numpy.concatenate([whole, piece])
        time.sleep(0.15)
    time.sleep(1)


def load_npy(path: str) -> None:
    import numpy

    values = numpy.load(path)
    assert float((values * 2).sum()) > 0
    time.sleep(1.5)


def map_npy(path: str) -> None:
    """Reads a file through a mapping: page cache, not memory of its own."""
    import numpy

    values = numpy.load(path, mmap_mode="r")
    for _ in range(3):
        assert float(values[::512].sum()) > 0
        time.sleep(0.8)


def compressed_npz(size_mib: int, scratch: str) -> None:
    import numpy

    values = numpy.arange(until(size_mib) * MIB // 8 // 4) % 1000
    numpy.savez(Path(scratch) / "plain.npz", a=values, b=values * 2)
    loaded = numpy.load(Path(scratch) / "plain.npz")
    assert len(loaded["a"]) == len(loaded["b"])
    time.sleep(1.5)


def images(size_mib: int) -> None:
    """A queue of decoded pictures: 36 MiB each, some in flight, filtered into new ones."""
    import numpy

    most = max(until(size_mib) // 36 - 4, 2)
    queue: list[Any] = []
    for number in range(40):
        queue.append(numpy.full((3000, 4000, 3), number, dtype=numpy.uint8))
        if len(queue) > most:
            queue.pop(0)
        blurred = queue[-1] // 2 + queue[-1] // 3
        time.sleep(0.05)
        del blurred


# Python's own objects


def doubled_bytes(size_mib: int) -> None:
    """A buffer that grows by realloc."""
    held, most = bytearray(), until(size_mib) * MIB * 85 // 100
    piece = b"x" * MIB
    while len(held) < most:
        held += piece * 8
        time.sleep(0.01)
    time.sleep(1)


def joined_text(size_mib: int) -> None:
    """Pieces, then one string of all of them: twice the memory for a moment."""
    pieces = [f"{number:09d}" * 100 for number in range(until(size_mib) * MIB * 45 // 100 // 950)]
    text = "".join(pieces)
    assert len(text) > 1000
    time.sleep(1.5)
    del pieces
    time.sleep(0.5)


def counts(path: str) -> None:
    words: Counter[str] = Counter()
    with open(path) as file:
        for line in file:
            words.update(line.split())
    assert len(words.most_common(10)) == 10
    time.sleep(0.5)


def json_file(path: str) -> None:
    import json

    with open(path) as file:
        records = json.load(file)
    assert sum(record["id"] for record in records) > 0
    time.sleep(1)


def csv_rows(path: str) -> None:
    import csv

    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    time.sleep(1)
    assert len(rows) > 10


def records(size_mib: int) -> None:
    """A list of small dictionaries, with the collector at work."""
    count = until(size_mib) * MIB // 330
    held = [{"id": number, "name": f"name {number}", "tags": [number, number + 1]} for number in range(count)]
    time.sleep(1)
    assert len(held)


def cycles(size_mib: int) -> None:
    """Garbage in cycles that only the collector frees: grows, falls, grows."""
    gc.set_threshold(10**9)
    for _ in range(4):
        for _ in range(until(size_mib) * MIB // 4400):
            ring: list[Any] = [bytearray(4000)]
            ring.append(ring)
        time.sleep(0.2)
        gc.collect()


def pickled(size_mib: int) -> None:
    import pickle

    held = {number: bytes(1000) for number in range(until(size_mib) * 1000 // 3)}
    packed = pickle.dumps(held)
    again = pickle.loads(packed)
    time.sleep(1)
    assert len(again) == len(held)


def big_integers(_size_mib: int) -> None:
    value = 3**6_000_000
    for _ in range(3):
        assert (value * value) > value


def text_in_memory(path: str) -> None:
    """Read all, decode, search, split: copies of a file."""
    import re

    text = Path(path).read_bytes().decode()
    found = len(re.findall(r"\bab\w*", text))
    lines = text.splitlines()
    time.sleep(1)
    assert found <= len(text)
    assert lines


def imports() -> None:
    import asyncio
    import ctypes
    import email.mime.text
    import http.server
    import multiprocessing
    import sqlite3
    import unittest
    import xml.etree.ElementTree

    import numpy

    assert all((asyncio, ctypes, email, http, multiprocessing, sqlite3, unittest, xml, numpy))
    for name in ("pyarrow", "pandas", "textual.app", "pyarrow.parquet", "pyarrow.dataset"):
        try:
            __import__(name)
        except ImportError:
            continue
    time.sleep(1)


def token_list(size_mib: int) -> None:
    """The script of the first hour: a list of numbers that grows as it reads, and ends before the limit."""
    tokens: list[int] = []
    most = until(size_mib) * MIB // 40
    source = random.Random(1)
    while len(tokens) < most:
        start = source.randrange(1000, 2**40)
        tokens.extend(range(start, start + 20_000))
        time.sleep(0.0005)
    time.sleep(1)


# Shapes


def training(size_mib: int) -> None:
    """Weights, gradients and two moments once; then steps with a small batch each."""
    import numpy

    count = until(size_mib) * MIB // 4 // 4 * 95 // 100
    weights, gradients, first, second = (numpy.ones(count, dtype=numpy.float32) for _ in range(4))
    for step in range(30):
        batch = numpy.random.default_rng(step).random((256, 1024), dtype=numpy.float32)
        gradients[::256] = batch.mean()
        first[::256] += gradients[::256]
        second[::256] += gradients[::256] ** 2
        weights[::256] -= first[::256]
        time.sleep(0.1)


def checkpoints(size_mib: int, scratch: str) -> None:
    """A model of half the size; saving it makes a copy for a moment, three times."""
    import numpy

    model = full(until(size_mib) * 47 // 100)
    for _ in range(3):
        compute(0.8, model)
        copy = model.copy()
        numpy.save(Path(scratch) / "checkpoint.npy", copy[: 64 * MIB // 8])
        del copy
    compute(0.5, model)


def steps(size_mib: int, step_mib: int, rest_s: float) -> None:
    """Grows by equal steps and holds what it has."""
    held = []
    while until(size_mib) > step_mib:
        held.append(full(step_mib))
        compute(rest_s, held[-1])
    compute(1.5, *held)


def grow(size_mib: int, rate_mib_s: float, hold_s: float = 2) -> None:
    """Grows steadily up to a size and stops growing."""
    held: list[Any] = []
    began_s, start_mib, piece_mib = time.monotonic(), anon_mib(), 2
    got_mib = 0
    while start_mib + got_mib + piece_mib <= size_mib:
        if got_mib < (time.monotonic() - began_s) * rate_mib_s:
            held.append(bytearray(b"x" * (piece_mib * MIB)))
            got_mib += piece_mib
        else:
            time.sleep(0.004)
    time.sleep(hold_s)


def slowing(size_mib: int, seconds: float) -> None:
    """Grows fast at first and ever slower, as caches do that fill up."""
    import numpy

    base_mib = anon_mib()
    held: list[Any] = []
    began_s, got_mib = time.monotonic(), 0
    while (passed_s := time.monotonic() - began_s) < seconds:
        wanted_mib = (size_mib - base_mib - 4) * (1 - 2 ** (-6 * passed_s / seconds))
        while got_mib + 4 <= wanted_mib:
            held.append(numpy.ones(4 * MIB // 8))
            got_mib += 4
        time.sleep(0.01)


def sawtooth(low_mib: int, high_mib: int, rate_mib_s: float, times: int) -> None:
    """Grows and frees, again and again."""
    import numpy

    base = full(until(low_mib))
    piece_mib = 8
    for _ in range(times):
        held: list[Any] = []
        began_s, got_mib, goal_mib = time.monotonic(), 0, until(high_mib) - piece_mib
        while got_mib < goal_mib:
            if got_mib < (time.monotonic() - began_s) * rate_mib_s:
                held.append(numpy.ones(piece_mib * MIB // 8))
                got_mib += piece_mib
            else:
                time.sleep(0.004)
        held.clear()
        compute(0.15, base)


def bursts(size_mib: int, times: int) -> None:
    """Calm, then a large allocation for a moment, at no regular time."""
    source = random.Random(7)
    for _ in range(times):
        time.sleep(source.uniform(0.2, 1.2))
        held = full(int(until(size_mib) * source.uniform(0.3, 1)))
        compute(0.2, held)
        del held


def random_walk(low_mib: int, high_mib: int, seconds: float) -> None:
    """Goes up and down by large pieces near the edge."""
    source, base = random.Random(3), full(until(low_mib))
    held: list[object] = []
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        if held and (source.random() < 0.5 or until(high_mib) <= 24):
            held.pop()
        elif until(high_mib) > 24:
            held.append(full(min(source.randrange(8, 96), until(high_mib) - 4)))
        compute(0.05, base)


def threads(size_mib: int) -> None:
    """Eight threads that take and free buffers of their own."""
    from threading import Thread

    share_mib = until(size_mib) // 8 - 1

    def work() -> None:
        for _ in range(4):
            held = bytearray(b"x" * ((share_mib // 2) * MIB))
            time.sleep(0.3)
            del held

    crew = [Thread(target=work) for _ in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()


def exits_with_3(size_mib: int) -> None:
    grow(size_mib, 400, 0.5)
    sys.exit(3)


# Files in RAM and mappings


def map_file(path: str) -> None:
    """Reads a large file through a mapping, twice."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        for _ in range(2):
            total = sum(mapped[at] for at in range(0, len(mapped), 4096))
            time.sleep(0.5)
    assert total >= 0


def map_and_write(scratch: str, size_mib: int) -> None:
    """Dirty pages of a file, not memory of its own."""
    path = Path(scratch) / "mapped"
    with path.open("wb+") as file:
        file.truncate(size_mib * MIB)
        with mmap.mmap(file.fileno(), 0) as mapped:
            for at in range(0, len(mapped), MIB):
                mapped[at : at + MIB] = b"x" * MIB
            mapped.flush()
    time.sleep(0.5)


def small_files(scratch: str, count: int) -> None:
    """Inodes and directory entries: memory of the kernel that it gives back when there is need."""
    for number in range(count):
        folder = Path(scratch) / str(number // 1000)
        if number % 1000 == 0:
            folder.mkdir()
        (folder / str(number)).touch()
    found = sum(len(names) for _ in range(3) for _, _, names in os.walk(scratch))
    assert found >= 3 * count


def file_in_ram(size_mib: int, rate_mib_s: float) -> None:
    """A file in /dev/shm, as PyTorch's loaders and databases have them."""
    import tempfile

    with tempfile.TemporaryFile(dir="/dev/shm") as file:  # It has no name, so nothing stays if the job is killed.
        began_s, got_mib, piece = time.monotonic(), 0, b"x" * (2 * MIB)
        while got_mib + 2 <= until(size_mib):
            if got_mib < (time.monotonic() - began_s) * rate_mib_s:
                file.write(piece)
                got_mib += 2
            else:
                time.sleep(0.004)
        file.flush()
        time.sleep(2)


def anonymous_file(size_mib: int) -> None:
    fd = os.memfd_create("memwatch-benign")
    for _ in range(until(size_mib) // 2):
        os.write(fd, b"x" * (2 * MIB))
    time.sleep(2)
    os.close(fd)


# Many processes


def shared_by_forks(size_mib: int) -> None:
    """A parent's array that eight children only read: there once, in each one's RSS."""
    held = full(size_mib)
    pids = []
    for _ in range(8):
        if (pid := os.fork()) == 0:
            for _ in range(15):
                assert float(held[::512].sum()) > 0
                time.sleep(0.2)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def own_in_forks(size_mib: int) -> None:
    """Eight children with memory of their own."""
    share_mib = until(size_mib) // 8 - 8
    pids = []
    for number in range(8):
        if (pid := os.fork()) == 0:
            time.sleep(number * 0.1)
            compute(2.5, full(share_mib))
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def grow_in_forks(size_mib: int, rate_mib_s: float) -> None:
    """Eight children that grow together."""
    pids = []
    for _ in range(8):
        if (pid := os.fork()) == 0:
            grow(size_mib // 8, rate_mib_s / 8)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def idle_processes(count: int) -> None:
    pids = []
    for _ in range(count):
        if (pid := os.fork()) == 0:
            time.sleep(4)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def short_processes(seconds: float) -> None:
    """One process after the other, as shell scripts and configure scripts have them."""
    import subprocess

    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        subprocess.run(["true"], check=True)


def pool_task(size_mib: int) -> int:
    held = full(size_mib)
    time.sleep(0.1)
    return len(held)


def pool(size_mib: int) -> None:
    from multiprocessing import Pool

    with Pool(4) as workers:
        assert sum(workers.map(pool_task, [max(until(size_mib) // 4 - 40, 4)] * 40, chunksize=1))


def pool_result(size_mib: int) -> Any:
    return full(size_mib)


def pool_results(size_mib: int) -> None:
    """Results that come back through pipes: there three times for a moment."""
    from multiprocessing import Pool

    share_mib = max(until(size_mib) // 16, 2)
    with Pool(2) as workers:
        held = workers.map(pool_result, [share_mib] * 6, chunksize=1)
    time.sleep(1)
    assert len(held) == 6


def shared_memory(size_mib: int) -> None:
    from multiprocessing import shared_memory as shared

    block = shared.SharedMemory(create=True, size=until(size_mib) * MIB)
    assert block.buf is not None
    block.unlink()  # Now, so that nothing stays if the job is killed.
    for at in range(0, block.size - MIB, MIB):
        block.buf[at : at + MIB] = b"x" * MIB
    time.sleep(2)
    block.close()


def executor(size_mib: int) -> None:
    """Fresh interpreters, each with numpy loaded."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    share_mib = max(until(size_mib) // 3 - 60, 4)
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as workers:
        assert sum(workers.map(pool_task, [share_mib] * 12))


# Databases


def sqlite_in_memory(size_mib: int) -> None:
    import sqlite3

    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, value REAL)")
    number = 0
    while until(size_mib) > 60:
        rows = [(number + at, f"name {number + at}" * 10, at / 7) for at in range(20_000)]
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        number += len(rows)
    assert database.execute("SELECT count(*) FROM t").fetchone() == (number,)
    time.sleep(1)


def sqlite_on_disk(scratch: str, cache_mib: int) -> None:
    import sqlite3

    database = sqlite3.connect(Path(scratch) / "data.sqlite")
    database.execute(f"PRAGMA cache_size = -{cache_mib * 1024}")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, value REAL)")
    rows = ((number, f"name {number * 7919 % 1_000_003}" * 8, number / 7) for number in range(700_000))
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    database.execute("CREATE INDEX by_name ON t (name)")
    database.commit()
    assert len(database.execute("SELECT * FROM t ORDER BY value DESC LIMIT 200000").fetchall()) == 200_000


# Tables


def pandas_csv(path: str) -> None:
    import pandas

    table = pandas.read_csv(path)
    assert len(table)
    time.sleep(1)


def pandas_groups(rows: int) -> None:
    import numpy
    import pandas

    source = numpy.random.default_rng(1)
    table = pandas.DataFrame(
        {"key": source.integers(0, 1000, rows), "a": source.random(rows), "b": source.random(rows)}
    )
    for _ in range(3):
        assert len(table.groupby("key").mean())
    ranked = table.sort_values("a")
    time.sleep(0.5)
    assert len(ranked) == rows


def pandas_merge(rows: int) -> None:
    import numpy
    import pandas

    source = numpy.random.default_rng(1)
    left = pandas.DataFrame({"key": source.permutation(rows), "a": source.random(rows)})
    right = pandas.DataFrame({"key": source.permutation(rows), "b": source.random(rows)})
    assert len(left.merge(right, on="key")) == rows
    time.sleep(0.5)


def parquet(path: str) -> None:
    import pyarrow.parquet as files

    table = files.read_table(path)
    assert table.num_rows
    time.sleep(1.5)


def parquet_to_pandas(path: str) -> None:
    import pyarrow.parquet as files

    frame = files.read_table(path).to_pandas()
    assert len(frame)
    time.sleep(1.5)


def parquet_batches(path: str) -> None:
    import pyarrow.parquet as files

    rows = 0
    for _ in range(3):
        for batch in files.ParquetFile(path).iter_batches(50_000):
            rows += batch.num_rows
    assert rows
    time.sleep(0.5)


def arrow_map(path: str) -> None:
    import pyarrow

    with pyarrow.memory_map(path) as file:
        table = pyarrow.ipc.open_file(file).read_all()
        import pyarrow.compute as compute_

        assert compute_.sum(table["value"]).as_py() > 0
        time.sleep(2)


def argument(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


if __name__ == "__main__":
    job: Callable[..., None] = globals()[sys.argv[1]]
    job(*map(argument, sys.argv[2:]))
