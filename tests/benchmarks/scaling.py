"""What the coordinator costs, and how many workers it could feed.

    python -m tests.benchmarks.scaling TEXT OUT WORKERS real|simulated      one run; prints JSON

`report` compares memwatch with two bare gigatoken processes on text, jsonl and parquet, and simulates more cores than
there are: an engine that only waits, as long as gigatoken would take, lets 64 workers run on 2 cores. What is left is
the cost of all the rest.
"""

import itertools
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from memwatch.model.units import MIB
from memwatch.tokenize import engines
from memwatch.tokenize.command import tokenize
from memwatch.tokenize.vocabulary import rank_file
from tests.benchmarks.documents import documents
from tests.benchmarks.exact import GPT2
from tests.benchmarks.measure import NotMeasured
from tests.benchmarks.report import table
from tests.benchmarks.throughput import TOKENIZE

HERE = Path(__file__).parent
HEADS = ("workers", "GB/s", "GB/s of the engines alone", "coordinator, CPU-s a GB", "all others, CPU-s a GB")
# One core of a desktop.
SIMULATED_BYTES_PER_S = 200e6
BYTES_PER_TOKEN = 4
SIMULATED_WORKERS = (4, 16, 64)
# The start of a command is to be a small part of it.
LARGE_BYTES = 2_000_000_000
ROW_GROUP = 1000
ROUNDS = 3
# Of what the engines alone would do.
KEEPS_UP = 0.8
REAL, SIMULATED = "real", "simulated"


class WaitingEngine:
    name = "simulated"
    version = "1"
    next_growth_bytes = 0

    def encode(self, text: bytes) -> engines.Tokens:
        time.sleep(len(text) / SIMULATED_BYTES_PER_S)
        return np.zeros(len(text) // BYTES_PER_TOKEN, np.uint32)

    encode_marked = encode

    def renew(self) -> None:
        """It remembers nothing."""

    def reference_engine(self) -> engines.Tiktoken:
        raise AssertionError("the waiting engine has no reference")


def _simulated(*_: object) -> engines.Chosen:
    return engines.Chosen(WaitingEngine())


def measure(text: str, out: str, workers: str, kind: str) -> dict[str, float]:
    """In this very process, which is the coordinator; its children are workers and the hasher."""
    if kind == SIMULATED:
        setattr(engines, "choose", _simulated)  # noqa: B010  The workers are forks, and have it too.
    began_s = time.monotonic()
    command = [text, "--out", out, "--workers", workers, "--val-ratio", "0", "--documents", "none"]
    tokenize.main(command, standalone_mode=False)
    took_s = time.monotonic() - began_s
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    manifest = json.loads((Path(out) / "manifest.json").read_text())
    return {
        "seconds": took_s,
        "working_s": manifest["seconds"],
        "bytes": manifest["text_bytes"],
        "coordinator_s": own.ru_utime + own.ru_stime,
        "children_s": children.ru_utime + children.ru_stime,
        "peak_bytes": manifest["peak_rss_bytes"],
    }


def _run(text: Path, out: Path, workers: int, kind: str) -> dict[str, float]:
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "tests.benchmarks.scaling", text, out, workers, kind]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    shutil.rmtree(out, ignore_errors=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _bare_s(program: str, halves: list[Path], folder: Path) -> float:
    """Two processes that read, encode and write their own file."""
    command = [sys.executable, str(HERE / program), str(rank_file(GPT2))]
    began_s = time.monotonic()
    running = [
        subprocess.Popen([*command, str(half), str(folder / f"bare{number}.bin")]) for number, half in enumerate(halves)
    ]
    if any(process.wait() != 0 for process in running):
        raise NotMeasured(f"{program} failed")
    return time.monotonic() - began_s


def _ours_s(source: Path, out: Path, workers: str = "2") -> float:
    """The whole command, as a user gives it."""
    shutil.rmtree(out, ignore_errors=True)
    options = ("--out", out, "--val-ratio", "0", "--workers", workers)
    began_s = time.monotonic()
    subprocess.run([*map(str, (*TOKENIZE, source, *options))], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began_s


def _repeated(text: Path, folder: Path) -> Path:
    """The corpus again and again, up to two GB, in the page cache."""
    large = folder / "large.txt"
    with large.open("wb") as target:
        while target.tell() < LARGE_BYTES:
            with text.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
    return large


def _halves_of_text(text: Path, folder: Path) -> list[Path]:
    half = folder / "half.txt"
    left = text.stat().st_size // 2
    with text.open("rb") as source, half.open("wb") as target:
        while data := source.read(min(left, 1 << 20)):
            left -= target.write(data)
    return [half, half]


def _documents(text: Path, folder: Path) -> tuple[list[Path], Path, Path]:
    """The documents of the text as a plain file for each of two processes, as jsonl, and as parquet. One row group
    is in memory at a time."""
    import pyarrow
    import pyarrow.parquet

    halves = [folder / f"documents{number}" for number in range(2)]
    lengths: list[list[int]] = [[], []]
    jsonl, parquet = folder / "documents.jsonl", folder / "documents.parquet"
    schema = pyarrow.schema({"text": pyarrow.string(), "id": pyarrow.int64()})
    every = enumerate(documents(str(text)))
    with (
        halves[0].open("wb") as even,
        halves[1].open("wb") as odd,
        jsonl.open("w", encoding="utf-8") as lines,
        pyarrow.parquet.ParquetWriter(parquet, schema, compression="zstd") as rows,
    ):
        while group := list(itertools.islice(every, ROW_GROUP)):
            for number, document in group:
                lengths[number % 2].append((even, odd)[number % 2].write(document.encode()))
                lines.write(json.dumps({"text": document, "id": number}, ensure_ascii=False) + "\n")
            numbers, texts = zip(*group, strict=True)
            rows.write_table(pyarrow.table({"text": texts, "id": numbers}, schema))
    for half, sizes in zip(halves, lengths, strict=True):
        np.array(sizes, np.int64).tofile(f"{half}.lengths")
    return halves, jsonl, parquet


def _read(path: Path) -> None:
    """So that it is in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def _ratio(name: str, goal: float, program: str, halves: list[Path], source: Path, folder: Path) -> list[str]:
    bare, ours = [], []
    for _ in range(ROUNDS):
        for half in halves:
            _read(half)
        bare.append(_bare_s(program, halves, folder))
        _read(source)
        ours.append(_ours_s(source, folder / "out"))
    size = sum(half.stat().st_size for half in halves)
    bare_s, ours_s = statistics.median(bare), statistics.median(ours)
    return [name, f"{size / bare_s / 1e6:.0f}", f"{size / ours_s / 1e6:.0f}", f"**{bare_s / ours_s:.2f}**", f"{goal}"]


def _cost(source: Path, folder: Path, start_s: float) -> list[str]:
    run = _run(source, folder / "out", 2, REAL)
    coordinator_s = max(run["coordinator_s"] - start_s, 0)
    return [source.suffix[1:], f"{coordinator_s / run['bytes'] * 1e9:.3f}", f"{run['peak_bytes'] / MIB:.0f}"]


def report(text: Path, folder: Path) -> list[str]:
    large = _repeated(text, folder)
    halves, jsonl, parquet = _documents(large, folder)
    text_halves = _halves_of_text(large, folder)
    ratios = [
        _ratio("text", 0.85, "bare_loop.py", text_halves, large, folder),
        _ratio("jsonl", 0.7, "bare_documents.py", halves, jsonl, folder),
        _ratio("parquet", 0.7, "bare_documents.py", halves, parquet, folder),
    ]
    tiny, small = folder / "tiny.txt", folder / "small.txt"
    with text.open("rb") as file:
        small.write_bytes(file.read(20_000_000))
    tiny.write_bytes(small.read_bytes()[:1000])
    start_s = _run(tiny, folder / "out", 2, REAL)["coordinator_s"]
    tiny_s, small_s = (
        statistics.median(_ours_s(each, folder / "out") for _ in range(ROUNDS)) for each in (tiny, small)
    )
    costs = [_cost(each, folder, start_s) for each in (large, jsonl, parquet)]
    runs = {workers: _without_start(large, tiny, folder / "out", workers) for workers in SIMULATED_WORKERS}
    return [
        f"{large.stat().st_size / 1e9:.2f} GB of text in the page cache (the corpus, repeated). Two bare gigatoken "
        "processes read, encode and write a file each; memwatch is the whole command with 2 workers, with its guard, "
        f"hashes and what it writes to disk. Medians of {ROUNDS} turns.",
        "",
        *table(("", "two bare, MB/s", "memwatch, MB/s", "ratio", "to reach"), ratios),
        "",
        f"A text of 1 kB, start to end: {tiny_s:.2f} s (to reach: the first block within 0.5 s); of 20 MB: "
        f"{small_s:.2f} s (to reach: 1 s).",
        "",
        "CPU time of the coordinator without its start (to reach: 0.15 s a GB), and peak memory of all processes:",
        "",
        *table(("", "coordinator, CPU-s a GB", "peak, MiB"), costs),
        "",
        "Simulated cores: an engine that only waits, as long as gigatoken takes on one core of a desktop. Reading, "
        "cutting and writing are real and share the cores of this machine.",
        "",
        *table(HEADS, [_simulated_row(workers, run) for workers, run in runs.items()]),
        "",
        _knee(runs),
    ]


def _without_start(text: Path, tiny: Path, out: Path, workers: int) -> dict[str, float]:
    """CPU time of a run without that of a run on almost nothing."""
    run, start = (_run(each, out, workers, SIMULATED) for each in (text, tiny))
    return run | {name: max(run[name] - start[name], 0.001) for name in ("coordinator_s", "children_s")}


def _simulated_row(workers: int, run: dict[str, float]) -> list[str]:
    gigabytes = run["bytes"] / 1e9
    return [
        f"{workers}",
        f"{gigabytes / run['working_s']:.2f}",
        f"{workers * SIMULATED_BYTES_PER_S / 1e9:.1f}",
        f"{run['coordinator_s'] / gigabytes:.3f}",
        f"{run['children_s'] / gigabytes:.2f}",
    ]


def _knee(runs: dict[int, dict[str, float]]) -> str:
    """Where more workers no longer make it faster, and why."""
    here = os.cpu_count() or 1
    followed = [
        workers
        for workers, run in runs.items()
        if run["bytes"] / run["working_s"] >= KEEPS_UP * workers * SIMULATED_BYTES_PER_S
    ]
    most = max(runs)
    gigabytes = runs[most]["bytes"] / 1e9
    serial = runs[most]["coordinator_s"] / gigabytes
    spread = runs[most]["children_s"] / gigabytes
    knee = f"up to {max(followed)} workers" if followed else f"for none of {', '.join(map(str, runs))} workers"
    return (
        f"The throughput follows the engines {knee}. Beyond that the {here} cores of this machine are the limit: the "
        f"workers and the hasher take {spread:.2f} CPU-s a GB without the engine, which is spread over the cores. The "
        f"serial part, the coordinator, takes {serial:.3f} CPU-s a GB and would be the limit at {1 / serial:.0f} GB/s."
    )


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:5])))
