"""Scripts that people really use: what is wrong is found on its line, and what is right is passed over."""

import json
import warnings
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from memwatch.diagnose.collect.input_forecast import InputForecast
from memwatch.diagnose.scripts.hits import WORDS, Pattern
from memwatch.diagnose.scripts.notebooks import read_notebook
from memwatch.diagnose.scripts.read import MOST_HITS, SOURCE_CHARACTERS, follow_script, read_script
from memwatch.model.units import GIB
from tests.diagnose.scripts.collection import NOT_FOLLOWED, SCRIPTS

COLLECTIONS = 22


def _collected(what: str, number: int) -> Any:
    """FRESH_SCRIPTS, SOURCES or CLEAR of one collection; the first has no number."""
    end = f"_{number}" if number > 1 else ""
    return getattr(import_module(f"tests.diagnose.scripts.fresh_scripts{end}"), f"{what}{end}")


WITH_CLEAR = {
    name: text for number in range(3, COLLECTIONS + 1) for name, text in _collected("FRESH_SCRIPTS", number).items()
}
CLEAR = {name for number in range(3, COLLECTIONS + 1) for name in _collected("CLEAR", number)}
ALL_SCRIPTS: dict[str, str] = SCRIPTS | _collected("FRESH_SCRIPTS", 1) | _collected("FRESH_SCRIPTS", 2) | WITH_CLEAR

EXAMPLES = Path(__file__).parent / "examples"


def hits(source: str) -> list[tuple[int, Pattern]]:
    return [(hit.line, hit.pattern) for hit in read_script(dedent(source).strip())]


def patterns(source: str) -> list[Pattern]:
    return [pattern for _, pattern in hits(source)]


def test_the_script_of_the_story() -> None:
    first, second = read_script((EXAMPLES / "mission.py").read_bytes())
    assert (first.line, first.pattern) == (15, Pattern.TOKEN_LIST)
    assert first.source == "all_tokens.extend(enc.encode_ordinary(chunk))"
    assert (second.line, second.pattern) == (16, Pattern.LIST_TO_ARRAY)
    assert "tofile" in first.instead


def test_a_prepare_that_reads_the_whole_file() -> None:
    found = read_script((EXAMPLES / "shakespeare.py").read_bytes())
    assert [(hit.line, hit.pattern) for hit in found] == [
        (16, Pattern.WHOLE_READ),
        (22, Pattern.WHOLE_ENCODE),
        (23, Pattern.WHOLE_ENCODE),
        (26, Pattern.LIST_TO_ARRAY),
        (27, Pattern.LIST_TO_ARRAY),
    ]


def test_a_prepare_that_reads_and_splits_the_whole_file() -> None:
    found = read_script((EXAMPLES / "split_whole.py").read_bytes())
    assert [(hit.line, hit.pattern) for hit in found] == [
        (14, Pattern.WHOLE_READ),
        (15, Pattern.WHOLE_SPLIT),
        (20, Pattern.TOKEN_LIST),
        (21, Pattern.LIST_TO_ARRAY),
    ]


@pytest.mark.parametrize(
    "name", ["fineweb_llmc.py", "fineweb_list.py", "openwebtext.py", "mission_stream.py", "mission_sharded.py"]
)
def test_scripts_that_are_fine_are_passed_over(name: str) -> None:
    assert read_script((EXAMPLES / name).read_bytes()) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("lines = open('big.txt').readlines()", Pattern.WHOLE_LINES),
        ("with open(path) as f:\n    lines = list(f)", Pattern.WHOLE_LINES),
        ("with open(path) as f:\n    docs = [json.loads(line) for line in f]", Pattern.RECORD_LIST),
        ("d = []\nwith open(p) as f:\n    for line in f:\n        d.append(json.loads(line))", Pattern.RECORD_LIST),
        ("docs = []\nfor line in open(p):\n    if line.strip():\n        docs.append(line)", Pattern.RECORD_LIST),
        ("data = Path(path).read_text()", Pattern.WHOLE_READ),
        ("with gzip.open(path, 'rt') as f:\n    data = f.read(-1)", Pattern.WHOLE_READ),
        ("with open(path) as f:\n    records = json.load(f)", Pattern.WHOLE_JSON),
        ("df = pd.read_csv('train.csv')", Pattern.WHOLE_TABLE),
        ("df = pd.read_parquet(path)", Pattern.WHOLE_PARQUET),
        ("table = pq.read_table(path)", Pattern.WHOLE_PARQUET),
        ("x = np.loadtxt(path)", Pattern.WHOLE_ARRAY),
        ("x = np.fromfile(path, dtype=np.uint16)", Pattern.WHOLE_ARRAY),
        ("ds = load_dataset('x', keep_in_memory=True)", Pattern.DATASET_IN_MEMORY),
        ("ds = load_dataset('x')['train']\ndf = ds.to_pandas()", Pattern.DATASET_IN_MEMORY),
        ("ds = datasets.load_dataset('x')\nrows = list(ds)", Pattern.DATASET_IN_MEMORY),
        ("ids = []\nfor doc in docs:\n    t = enc.encode(doc)\n    ids += t + [eot]", Pattern.TOKEN_LIST),
        ("ids = [t for doc in docs for t in enc.encode(doc)]", Pattern.TOKEN_LIST),
        ("a = np.array([])\nfor doc in docs:\n    a = np.append(a, f(doc))", Pattern.ARRAY_GROWTH),
        ("text = ''\nfor line in open(path):\n    text += line", Pattern.WHOLE_TEXT),
        ("words = re.findall(r'x', open(path).read())", Pattern.WHOLE_SPLIT),
        ("g = {}\nfor row in csv.reader(open(p)):\n    g.setdefault(row[0], []).append(row)", Pattern.RECORD_LIST),
        ("text = ' '.join(line.strip() for line in open(p))", Pattern.WHOLE_TEXT),
        ("ds = load_dataset('x')\nout = []\nfor i in range(len(ds)):\n    out.append(ds[i])", Pattern.RECORD_LIST),
        ("ids = list(chain.from_iterable(enc.encode(doc) for doc in docs))", Pattern.TOKEN_LIST),
        ("ids = sum((enc.encode(doc) for doc in docs), [])", Pattern.TOKEN_LIST),
        ("out = Parallel(n_jobs=8)(delayed(work)(doc) for doc in docs)", Pattern.WORKER_RESULTS),
        ("out = process_map(work, docs, max_workers=8)", Pattern.WORKER_RESULTS),
        ("out = ray.get([work.remote(doc) for doc in docs])", Pattern.WORKER_RESULTS),
        ("jobs = [pool.apply_async(f, (d,)) for d in docs]\nout = [job.get() for job in jobs]", Pattern.RECORD_LIST),
        ("df = pl.scan_csv('big.csv').filter(pl.col('x') > 1).collect()", Pattern.WHOLE_TABLE),
        ("seen = set()\nfor line in open(p):\n    seen.add(line.strip())", Pattern.RECORD_LIST),
        ("def load(p):\n    with open(p) as f:\n        return f.read()\nwords = load(p).split()", Pattern.WHOLE_SPLIT),
    ],
)  # fmt: skip
def test_what_holds_everything_is_found(source: str, expected: Pattern) -> None:
    assert expected in patterns(source)


@pytest.mark.parametrize(
    "source",
    [
        "with open(path) as f:\n    while chunk := f.read(1 << 20):\n        work(chunk)",
        "with open(path) as f:\n    for line in f:\n        work(line)",
        "with open(path) as f:\n    head = f.read(4096)",
        "with open('config.json') as f:\n    config = json.load(f)",
        "exec(open('configurator.py').read())",
        "with open('/proc/meminfo') as f:\n    text = f.read()",
        "with open(vocab_path) as f:\n    vocab = f.read().split()",
        "with open(path, 'w') as f:\n    f.write(text)",
        "for part in pd.read_csv(path, chunksize=10_000):\n    work(part)",
        "head = pd.read_csv(path, nrows=5)",
        "for batch in pq.ParquetFile(path).iter_batches():\n    work(batch)",
        "losses = []\nfor step in range(steps):\n    losses.append(train())",
        "ids = []\nfor prompt in ['a', 'b']:\n    ids.extend(enc.encode(prompt))",
        "x = np.array([1, 2, 3])",
        "x = np.array(enc.encode(prompt))",
        "parts = line.split()",
        "data = text.encode('utf-8')",
        "names = []\nfor line in open(path):\n    if line.startswith('#'):\n        names.append(line)",
        "first = []\nfor line in open(path):\n    first.append(line)\n    if len(first) > 10:\n        break",
        "some = []\nfor line in open(p):\n    some.append(line)\n    if len(some) == 9:\n        some.clear()",
        "for line in open(path):\n    ids = []\n    for word in line.split():\n        ids.append(enc.encode(word))",
        "def one(doc):\n    ids = [eot]\n    ids.extend(enc.encode(doc))\n    return np.array(ids)",
        "ds = load_dataset('x', streaming=True)\nfor row in ds:\n    work(row)",
        "x = np.load(path, mmap_mode='r')\ny = np.memmap(path)",
        "seen = set()\nfor line in open(path):\n    seen.add(hash(line))",
    ],
)  # fmt: skip
def test_what_is_fine_is_passed_over(source: str) -> None:
    assert hits(source) == []


@pytest.mark.parametrize("name", ALL_SCRIPTS)
def test_the_marked_lines_of_the_collection_are_found_and_no_others(name: str) -> None:
    text = dedent(ALL_SCRIPTS[name]).strip()
    marked = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# HOLDS")]
    assert sorted({hit.line for hit in read_script(text)}) == marked


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_what_another_module_returns_is_said_not_to_be_followed(name: str) -> None:
    reading = follow_script(dedent(NOT_FOLLOWED[name]).strip())
    assert reading.hits == []
    assert "defined elsewhere" in reading.not_followed[0].why


def test_a_notebook_is_read_by_its_code_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Data"]},
        {"cell_type": "code", "source": ["!pip install x\n", "%time\n", "f = open(path)\n", "data = f.read()"]},
        {"cell_type": "code", "source": "%%bash\nls"},
    ]
    notebook = read_notebook(json.dumps({"cells": cells}).encode())
    (hit,) = read_script(notebook.source)
    assert (hit.pattern, notebook.places[hit.line - 1]) == (Pattern.WHOLE_READ, "cell 2, line 4")
    with pytest.raises(ValueError, match="no cells"):
        read_notebook(b"{}")


def test_the_advice_for_a_table_fits_polars_too() -> None:
    (hit,) = read_script("import polars\ndf = polars.read_csv(path)")
    assert (hit.line, hit.pattern) == (2, Pattern.WHOLE_TABLE)
    assert "pl.scan_csv" in hit.instead


def test_every_pattern_has_its_words() -> None:
    assert set(WORDS) == set(Pattern)


def test_a_long_line_is_shortened_and_hits_are_counted_once() -> None:
    (hit,) = read_script("data = open(" + repr("x" * 300) + ").read()")
    assert len(hit.source) == SOURCE_CHARACTERS
    many = "\n".join(["f = open(p)"] + ["d = f.read()"] * 200)
    assert len(read_script(many)) == MOST_HITS


def test_somebody_elses_invalid_escape_is_not_our_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_script("x = '\\d'") == []


@pytest.mark.parametrize("source", [b"def (:", b"\0", b"x = " + b"(" * 5000, b"\xff\xfe"])
def test_what_is_no_python_is_an_error_of_a_known_kind(source: bytes) -> None:
    with pytest.raises((SyntaxError, ValueError, RecursionError, MemoryError)):
        read_script(source)


def test_a_forecast_from_the_size_alone_says_so() -> None:
    big = InputForecast.from_size(46 * GIB, 41 * GIB)
    assert big.fits is False
    assert "that does not fit: 41.0 GiB of memory is available here" in big.sentences()
    assert big.sentences()[-1] == "rough figures, from the size of the file alone"
    assert InputForecast.from_size(1000, GIB).fits is True
    assert InputForecast.from_size(GIB, 10 * GIB).fits is None
    assert InputForecast.from_size(GIB, None).fits is None


def test_every_collected_script_names_its_source() -> None:
    sources = [_collected("SOURCES", number) for number in range(1, COLLECTIONS + 1)]
    assert set(ALL_SCRIPTS) == set(SCRIPTS).union(*sources)
    assert len(ALL_SCRIPTS) == len(SCRIPTS) + sum(map(len, sources))  # no name twice


@pytest.mark.parametrize("name", [name for name, text in WITH_CLEAR.items() if "# HOLDS" not in text])
def test_only_a_script_of_which_every_call_is_known_gets_an_all_clear(name: str) -> None:
    reading = follow_script(dedent(ALL_SCRIPTS[name]).strip())
    assert reading.is_all_clear == (name in CLEAR)


@pytest.mark.parametrize(
    "source",
    [
        "rows = fetch(path)",
        "import corpora\nfor doc in corpora.open(path):\n    print(doc)",
        "from helpers import *",
        "with open(path) as f:\n    handlers[kind](f)",
        "def f(stream):\n    return [x for x in stream]",
        "def f(stream):\n    return sorted(stream)",
        "def f(stream):\n    return ' '.join(stream)",
        "def f(fh):\n    return fh.read()",
        "def f(docs, index):\n    for doc in docs:\n        index[doc.id] = doc",
        "def f(docs):\n    n = {}\n    for doc in docs:\n        n[doc.word] += 1",
        "def f(docs):\n    out = []\n    while docs.more():\n        out.append(docs.get())",
        "table = duckdb.sql('select * from corpus').fetchall()",
        "getattr(library, name)(path)",
        "with open(path) as f:\n    rows = [*f]",
        "with open(path) as f:\n    first, *rest = f",
        "with open(path) as f:\n    print(*f)",
        "import functools\nwith open(path) as f:\n    text = functools.reduce(join, f)",
        "import json\ndef load(f):\n    return json.load(f)",
        "def grow(stream, text):\n    for line in stream:\n        text = text + line",
        "def grow(stream, text):\n    for line in stream:\n        text = f'{text}{line}'",
        "def grow(stream, rows):\n    for row in stream:\n        rows = (rows, row)",
        "import numpy as np\ndef room(total):\n    return np.empty(total, dtype=np.uint16)",
        "import numpy as np\ndef join(parts):\n    return np.concatenate(parts)",
        "import itertools\nwith open(path) as f:\n    for line in itertools.cycle(f):\n        print(line)",
    ],
)
def test_what_is_not_known_keeps_the_all_clear_away(source: str) -> None:
    assert not follow_script(source).is_all_clear


def test_no_all_clear_for_a_script_that_gives_its_input_away() -> None:
    reading = follow_script("from mylib import run\nrun('corpus.jsonl')\n")
    assert reading.hits == []
    assert "may hold all of it" in reading.not_followed[0].why
