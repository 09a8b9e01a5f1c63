"""How cost grows with the input: 1, 4 and 16 times a small text."""

import statistics
import sys
from pathlib import Path

from tests.benchmarks.measure import NotMeasured, Run, measured
from tests.benchmarks.report import mebibytes, table
from tests.benchmarks.throughput import Command, head_of, list_script, memwatch, streaming_script

TIMES = (1, 4, 16)
COMMANDS: dict[str, tuple[Command, int]] = {
    "the script that keeps a list": (list_script, 1),
    "the script that streams": (streaming_script, 1),
    "memwatch": (memwatch(), 3),
}


def report(text: Path, folder: Path, base_bytes: int) -> list[str]:
    texts = [head_of(text, folder, base_bytes * times) for times in TIMES]
    sizes = [f"{times}x" for times in TIMES]
    heads = ["", *(f"ms per MB, {size}" for size in sizes), *(f"peak RSS, MiB, {size}" for size in sizes)]
    rows = [row(name, command, rounds, texts, folder / "out") for name, (command, rounds) in COMMANDS.items()]
    return [f"1x is {texts[0].stat().st_size / 1e6:.0f} MB of the same text.", "", *table(heads, rows)]


def row(name: str, command: Command, rounds: int, texts: list[Path], out: Path) -> list[str]:
    speeds, peaks = [], []
    try:
        for text in texts:
            print(f"growth: {name}, {text.stat().st_size / 1e6:.0f} MB", file=sys.stderr)
            runs = [measured(command(text, out), text, out) for _ in range(rounds)]
            speeds.append(f"{ms_per_mb(runs, text):.1f}")
            peaks.append(mebibytes(max(run.peak_bytes for run in runs)))
    except NotMeasured as reason:
        return [name, f"not measured: {reason}", *["-"] * (2 * len(texts) - 1)]
    return [name, *speeds, *peaks]


def ms_per_mb(runs: list[Run], text: Path) -> float:
    return statistics.median(run.seconds for run in runs) * 1000 / (text.stat().st_size / 1e6)
