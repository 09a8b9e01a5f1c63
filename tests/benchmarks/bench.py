"""Measures memwatch against what people use instead, side by side in one run, and writes results.md.

    python -m tests.benchmarks.bench CORPUS

Machines differ and moments too, ratios less so: contenders take turns, and medians count. What cannot be measured here
(no root, no package) is said in words where its figure would be.
"""

import argparse
import compileall
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memwatch.errors import printable
from tests.benchmarks import desktop, growth, guard, healthy, nodes, scaling, throughput, whole_run
from tests.benchmarks.measure import NotMeasured
from tests.benchmarks.report import machine
from tests.benign.jobs import ALL_CAGES

HERE = Path(__file__).parent
ESTIMATE_ROUNDS = 3


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", nargs="+", metavar="SECTION", help="some sections only: " + ", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int, default=3, help="turns of each fast contender (%(default)s)")
    parser.add_argument("--slow-rounds", type=int, default=2, help="turns of each slow one (%(default)s)")
    parser.add_argument("--part", type=int, default=40, metavar="MB", help="text for the slow ones (%(default)s)")
    parser.add_argument("--base", type=int, default=6, metavar="MB", help="the smallest text of growth (%(default)s)")
    parser.add_argument("--turns", type=int, default=7, help="times the guard must react (%(default)s)")
    parser.add_argument("--desktop", type=int, default=30, metavar="SECS", help="at most, beside a job (%(default)s)")
    parser.add_argument(
        "--cages", type=int, nargs="+", choices=ALL_CAGES, default=ALL_CAGES, help="GiB, for healthy jobs (%(default)s)"
    )
    parser.add_argument("--results", type=Path, default=HERE / "results.md", help="the file to write (%(default)s)")
    return parser.parse_args()


def speed(args: argparse.Namespace, folder: Path) -> list[str]:
    return throughput.report(args.corpus, folder, args.part * 1_000_000, args.rounds, args.slow_rounds)


def cores(args: argparse.Namespace, folder: Path) -> list[str]:
    return scaling.report(args.corpus, folder)


def ray_nodes(args: argparse.Namespace, folder: Path) -> list[str]:
    return nodes.report(args.corpus, folder)


def cost_growth(args: argparse.Namespace, folder: Path) -> list[str]:
    return growth.report(args.corpus, folder, args.base * 1_000_000)


def protection(args: argparse.Namespace, folder: Path) -> list[str]:
    return guard.report(folder, args.turns)


def healthy_jobs(args: argparse.Namespace, folder: Path) -> list[str]:
    return healthy.healthy(folder, args.cages)


def hogs(args: argparse.Namespace, folder: Path) -> list[str]:
    return healthy.hogs(folder)


def stand_in_desktop(args: argparse.Namespace, folder: Path) -> list[str]:
    return desktop.report(args.corpus, folder, args.desktop)


def estimate(args: argparse.Namespace, folder: Path) -> list[str]:
    program = HERE / "estimate.py"
    if not program.exists():
        raise NotMeasured("this version has no estimate")
    command = [sys.executable, program, "--rounds", str(ESTIMATE_ROUNDS), "--corpus", args.corpus]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise NotMeasured(printable(done.stderr.strip().rpartition("\n")[2]) or f"it ended with code {done.returncode}")
    return [f"- {line}" for line in done.stdout.splitlines()]


def whole_runs(args: argparse.Namespace, folder: Path) -> list[str]:
    return whole_run.report()


Section = Callable[[argparse.Namespace, Path], list[str]]
SECTIONS: dict[str, tuple[str, Section]] = {
    "speed": ("Speed, memory and exactness", speed),
    "scaling": ("The coordinator, and more cores", cores),
    "nodes": ("Two Ray nodes", ray_nodes),
    "growth": ("How cost grows with the input", cost_growth),
    "guard": ("The guard", protection),
    "healthy": ("Healthy jobs", healthy_jobs),
    "hogs": ("Hogs", hogs),
    "desktop": ("A desktop beside the job", stand_in_desktop),
    "forecast": ("The forecast of the whole run", whole_runs),
    "estimate": ("The estimate", estimate),
}


def lines_of(section: Section, args: argparse.Namespace, folder: Path) -> list[str]:
    try:
        return section(args, folder)
    except (NotMeasured, OSError, subprocess.SubprocessError) as reason:
        return [f"Not measured: {reason}."]


def end(*_: object) -> None:
    """By way of every `finally`, so that no swap file, cage or hog stays behind; a second signal must not break in."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    args = options()
    signal.signal(signal.SIGTERM, end)
    args.corpus = args.corpus.resolve()
    # As an installed package is. Where Python is to write no bytecode, every process would compile its modules.
    compileall.compile_dir(HERE.parent.parent / "memwatch", quiet=1)
    started_s = time.monotonic()
    parts = []
    with tempfile.TemporaryDirectory(dir=args.corpus.parent) as folder:
        for name, (title, section) in SECTIONS.items():
            if not args.only or name in args.only:
                began_s = time.monotonic()
                parts += ["", f"## {title}", "", *lines_of(section, args, Path(folder))]
                print(f"{name}: {time.monotonic() - began_s:.0f} s", file=sys.stderr)
    lines = [
        "# Results of bench.py",
        "",
        f"{args.corpus.stat().st_size / 1e6:.0f} MB of real English text. {machine()}. "
        f"Measured in one run of {(time.monotonic() - started_s) / 60:.0f} minutes.",
        *parts,
    ]
    args.results.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
