"""More jobs in Python, as work.py has them: recorded before the present forecast was made, and scored once."""

import collections
import csv
import dataclasses
import hashlib
import heapq
import itertools
import json
import os
import pickle
import random
import sqlite3
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from tests.decide.whole_runs.work import CHUNK, PART, report, steps, token_ids

# Lists and tables: everything stays.


def documents_flattened(path: str) -> None:
    """Ids of every document, and one list of all of them at the end."""
    with open(path) as file:
        documents = [token_ids(line) for line in file]
    flat = list(itertools.chain.from_iterable(documents))
    assert flat


def named_tuples(path: str) -> None:
    with open(path, newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        kind: Any = collections.namedtuple("kind", list(names))  # type: ignore[misc]
        held = [kind(*row) for row in rows]
    assert held


@dataclasses.dataclass(slots=True)
class _Row:
    id: int
    user: int
    words: list[str]


def objects_of_rows(path: str) -> None:
    held = []
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            held.append(_Row(row["id"], row["user"], row["text"].split()))


def minhash_signatures(path: str) -> None:
    import numpy

    factors = numpy.random.randint(1, 1 << 30, 64)
    held = {}
    with open(path) as file:
        for number, line in enumerate(file):
            hashes = numpy.array([hash(word) & 0x7FFFFFFF for word in line.split()[:8]])
            held[number] = (hashes[:, None] * factors % 2147483647).min(axis=0)


def numbers_loaded(path: str) -> None:
    import numpy

    numpy.loadtxt(path, delimiter=",")


def decoded_piece_by_piece(path: str) -> None:
    decoder = json.JSONDecoder()
    text = Path(path).read_text()
    at, rows = 1, []
    while at < len(text) - 1:
        row, at = decoder.raw_decode(text, at)
        rows.append(row)
        at += 1
        if len(rows) % 200 == 0:
            report(at, len(text))


def tree_never_cleared(path: str) -> None:
    texts = 0
    for _, element in ElementTree.iterparse(path):
        texts += len(element.text or "")


def tree_cleared(path: str) -> None:
    """The root keeps the empty elements."""
    texts = 0
    for _, element in ElementTree.iterparse(path):
        texts += len(element.text or "")
        element.clear()


# Dictionaries and sets.


def trigram_counts(path: str) -> None:
    counts: collections.Counter[tuple[str, ...]] = collections.Counter()
    with open(path) as file:
        for line in file:
            words = line.split()[:9]
            counts.update(zip(words, words[1:], words[2:], strict=False))


def latest_of_user(path: str) -> None:
    """As many entries as there are users."""
    latest = {}
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            latest[row["user"]] = row


def document_frequencies(path: str) -> None:
    counts: dict[str, int] = {}
    with open(path) as file:
        for line in file:
            for word in set(line.lower().split()):
                counts[word] = counts.get(word, 0) + 1


def words_by_length(path: str) -> None:
    found: dict[int, set[str]] = collections.defaultdict(set)
    with open(path) as file:
        for line in file:
            for word in line.split():
                found[len(word)].add(word + word[:1])


def duplicates_by_prefix(path: str) -> None:
    groups: dict[str, list[int]] = collections.defaultdict(list)
    with open(path) as file:
        for number, line in enumerate(file):
            groups[line[:14]].append(number)


def users_and_their_words(path: str) -> None:
    words: dict[int, set[str]] = collections.defaultdict(set)
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            words[row["user"]].update(row["text"].split())


# Streams and bounded memory.


def moving_window(path: str) -> None:
    window: collections.deque[int] = collections.deque(maxlen=1000)
    with open(path) as file:
        for line in file:
            window.append(len(line.split()))


def top_lines(path: str) -> None:
    heap: list[tuple[str, str]] = []
    with open(path) as file:
        for line in file:
            entry = (hashlib.md5(line.encode()).hexdigest(), line)
            if len(heap) < 20_000:
                heapq.heappush(heap, entry)
            else:
                heapq.heappushpop(heap, entry)


def sorted_runs_merged(path: str) -> None:
    """Twelve sorted pieces on disk, then a merge."""
    files = []
    with open(path) as file:
        while lines := sorted(itertools.islice(file, 36_000)):
            piece = tempfile.TemporaryFile("w+", dir=os.environ["SCRATCH"])  # noqa: SIM115
            piece.writelines(lines)
            piece.seek(0)
            files.append(piece)
    for _ in heapq.merge(*files):
        pass


def bits_of_a_filter(path: str) -> None:
    bits = bytearray(48 << 20)
    with open(path, "rb") as file:
        for line in file:
            digest = hashlib.md5(line).digest()
            for at in range(0, 12, 4):
                bits[int.from_bytes(digest[at : at + 4]) % len(bits)] = 1


def rows_to_a_database(path: str) -> None:
    base = sqlite3.connect(os.environ["SCRATCH"] + "/rows.sqlite")
    base.execute("create table rows (id integer, user integer, text text)")
    with open(path) as file:
        while lines := list(itertools.islice(file, 5000)):
            rows = [json.loads(line) for line in lines]
            base.executemany("insert into rows values (?, ?, ?)", [(r["id"], r["user"], r["text"]) for r in rows])
            base.commit()


# Libraries.


def pandas_categories(path: str) -> None:
    import pandas

    parts = []
    for part in pandas.read_csv(path, chunksize=25_000):
        part["user"] = part["user"].astype("category")
        parts.append(part)
    pandas.concat(parts)


def pandas_json(path: str) -> None:
    import pandas

    pandas.concat(list(pandas.read_json(path, lines=True, chunksize=4_000)))


def pandas_totals(path: str) -> None:
    """A total per user that every part is added to."""
    import pandas

    total = None
    for part in pandas.read_csv(path, chunksize=15_000):
        sums = part.groupby("user")[["amount"]].sum()
        total = sums if total is None else total.add(sums, fill_value=0)


def sparse_rows(path: str) -> None:
    from scipy import sparse  # type: ignore[import-untyped]
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(n_features=1 << 16)
    parts = []
    with open(path) as file:
        while lines := list(itertools.islice(file, 4000)):
            parts.append(vectorizer.transform(lines))
    sparse.vstack(parts)


def learnt_in_parts(path: str) -> None:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer, model = HashingVectorizer(n_features=1 << 18), SGDClassifier()
    with open(path) as file:
        while lines := list(itertools.islice(file, 4000)):
            labels = [len(line) % 2 for line in lines]
            model.partial_fit(vectorizer.transform(lines), labels, classes=[0, 1])


def parquet_groups(path: str) -> None:
    """A table that is read in row groups, of which one column is kept."""
    import pyarrow
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    packed = os.environ["SCRATCH"] + "/table.parquet"
    parquet.write_table(arrow_csv.read_csv(path), packed, row_group_size=4000)
    file = parquet.ParquetFile(packed)
    kept = []
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        kept.append(table.column("text").to_pylist())
        report(group + 1, file.num_row_groups)
    assert pyarrow


# Loops that report their steps.


def predictions_per_epoch(path: str) -> None:
    """Every epoch collects its predictions and drops them."""
    import numpy

    state = numpy.ones(40 << 17)
    count = 500
    predictions: list[Any] = []
    for step in steps(count):
        predictions.append(numpy.random.random((256, 512)) + state[0])
        if step % 100 == 99:
            numpy.concatenate(predictions[:10]).mean()
            predictions = []
        report(step + 1, count * PART)


def optimizer_state(path: str) -> None:
    """The state of the optimizer is allocated with the first update, after some steps."""
    import numpy

    weights, moments = numpy.ones(60 << 17), None
    for step in steps(400):
        gradient = numpy.random.random(1 << 17)
        if step % 8 == 7:
            moments = numpy.ones(120 << 17) if moments is None else moments
            moments[: 1 << 17] += gradient * weights[: 1 << 17]
        report(step + 1, 400 * PART)


def losses_kept(path: str) -> None:
    """A large model, and a small leak beside it."""
    import numpy

    weights, kept = numpy.ones(150 << 17), []
    for step in steps(600):
        batch = numpy.random.random((256, 256))
        if step % 6 == 0:
            kept.append(batch * weights[0])
        report(step + 1, 600 * PART)


def models_of_trials(path: str) -> None:
    """Forty trials, and the model of each is kept."""
    import numpy

    kept: list[Any] = []
    for step in steps(400):
        if step % 10 == 0:
            kept.append(numpy.random.random(10 << 17))
        kept[-1][: 1 << 16] += numpy.random.random(1 << 16)
        report(step + 1, 400 * PART)


def clusters(path: str) -> None:
    import numpy

    points, centres = numpy.random.random((200_000, 32)), numpy.random.random((16, 32))
    for step in steps(60):
        distances = points @ centres.T
        nearest = distances.argmax(axis=1)
        centres = numpy.array([points[nearest == at].mean(axis=0) for at in range(16)])
        report(step + 1, 60 * PART)


def images_cached(path: str) -> None:
    """A cache that is full when half of the steps are done."""
    import numpy

    cache: dict[int, Any] = {}
    for step in steps(800):
        at = random.randrange(1 << 30)
        cache[at] = numpy.random.randint(0, 255, (256, 256, 3), dtype=numpy.uint8)
        if len(cache) > 400 * PART:
            cache.pop(next(iter(cache)))
        report(step + 1, 800 * PART)


def growing_graph(path: str) -> None:
    """Every round, nodes get edges to nodes that are there already."""
    edges: dict[int, list[int]] = {0: []}
    for step in steps(300):
        for _ in range(1500):
            node = len(edges)
            edges[node] = [random.randrange(node) for _ in range(5)]
        report(step + 1, 300 * PART)


def embeddings_of_entities(path: str) -> None:
    """A vector for each entity that is seen for the first time."""
    import numpy

    vectors: dict[int, Any] = {}
    for step in steps(500):
        for entity in numpy.random.zipf(1.3, 600):
            if entity not in vectors:
                vectors[entity] = numpy.random.random(128)
        report(step + 1, 500 * PART)


def episodes_pickled(path: str) -> None:
    """Episodes are collected and written every tenth of the way."""
    episodes: list[Any] = []
    for step in steps(500):
        episodes.append([random.random() for _ in range(8000)])
        if step % 50 == 49:
            with open(os.devnull, "wb") as file:
                pickle.dump(episodes, file)
            episodes.clear()
        report(step + 1, 500 * PART)


def characters_counted(path: str) -> None:
    counts: collections.Counter[str] = collections.Counter()
    with open(path) as file:
        while text := file.read(CHUNK):
            counts.update(text)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else os.devnull)
