"""What the jobs in Python do: python work.py NAME INPUT. Each function is one job, and reads INPUT as people do.

A job that reports progress through memwatch.job does so here by `report`, which the recorder reads.
"""

import collections
import csv
import functools
import gc
import gzip
import hashlib
import io
import itertools
import json
import os
import pickle
import random
import re
import sqlite3
import sys
import xml.etree.ElementTree as ElementTree
from array import array
from pathlib import Path
from typing import Any

CHUNK = 1 << 18
PART = float(os.environ.get("PART", "1"))  # of the steps of a job that reads no input


def report(done: float, total: float) -> None:
    os.write(2, f"progress {done} {total}\n".encode())


def steps(count: int) -> range:
    return range(round(count * PART))


def token_ids(text: str) -> list[int]:
    return [hash(word) % 50257 for word in text.split()]


# Lists: everything stays.


def list_of_tokens(path: str) -> None:
    """The script that memwatch began with."""
    import numpy

    tokens: list[int] = []
    with open(path) as file:
        while text := file.read(CHUNK):
            tokens.extend(token_ids(text))
    numpy.array(tokens, dtype=numpy.uint16).tofile(os.devnull)


def list_of_lines(path: str) -> None:
    with open(path) as file:
        lines = [line.rstrip() for line in file]
    assert lines


def list_of_words(path: str) -> None:
    words: list[str] = []
    with open(path) as file:
        for line in file:
            words += line.split()


def list_of_rows(path: str) -> None:
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    assert rows


def table_of_dicts(path: str) -> None:
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows


def lines_sorted(path: str) -> None:
    with open(path) as file:
        lines = sorted(file)
    assert lines


def pieces_joined(path: str) -> None:
    """Twice as much at the end."""
    with open(path) as file:
        pieces = [line.lower() for line in file]
    assert "".join(pieces)


def compact_array(path: str) -> None:
    tokens = array("H")
    with open(path) as file:
        while text := file.read(CHUNK):
            tokens.extend(number & 0xFFFF for number in token_ids(text))


def bytes_appended(path: str) -> None:
    held = bytearray()
    with open(path, "rb") as file:
        while data := file.read(CHUNK):
            hashlib.sha256(data).digest()
            held += data * 3


def array_concatenated(path: str) -> None:
    """numpy copies the whole array for every append."""
    import numpy

    tokens = numpy.empty(0, dtype=numpy.int64)
    with open(path) as file:
        while text := file.read(CHUNK * 2):
            tokens = numpy.concatenate([tokens, numpy.array(token_ids(text))])


def array_filled(path: str) -> None:
    """The memory is reserved at the start and becomes real as it is written."""
    import numpy

    total = os.path.getsize(path)
    tokens = numpy.zeros(total, dtype=numpy.int64)
    with open(path, "rb") as file:
        at = 0
        while data := file.read(CHUNK):
            tokens[at : at + len(data)] = numpy.frombuffer(data, dtype=numpy.uint8)
            at += len(data)
            hashlib.sha256(data).digest()


# Dictionaries and sets: growth by steps, often slower than the input.


def count_words(path: str) -> None:
    counts: collections.Counter[str] = collections.Counter()
    with open(path) as file:
        for line in file:
            counts.update(line.split())


def count_pairs(path: str) -> None:
    counts: dict[tuple[str, str], int] = {}
    with open(path) as file:
        for line in file:
            words = line.split()
            for pair in itertools.pairwise(words):
                counts[pair] = counts.get(pair, 0) + 1


def seen_lines(path: str) -> None:
    seen: set[bytes] = set()
    with open(path, "rb") as file:
        for line in file:
            seen.add(hashlib.md5(line).digest())


def inverted_index(path: str) -> None:
    index: dict[str, list[int]] = collections.defaultdict(list)
    with open(path) as file:
        for number, line in enumerate(file):
            for word in line.split():
                index[word].append(number)


def adjacency(path: str) -> None:
    neighbours: dict[str, set[str]] = collections.defaultdict(set)
    with open(path) as file:
        for line in file:
            words = line.split()
            for first, second in itertools.pairwise(words):
                neighbours[first].add(second)


def trie(path: str) -> None:
    root: dict[str, Any] = {}
    with open(path) as file:
        for line in file:
            for word in line.split():
                node = root
                for letter in word:
                    node = node.setdefault(letter, {})


def group_by_user(path: str) -> None:
    groups: dict[int, list[dict[str, Any]]] = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            groups[row["user"]].append(row)


def all_pairs(path: str) -> None:
    """Quadratic: every line is compared with those before it."""
    lengths: list[int] = []
    near: list[tuple[int, int]] = []
    with open(path) as file:
        for line in file:
            if random.random() < 0.008:
                near += [(len(line), other) for other in lengths]
                lengths.append(len(line))


# Flat, bounded, or up and down: these fit.


def streamed(path: str) -> None:
    with open(path) as file, open(os.devnull, "wb") as output:
        while text := file.read(CHUNK):
            output.write(array("H", (number & 0xFFFF for number in token_ids(text))).tobytes())


def batches_flushed(path: str) -> None:
    batch: list[Any] = []
    with open(path) as file:
        for line in file:
            batch.append(json.loads(line))
            if len(batch) >= 30_000:
                pickle.dump(batch, open(os.devnull, "wb"))  # noqa: SIM115
                batch.clear()


def large_batches_flushed(path: str) -> None:
    """Three flushes in the whole run: each rise looks like growth for ever."""
    batch: list[Any] = []
    with open(path) as file:
        while text := file.read(CHUNK):
            batch += text.split()
            if len(batch) >= 3_000_000:
                batch = []


def cached_lookups(path: str) -> None:
    @functools.lru_cache(maxsize=60_000)
    def vector(word: str) -> list[float]:
        return [float(len(word))] * 100

    with open(path) as file:
        for line in file:
            for word in line.split():
                vector(word)


def cached_pairs(path: str) -> None:
    """A cache of what hardly repeats fills in a straight line, and is full after a quarter."""

    @functools.lru_cache(maxsize=300_000)
    def score(line: str) -> tuple[int, str]:
        return len(line), line[:40]

    with open(path) as file:
        for line in file:
            score(line)


def cyclic_garbage(path: str) -> None:
    gc.set_threshold(60_000, 10, 10)

    class Node:
        def __init__(self, text: str) -> None:
            self.text = text * 20
            self.itself = self

    with open(path) as file:
        for line in file:
            Node(line)


def growth_with_garbage(path: str) -> None:
    gc.set_threshold(50_000, 20, 20)
    kept: list[Any] = []

    class Node:
        def __init__(self, text: str) -> None:
            self.words = text.split()
            self.itself = self

    with open(path) as file:
        for number, line in enumerate(file):
            node = Node(line)
            if number % 3 == 0:
                kept.append(node)


def sliding_window(path: str) -> None:
    window: collections.deque[list[str]] = collections.deque(maxlen=40_000)
    with open(path) as file:
        for line in file:
            window.append(line.split())


def reservoir(path: str) -> None:
    """A sample of fixed size: full early, then replaced."""
    kept: list[str] = []
    with open(path) as file:
        for number, line in enumerate(file):
            if len(kept) < 50_000:
                kept.append(line * 4)
            elif (at := random.randrange(number)) < len(kept):
                kept[at] = line * 4


# Libraries.


def pandas_whole(path: str) -> None:
    import pandas

    pandas.read_csv(path)


def pandas_chunks(path: str) -> None:
    import pandas

    table = pandas.concat(pandas.read_csv(path, chunksize=20_000))
    assert len(table)


def pandas_summed(path: str) -> None:
    import pandas

    totals = [chunk.groupby("user")["amount"].sum() for chunk in pandas.read_csv(path, chunksize=20_000)]
    pandas.concat(totals).groupby(level=0).sum()


def arrow_batches(path: str) -> None:
    from pyarrow import csv as arrow_csv

    options = arrow_csv.ReadOptions(use_threads=False, block_size=CHUNK)
    batches = list(arrow_csv.open_csv(path, read_options=options))
    assert batches


def vectorizer(path: str) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    with open(path) as file:
        CountVectorizer().fit_transform(file)


def dataset_mapped(path: str) -> None:
    import datasets

    datasets.disable_progress_bars()
    rows = datasets.load_dataset("text", data_files=path, split="train", cache_dir=os.environ["SCRATCH"])
    total, step = len(rows), 2000
    for start in range(0, total, step):
        part = rows.select(range(start, min(start + step, total)))
        part.map(lambda row: {"length": len(row["text"])}, keep_in_memory=True, load_from_cache_file=False)
        report(start + step, total)


def sqlite_in_memory(path: str) -> None:
    base = sqlite3.connect(":memory:")
    base.execute("create table rows (id integer primary key, user integer, text text)")
    base.execute("create index by_user on rows (user)")
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            base.execute("insert into rows (user, text) values (?, ?)", (row["user"], row["text"]))


def xml_tree(path: str) -> None:
    ElementTree.parse(path)


def json_load(path: str) -> None:
    with open(path) as file:
        json.load(file)


def unpickled(path: str) -> None:
    rows = []
    with open(path, "rb") as file:
        while True:
            try:
                rows.append(pickle.load(file))
            except EOFError:
                break


def two_passes(path: str) -> None:
    with open(path, "rb") as file:
        total = sum(1 for _ in file)
    assert total
    with open(path) as file:
        lines = [line.split() for line in file]
    assert lines


def two_columns(path: str) -> None:
    """Loads, then builds a second structure from the first after the file has been read."""
    with open(path) as file:
        words = [line.split() for line in file]
    lengths = [[len(word) for word in line] for line in words]
    assert lengths


def regex_matches(path: str) -> None:
    found = []
    pattern = re.compile(r"\b(\w*a\w*) (\w*e\w*)\b")
    with open(path) as file:
        for line in file:
            found += pattern.findall(line)


# Loops that report their steps, as a training script does through memwatch.job.


def _model(mebibytes: int) -> Any:
    import numpy

    return numpy.ones(mebibytes << 17)


def training(path: str) -> None:
    import numpy

    weights, moments = _model(80), _model(80)
    for step in steps(400):
        batch = numpy.random.random((256, 512))
        moments[: 256 * 512] += (batch @ batch.T[:, :256]).ravel()[:1].sum() + weights[0]
        report(step + 1, 400 * PART)


def training_with_leak(path: str) -> None:
    """Every step keeps its output for the curves that are drawn at the end."""
    import numpy

    weights, history = _model(60), []
    for step in steps(500):
        batch = numpy.random.random((256, 512))
        history.append(batch @ batch.T * weights[0])
        report(step + 1, 500 * PART)


def training_with_epochs(path: str) -> None:
    """The first of eight epochs fills a cache of the data set."""
    import numpy

    weights, cache = _model(60), {}
    for step in steps(640):
        at = step % 80
        if at not in cache:
            cache[at] = numpy.random.random((512, 512))
        weights[: 512 * 512] += cache[at].ravel()
        report(step + 1, 640 * PART)


def replay_buffer(path: str) -> None:
    """As in reinforcement learning: fills up to its size, then the oldest goes."""
    import numpy

    buffer: collections.deque[Any] = collections.deque(maxlen=150)
    for step in steps(900):
        buffer.append(numpy.random.random((512, 256)))
        report(step + 1, 900 * PART)


def embeddings(path: str) -> None:
    """One row of a result for every line, in batches; the batch's own memory comes and goes."""
    import numpy

    results = []
    for step in steps(300):
        hidden = numpy.random.random((1200, 1024))
        results.append(hidden[:256].copy())
        report(step + 1, 300 * PART)
    numpy.concatenate(results)


def growing_steps(path: str) -> None:
    """A simulation whose state grows in five steps."""
    import numpy

    parts = []
    for step in steps(500):
        if step % 100 == 0:
            parts.append(numpy.random.random((80 << 17) // 1))
        hashlib.sha256(parts[-1][: 1 << 14].tobytes()).digest()
        report(step + 1, 500 * PART)


def text_buffer(path: str) -> None:
    buffer = io.StringIO()
    with open(path) as file:
        for line in file:
            buffer.write(line.title())
    assert buffer.getvalue()


# Recorded after the forecast had its present form, to score it on.


def packed_lines(path: str) -> None:
    """The position is that in the packed file."""
    with gzip.open(path, "rt") as file:
        lines = [line.rstrip() for line in file]
    assert lines


def csv_columns(path: str) -> None:
    amounts, users = array("d"), array("l")
    texts: list[str] = []
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            amounts.append(float(row["amount"]))
            users.append(int(row["user"]))
            texts.append(row["text"])


def markov_chain(path: str) -> None:
    follows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    with open(path) as file:
        for line in file:
            for first, second in itertools.pairwise(line.split()[:6]):
                follows[first][second] += 1


def shingles(path: str) -> None:
    seen: set[int] = set()
    with open(path) as file:
        for line in file:
            words = line.split()
            seen.update(hash(tuple(words[at : at + 5])) for at in range(0, len(words), 3))


def pruned_counts(path: str) -> None:
    """Rare pairs are dropped whenever there are too many."""
    counts: dict[tuple[str, str], int] = {}
    with open(path) as file:
        for line in file:
            for pair in itertools.pairwise(line.split()):
                counts[pair] = counts.get(pair, 0) + 1
            if len(counts) > 250_000:
                counts = {pair: count for pair, count in counts.items() if count > 2}


def sessions(path: str) -> None:
    """What a user did last, until it is too old."""
    active: collections.OrderedDict[int, list[str]] = collections.OrderedDict()
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            active.setdefault(row["user"], []).append(row["text"])
            active.move_to_end(row["user"])
            if len(active) > 9_000:
                active.popitem(last=False)


def _lengths(lines: list[str]) -> list[tuple[str, int]]:
    return [(word, len(word)) for line in lines for word in line.split()[:4]]


def worker_pool(path: str) -> None:
    """Workers compute, and all that they return is kept."""
    import multiprocessing

    kept = []
    with multiprocessing.Pool(2) as pool, open(path) as file:
        while lines := list(itertools.islice(file, 2_000)):
            kept += pool.apply(_lengths, (lines,))


def checkpoints(path: str) -> None:
    """Flat, with a copy of everything for a moment now and then."""
    import numpy

    state = _model(90)
    for step in steps(500):
        state[: 1 << 16] += numpy.random.random(1 << 16)
        if step % 50 == 49:
            hashlib.sha256(state.tobytes()).digest()
        report(step + 1, 500 * PART)


def frames_stacked(path: str) -> None:
    """Frames in a list, and one array of all of them at the end."""
    import numpy

    frames = []
    for step in steps(600):
        frames.append(numpy.random.random((224, 224)).astype(numpy.float32))
        report(step + 1, 600 * PART)
    numpy.stack(frames)


def growing_batches(path: str) -> None:
    """Longer sequences from step to step, as a curriculum has them."""
    import numpy

    weights = _model(40)
    for step in steps(500):
        length = 128 + step * 2
        scores = numpy.random.random((8, length, length))
        weights[0] += scores.sum()
        report(step + 1, 500 * PART)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else str(Path(os.devnull)))
