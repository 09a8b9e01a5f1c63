"""Records an hour of honest work in 3 GiB, for tests/decide/test_benign_hour.py: nobody is to be warned about it.

The job: a compile of numpy from source and copies of a file as big as the memory, in turns. Beside it a browser that
looks at pages. It is looked at as often as the guard would, but left alone. What is kept is what the forecast reads.

    python -m tests.benchmarks.benign_hour tests/decide/benign_hour.csv.xz
"""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from memwatch.decide.forecast import forecast, next_interval_s
from memwatch.decide.history import History
from memwatch.decide.reserve import default_reserve_bytes
from memwatch.model.sample import Sample
from memwatch.model.units import GIB, KIB, MIB
from memwatch.probe.machine import Machine
from tests.browser import NAMES
from tests.cage import NEEDS, cage, can_cage

LIMIT_BYTES = 3 * GIB
RESERVE_BYTES = default_reserve_bytes(LIMIT_BYTES)
# A page of some hundred MiB, as a shop or a map has it.
PAGE = """<!doctype html><title>A page</title><body><script>
for (let i = 0; i < 40; i++) {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1200;
  const pen = canvas.getContext('2d');
  for (let j = 0; j < 400; j++) { 
    pen.fillStyle = `hsl(${i * j % 360} 60% 50%)`; pen.fillRect(j * 3, i * j % 900, 90, 90);
  }
  document.body.append(canvas);
}
for (let i = 0; i < 20000; i++)
  document.body.append(Object.assign(document.createElement('p'), {textContent: `line ${i}`}));
setInterval(() => document.body.prepend(document.body.lastChild), 500);
</script>"""
# Each page is looked at for half a minute; a debugging port keeps it open.
BROWSE = """while true; do
    timeout 30 "$1" --headless --no-sandbox --disable-gpu --remote-debugging-port=0 "$2"
    sleep 15
done"""


def work(folder: Path, until_s: float) -> None:
    """The job: whoever works on a program compiles it, and copies big files."""
    big = folder / "big"
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-cache-dir",
        "--no-binary",
        "numpy",
        "numpy",
    ]
    while time.monotonic() < until_s:
        shutil.copyfile(big, folder / "copy")
        subprocess.run(["cp", big, folder / "another"], check=True)
        time.sleep(10)
        left_s = until_s - time.monotonic()
        try:
            subprocess.run([*wheel, "--wheel-dir", folder], check=True, timeout=max(left_s, 1))
        except subprocess.TimeoutExpired:
            return
        time.sleep(20)


def record(folder: Path, lasts_s: int) -> Iterator[Sample]:
    (folder / "page.html").write_text(PAGE)
    with (folder / "big").open("wb") as big:
        for _ in range(LIMIT_BYTES // (64 * MIB)):
            big.write(bytes(64 * MIB))
    job = [sys.executable, "-m", "tests.benchmarks.benign_hour", "--work", str(lasts_s), folder]
    browser = ["sh", "-c", BROWSE, "sh", next(filter(shutil.which, NAMES)), (folder / "page.html").as_uri()]
    with (
        cage(LIMIT_BYTES) as made,
        subprocess.Popen(made.command(*browser), stderr=subprocess.DEVNULL) as beside,
        subprocess.Popen(made.command(*job)) as working,
    ):
        try:
            yield from looks(working, beside.pid)
        finally:
            made.close()


def looks(job: "subprocess.Popen[bytes]", browser_pid: int) -> Iterator[Sample]:
    machine, history = Machine(), History()
    while job.poll() is None:
        sample = machine.sample(time.monotonic(), time.time(), {os.getpid()}, {browser_pid})
        if sample.limits:  # It is in its cage by now.
            history.add(sample)
            yield sample
        time.sleep(next_interval_s(forecast(history, lambda _: RESERVE_BYTES)))


def facts_of(sample: Sample) -> dict[str, int]:
    assert sample.memory is not None
    return {"total_bytes": sample.memory.total_bytes, "limit_bytes": LIMIT_BYTES, "reserve_bytes": RESERVE_BYTES}


def row_of(sample: Sample) -> tuple[float, ...]:
    """What the forecast reads; not who the processes were, the disk, the GPU."""
    memory, pressure, paging, limit = sample.memory, sample.pressure, sample.paging, sample.limits[0]
    assert memory is not None
    assert pressure is not None
    assert paging is not None
    return (
        round(sample.clock_s, 3),
        memory.available_bytes // KIB,
        limit.used_bytes // KIB,
        sample.job_bytes // KIB,
        pressure.memory_some_us,
        pressure.memory_full_us,
        paging.swapped_in_pages,
        paging.swapped_out_pages,
        paging.major_faults or 0,
        paging.refaults or 0,
    )


def write(samples: Iterable[Sample], path: Path) -> None:
    """Facts in JSON, then a line a sample; time and counters from their first value on, which pack better."""
    with lzma.open(path, "wt") as file:
        first: tuple[float, ...] | None = None
        for sample in samples:
            row = row_of(sample)
            if first is None:
                first = (row[0], 0, 0, 0, *row[4:])
                file.write(json.dumps(facts_of(sample)) + "\n")
            file.write(",".join(f"{value - before:.10g}" for value, before in zip(row, first, strict=True)) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    if options.work:
        return work(options.path, time.monotonic() + options.work)
    if not can_cage:
        sys.exit(NEEDS)
    if not any(map(shutil.which, NAMES)):
        sys.exit("there is no browser here")
    with tempfile.TemporaryDirectory(prefix="memwatch-benign-") as folder:
        write(record(Path(folder), options.seconds), options.path)


if __name__ == "__main__":
    main()
