"""Measures the guard: what it costs, how soon it acts, and what a desktop beside a hog feels with it and without.

    python tests/benchmarks/guard.py TEXT

Hogs live in a memory cgroup with a swap file of its own; needs root and the v1 controllers. Prints Markdown.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memwatch.tokenize.rss import rss_bytes
from memwatch.tokenize.vocabulary import encoding_named, rank_file
from tests.cage import Cage, cage, swap_file, throttled

HERE = Path(__file__).parent
MIB = 1 << 20
PAGE_BYTES = 4096
RUN = (sys.executable, "-m", "memwatch", "run", "--ui", "none")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

STARTS = 21
CALM_S = 20
BURSTS = 11
# A modest solid-state disk, one read at a time; the swap of this machine's own disk is faster than most.
DISK_READS_A_SECOND = 2000
DESKTOP_LIMIT_MIB = 400
DESKTOP_MIB = 200
DESKTOP_S = 60
STALL_S = 1.0


def main() -> int:
    text = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=text.parent) as folder:
        print("\n".join(report(text, Path(folder))))
    return 0


def report(text: Path, folder: Path) -> list[str]:
    size_bytes, cpu_share = cost(folder)
    with swap_file(folder, 2048 * MIB):
        lead_s, swapped_bytes = slow_hog(folder)
        desktops = list(desktop_table(text, folder))
    quiet, busy = reactions_s(folder), reactions_s(folder, burners=os.cpu_count() or 1)
    rate_bytes_s, left_bytes = fast_hog(folder)
    return [
        "| the guard | measured | to reach |",
        "|---|---:|---:|",
        f"| its memory, MiB | {size_bytes / MIB:.1f} | 20 |",
        f"| its CPU time while all is calm, % of a core | {cpu_share * 100:.2f} | 0.5 |",
        f"| a wrapped command starts later by, ms (median of {STARTS}) | {start_delay_s(folder) * 1000:.0f} | 150 |",
        f"| from a burst to the pause, ms (median of {BURSTS}) | {quiet * 1000:.0f} | 150 |",
        f"| the same with all cores busy | {busy * 1000:.0f} | 150 |",
        f"| 100 MiB/s: the warning comes before the first page is swapped out by, s | {lead_s:.1f} | 5 |",
        f"| 100 MiB/s: swapped out when it is acted on, MiB | {swapped_bytes / MIB:.0f} | 64 |",
        f"| {rate_bytes_s / 2**30:.1f} GiB/s: headroom left when it is paused, MiB | {left_bytes / MIB:.0f} | 0 |",
        "",
        *desktops,
    ]


def cost(folder: Path) -> tuple[int, float]:
    """(RSS, share of a core) of a guard that has nothing to do."""
    with subprocess.Popen([*RUN, "--record", folder / "calm.jsonl", "--", "sleep", "1000"]) as front:
        time.sleep(3)
        guard = int(Path(f"/proc/{front.pid}/task/{front.pid}/children").read_text().split()[0])
        before = cpu_s(guard)
        time.sleep(CALM_S)
        share = (cpu_s(guard) - before) / CALM_S
        size = rss_bytes(guard) or 0
        front.send_signal(signal.SIGTERM)
    return size, share


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def start_delay_s(folder: Path) -> float:
    """How much later the job begins; both take turns."""
    delays: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(STARTS):
        for wrapped in (True, False):
            prefix = [*RUN, "--record", str(folder / f"start{turn}.jsonl"), "--"] if wrapped else []
            began = time.time_ns()
            done = subprocess.run([*prefix, "date", "+%s%N"], capture_output=True, text=True, check=True)
            delays[wrapped].append((int(done.stdout) - began) / 1e9)
    return statistics.median(delays[True]) - statistics.median(delays[False])


def reactions_s(folder: Path, burners: int = 0) -> float:
    """The median time from a burst that would end headroom within a second to the pause."""
    burn = [sys.executable, "-c", "while True: pass"]
    with ExitStack() as stack:
        for _ in range(burners):
            burner = stack.enter_context(subprocess.Popen(burn))
            stack.callback(burner.kill)
        return statistics.median(reaction_s(folder) for _ in range(BURSTS))


def reaction_s(folder: Path) -> float:
    with cage(700 * MIB) as made, running(made, folder, "burst.py", 1.5, 300, 400, reserve_mib=500) as job:
        began = float(job.line())
        return float(job.action("pause")["t"]) - began


def slow_hog(folder: Path) -> tuple[float, int]:
    """(seconds from the warning to the first page in swap if nobody acts, bytes in swap when somebody does)."""
    with cage(1400 * MIB) as made, running(made, folder, "burst.py", 0, 100, 1600, wish="warn") as job:
        warned = float(job.action("warn")["t"])
        lead_s = next(t for t, size in job.swapped_out() if size > 0) - warned
    with cage(1400 * MIB) as made, running(made, folder, "burst.py", 0, 100, 1600) as job:
        paused = float(job.action("pause")["t"])
        swapped = max((size for t, size in job.swapped_out_so_far() if t <= paused), default=0)
    return lead_s, swapped


def fast_hog(folder: Path) -> tuple[float, int]:
    """(its rate, headroom when it is paused)."""
    reserve_mib = 256
    with cage(3000 * MIB) as made, running(made, folder, "burst.py", 1, 99999, 2600, reserve_mib=reserve_mib) as job:
        began = float(job.line())
        paused = float(job.action("pause")["t"])
        time.sleep(0.3)
        used = made.number("memory.usage_in_bytes")
    return used / (paused - began), (3000 - reserve_mib) * MIB - used


@dataclass
class Desktop:
    name: str
    worst_s: float
    stalled_s: float
    outcome: str


def desktop_table(text: Path, folder: Path) -> Iterator[str]:
    yield (
        f"A stand-in desktop ({DESKTOP_MIB} MiB, touched 20 times a second) beside a job, both in "
        f"{DESKTOP_LIMIT_MIB} MiB with swap on a disk of {DISK_READS_A_SECOND} reads a second, for {DESKTOP_S} s:"
    )
    yield ""
    yield "| | worst stall, s | stalls over 0.1 s, total s | the job |"
    yield "|---|---:|---:|---|"
    script = [sys.executable, HERE / "script.py", rank_file(encoding_named("gpt2")), text, folder / "script.bin"]
    tokenize = [*RUN, "--record", folder / "tokenize.jsonl", "tokenize", text, "--out", folder / "out"]
    for name, command in {
        "nothing else": ["sleep", "20"],
        "the script": script,
        "memwatch run -- the script": [*RUN, "--record", folder / "script.jsonl", "--", *script],
        "memwatch run tokenize": tokenize,
    }.items():
        desktop = beside(name, command, folder)
        yield f"| {name} | {desktop.worst_s:.2f} | {desktop.stalled_s:.1f} | {desktop.outcome} |"


def beside(name: str, command: list[object], folder: Path) -> Desktop:
    with cage(DESKTOP_LIMIT_MIB * MIB) as made, throttled(folder, DISK_READS_A_SECOND) as slowly:
        stand_in = (sys.executable, HERE / "stand_in.py", DESKTOP_MIB, folder / "programs")
        touches = subprocess.Popen(slowly(made.command(*stand_in)), stdout=subprocess.PIPE, text=True)
        assert touches.stdout is not None
        touches.stdout.readline()
        began = time.time()
        job = subprocess.Popen(slowly(made.command(*command)), start_new_session=True)
        try:
            outcome = {0: "done", 124: "stopped by memwatch"}.get(job.wait(DESKTOP_S), "failed")
        except subprocess.TimeoutExpired:
            outcome = f"not done after {DESKTOP_S} s"
        touches.kill()
        rows = [tuple(map(float, line.split())) for line in touches.stdout.read().splitlines() if line.count(" ") == 1]
        touches.wait()
        made.close()
        job.wait()
    took = [seconds for t, seconds in rows if t >= began]
    return Desktop(name, max(took), sum(seconds for seconds in took if seconds > 0.1), outcome)


class Running:
    """A job under guard, seen through its journal."""

    def __init__(self, process: "subprocess.Popen[str]", journal: Path) -> None:
        self._process = process
        self._journal = journal

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def events(self) -> list[dict[str, Any]]:
        lines = self._journal.read_bytes().splitlines(keepends=True) if self._journal.exists() else []
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def action(self, name: str) -> dict[str, Any]:
        while True:
            for event in self.events():
                if event["event"] == "action" and event["action"] == name:
                    return event
            time.sleep(0.02)

    def swapped_out_so_far(self) -> list[tuple[float, int]]:
        """(when, bytes since the start)."""
        pages = [(e["t"], e["paging"]["swapped_out_pages"]) for e in self.events() if e["event"] == "sample"]
        return [(t, (count - pages[0][1]) * PAGE_BYTES) for t, count in pages]

    def swapped_out(self) -> list[tuple[float, int]]:
        """The same, once there is something."""
        while not (seen := self.swapped_out_so_far()) or seen[-1][1] == 0:
            time.sleep(0.05)
        return seen


@contextmanager
def running(
    made: Cage, folder: Path, program: str, *arguments: object, reserve_mib: int = 140, wish: str = "pause"
) -> Iterator[Running]:
    journal = Path(tempfile.mktemp(suffix=".jsonl", dir=folder))
    options = ("--record", journal, "--reserve", f"{reserve_mib}M", "--on-pressure", wish)
    command = made.command(*RUN, *options, "--", sys.executable, HERE / program, *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Running(process, journal)
        finally:
            made.close()


if __name__ == "__main__":
    sys.exit(main())
