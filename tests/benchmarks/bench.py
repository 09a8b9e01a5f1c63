"""Measures memwatch against what people use instead, side by side in one run, and writes results.md.

    python tests/benchmarks/bench.py CORPUS [--rounds 3]

Every figure is of a whole command, with start-up, fsync and checkpoints. The contenders take turns, the text is put
into the page cache before each, and the median of the rounds counts: machines differ and moments too, ratios less so.
"""

import argparse
import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.vocabulary import encoding_named, rank_file

HERE = Path(__file__).parent
TOKENIZE = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "tokenize"]


@dataclass
class Contender:
    name: str
    command: list[str]
    rounds: int
    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)


def tree(pid: int) -> list[int]:
    pids = [pid]
    for each in pids:
        try:
            pids += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
        except OSError:
            continue
    return pids


def measure(contender: Contender, corpus: Path, out: Path) -> None:
    subprocess.run(["cat", corpus], stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["rm", "-rf", out], check=True)
    out.mkdir()
    before = os.times()
    started = time.perf_counter()
    process = subprocess.Popen(contender.command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        contender.peak_bytes = max(contender.peak_bytes, sum(rss_bytes(pid) or 0 for pid in tree(process.pid)))
        time.sleep(0.02)
    contender.seconds.append(time.perf_counter() - started)
    after = os.times()
    contender.cpu_s.append(after.children_user + after.children_system - before.children_user - before.children_system)
    if process.returncode:
        sys.exit(f"bench: {contender.name} failed with code {process.returncode}")


def is_exact(corpus: Path, ranks: Path, out: Path) -> bool:
    """Against tiktoken over the whole text, not in chunks as the script does it."""
    code = (
        "import sys, numpy as np; from pathlib import Path; from memwatch.tokenize.vocabulary import *;"
        "text = open(sys.argv[2], 'rb').read().decode('utf-8', 'replace');"
        "whole = reference(encoding_named('gpt2'), Path(sys.argv[1])).encode_to_numpy(text, disallowed_special=());"
        "sys.exit(not np.array_equal(whole, np.fromfile(sys.argv[3], '<u2')))"
    )
    return subprocess.run([sys.executable, "-c", code, ranks, corpus, out / "train.bin"]).returncode == 0


def table(contenders: list[Contender], megabytes: float) -> list[str]:
    lines = ["| | MB/s | MB/s per core used | peak RSS, MiB | times the script |", "|---|---:|---:|---:|---:|"]
    script = contenders[0].median_s
    for contender in contenders:
        cores = max(statistics.median(contender.cpu_s) / contender.median_s, 1)
        speed = megabytes / contender.median_s
        lines.append(
            f"| {contender.name} | {speed:.1f} | {speed / cores:.1f} | {contender.peak_bytes / 2**20:.0f} "
            f"| {script / contender.median_s:.1f} |"
        )
    return lines


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown model")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("gigatoken", "tiktoken", "numpy"))
    return (
        f"{os.cpu_count()} cores of {model}, Linux {platform.release()}, Python {platform.python_version()}, {versions}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    megabytes = args.corpus.stat().st_size / 1e6
    ranks = rank_file(encoding_named("gpt2"))
    with tempfile.TemporaryDirectory(dir=args.corpus.parent) as folder:
        out = Path(folder) / "out"
        corpus = str(args.corpus)
        exact = ["--out", str(out), "--val-ratio", "0"]
        contenders = [
            Contender(
                "the script (one list of ints)",
                [sys.executable, str(HERE / "script.py"), str(ranks), corpus, str(out / "train.bin")],
                1,
            ),
            Contender(
                "gigatoken, bare loop, nothing written",
                [sys.executable, str(HERE / "bare_loop.py"), str(ranks), corpus],
                args.rounds,
            ),
            Contender("memwatch, one worker", [*TOKENIZE, corpus, *exact, "--workers", "1"], args.rounds),
            Contender("memwatch", [*TOKENIZE, corpus, *exact], args.rounds),
        ]
        for turn in range(args.rounds):
            for contender in contenders:
                if turn < contender.rounds:
                    print(f"round {turn + 1}: {contender.name}", file=sys.stderr)
                    measure(contender, args.corpus, out)
        exactness = "yes" if is_exact(args.corpus, ranks, out) else "NO"
    script, bare, _, ours = contenders
    lines = [
        "# Results of bench.py",
        "",
        f"{megabytes:.0f} MB of real English text ({machine()}).",
        "",
        *table(contenders, megabytes),
        "",
        f"- memwatch to the script: **{script.median_s / ours.median_s:.1f}x** (to reach: 15x)",
        f"- memwatch to the bare loop: **{bare.median_s / ours.median_s:.2f}x** (to reach: 0.7x)",
        f"- tokens equal to tiktoken's over the whole text: **{exactness}**",
    ]
    (HERE / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
