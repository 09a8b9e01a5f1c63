"""What the coordinator costs, and how many workers it could feed.

    python -m tests.benchmarks.scaling TEXT OUT WORKERS real|simulated      one run; prints JSON

`report` compares memwatch with two bare gigatoken processes, and simulates more cores than there are: an engine that
only waits, as long as gigatoken would take, lets 64 workers run on 2 cores. What is left is the cost of all the rest.
"""

import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from memwatch.tokenize import engines
from memwatch.tokenize.command import tokenize
from memwatch.tokenize.vocabulary import rank_file
from tests.benchmarks.exact import GPT2
from tests.benchmarks.report import table

HERE = Path(__file__).parent
HEADS = ("workers", "GB/s", "GB/s of the engines alone", "coordinator, CPU-s a GB", "all others, CPU-s a GB")
# One core of a desktop.
SIMULATED_BYTES_PER_S = 200e6
BYTES_PER_TOKEN = 4
SIMULATED_WORKERS = (4, 16, 64)
REAL, SIMULATED = "real", "simulated"


class WaitingEngine:
    name = "simulated"
    version = "1"

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


def _bare_s(text: Path, folder: Path) -> float:
    """Two processes that read, encode and write their own file, each half of the text."""
    half = folder / "half.txt"
    left = text.stat().st_size // 2
    with text.open("rb") as source, half.open("wb") as target:
        while data := source.read(min(left, 1 << 20)):
            left -= target.write(data)
    program = [sys.executable, str(HERE / "bare_loop.py"), str(rank_file(GPT2)), str(half)]
    began_s = time.monotonic()
    running = [subprocess.Popen([*program, str(folder / f"bare{i}.bin")]) for i in range(2)]
    assert all(process.wait() == 0 for process in running)
    return time.monotonic() - began_s


def report(text: Path, folder: Path) -> list[str]:
    bare_s = _bare_s(text, folder)
    ours = _run(text, folder / "out", 2, REAL)
    tiny = folder / "tiny.txt"
    tiny.write_bytes(text.open("rb").read(1000))
    start_s = _run(tiny, folder / "out", 2, REAL)["coordinator_s"]
    gigabytes = ours["bytes"] / 1e9
    rows = []
    for workers in SIMULATED_WORKERS:
        run = _run(text, folder / "out", workers, SIMULATED)
        rows.append(
            [
                f"{workers}",
                f"{run['bytes'] / run['working_s'] / 1e9:.2f}",
                f"{workers * SIMULATED_BYTES_PER_S / 1e9:.1f}",
                f"{max(run['coordinator_s'] - start_s, 0) / gigabytes:.3f}",
                f"{run['children_s'] / gigabytes:.2f}",
            ]
        )
    return [
        f"{gigabytes:.2f} GB of text. Two bare gigatoken processes that read, encode and write their own file take "
        f"{bare_s:.1f} s; memwatch with 2 workers {ours['seconds']:.1f} s: **{bare_s / ours['seconds']:.2f}** of their "
        f"speed (to reach: 0.85). CPU time of the coordinator, without its start ({start_s:.2f} s): "
        f"**{max(ours['coordinator_s'] - start_s, 0) / gigabytes:.3f} s a GB** (to reach: 0.15).",
        "",
        "Simulated cores: an engine that only waits, as long as gigatoken takes on one core of a desktop. Reading and "
        "writing are real, and share the cores of this machine.",
        "",
        *table(
            ("workers", "GB/s", "GB/s of the engines alone", "coordinator, CPU-s a GB", "all others, CPU-s a GB"), rows
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:5])))
