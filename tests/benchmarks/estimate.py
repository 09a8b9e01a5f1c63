"""Measures `memwatch estimate`: a 300 GB file is to take no longer than one of 3 GB, and no more memory.

    python tests/benchmarks/estimate.py [--rounds 5] [--corpus FILE]

The files are sparse, so this needs no space: a little real text, and nothing. They take turns, and the median of the
rounds counts. With a corpus, its estimate is compared with what tokenizing it really gives.
"""

import argparse
import json
import os
import pydoc_data.topics
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {"3 GB": 3_000_000_000, "300 GB": 300_000_000_000}
# How much longer the large file may take: machines have their moments.
MOST_TIMES = 1.5
ESTIMATE = [sys.executable, "-m", "memwatch", "estimate", "--json"]


def sparse(path: Path, size: int) -> Path:
    path.write_text("\n\n".join(pydoc_data.topics.topics.values()))
    os.truncate(path, size)
    return path


def measured(path: Path) -> tuple[float, int]:
    """Seconds and peak RSS of the whole command."""
    started_s = time.perf_counter()
    process = subprocess.Popen([*ESTIMATE, str(path)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):  # 3: the output would not fit on this disk, which is no wonder.
        sys.exit(f"estimate: failed with code {process.returncode}")
    return time.perf_counter() - started_s, usage.ru_maxrss * 1024


def compare(corpus: Path) -> None:
    found = json.loads(subprocess.run([*ESTIMATE, str(corpus)], capture_output=True, check=True).stdout)
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        started_s = time.perf_counter()
        command = [sys.executable, "-m", "memwatch", "run", "--ui", "none", "--no-record", "tokenize"]
        subprocess.run([*command, str(corpus), "--out", folder], stdout=subprocess.DEVNULL, check=True)
        took_s = time.perf_counter() - started_s
        manifest = json.loads((Path(folder) / "manifest.json").read_text())
    tokens = sum(record["tokens"] for record in manifest["files"])
    off_by = found["tokens"]["estimate"] / tokens - 1
    inside = found["tokens"]["low"] <= tokens <= found["tokens"]["high"]
    where = "inside" if inside else "OUTSIDE"
    print(f"{corpus.name}: {tokens:,} tokens, estimate off by {off_by:+.2%}, {where} its range")
    print(f"{corpus.name}: took {took_s:.1f} s, estimate {found['seconds']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--corpus", type=Path)
    args = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in SIZES}
    peaks = dict.fromkeys(SIZES, 0)
    with tempfile.TemporaryDirectory() as folder:
        files = {name: sparse(Path(folder) / f"{size}.txt", size) for name, size in SIZES.items()}
        for _ in range(args.rounds):
            for name, path in files.items():
                took_s, peak = measured(path)
                seconds[name].append(took_s)
                peaks[name] = max(peaks[name], peak)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    for name in SIZES:
        print(f"{name}: {medians[name]:.2f} s, peak {peaks[name] / 2**20:.0f} MiB")
    times = medians["300 GB"] / medians["3 GB"]
    print(f"300 GB to 3 GB: {times:.2f} times the time (at most {MOST_TIMES}), "
          f"{peaks['300 GB'] / peaks['3 GB']:.2f} times the memory")  # fmt: skip
    if args.corpus:
        compare(args.corpus)
    return int(times > MOST_TIMES)


if __name__ == "__main__":
    sys.exit(main())
