"""What the guard costs, how soon it acts, and how much room is left then.

Hogs live in a memory cgroup with a swap file of its own, which needs root and the v1 controllers.
"""

import os
import signal
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from memwatch.decide.actions import LadderSettings, OnPressure
from memwatch.probe.cgroups import memory_sample
from memwatch.tokenize.rss import rss_bytes
from tests.benchmarks.caged import HERE, PATIENCE_S, RUN, running
from tests.benchmarks.measure import NotMeasured
from tests.benchmarks.report import MIB, table
from tests.cage import NEEDS, Cage, cage, can_cage, swap_file

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
STARTS = 15
SETTLES_S = 10
CALM_S = 30
IDLE = "for i in $(seq 300); do sleep 1000 & done; wait"
SWAP_BYTES = 2048 * MIB
FAST_MIB_S = 2048
FAST_MOST_MIB = 2600
FAST_LIMIT_MIB = 3000
FAST_RESERVE_MIB = 256
FAST_TURNS = 3
FAST_SPARE_MIB = 5600
FAST_NEEDS_MIB = 10000
REACTION_LIMIT_MIB = 800
REACTION_RESERVE_MIB = 140
REACTION_MIB_S = 100
POLL_S = 0.004

Row = tuple[str, str, str]


def report(folder: Path, turns: int) -> list[str]:
    rows = [
        *rows_of(cost_rows, "its memory and CPU time", folder),
        *rows_of(start_rows, "a wrapped command starts later", folder),
        *rows_of(reaction_rows, "from crossing the act level to the pause", folder, turns),
        *rows_of(slow_rows, "100 MiB/s: the warning's lead, and what is swapped out", folder),
        *rows_of(fast_rows, "2 GiB/s: headroom left when it is paused", folder),
    ]
    return table(("", "measured", "to reach"), rows)


def rows_of(measure: Callable[..., Iterator[Row]], name: str, *arguments: object) -> list[Row]:
    """The measured rows, or one that says why there are none."""
    print(f"guard: {name}", file=sys.stderr)
    try:
        return list(measure(*arguments))
    except (NotMeasured, OSError, subprocess.SubprocessError) as reason:
        return [(name, f"not measured: {reason}", "-")]


def cost_rows(folder: Path) -> Iterator[Row]:
    size_bytes, cpu_share = cost(folder, "sleep", "1000")
    yield "its memory, MiB", f"{size_bytes / MIB:.1f}", "20"
    yield "its CPU time while all is calm, % of a core", f"{cpu_share * 100:.2f}", "0.5"
    _, cpu_share = cost(folder, "sh", "-c", IDLE)
    yield "the same beside a job of 300 idle processes", f"{cpu_share * 100:.2f}", "1"


def cost(folder: Path, *command: str) -> tuple[int, float]:
    """(RSS, share of a core) of a guard that has nothing to do."""
    with subprocess.Popen([*RUN, "--record", folder / "calm.jsonl", "--", *command]) as front:
        try:
            time.sleep(SETTLES_S)
            guard = int(Path(f"/proc/{front.pid}/task/{front.pid}/children").read_text().split()[0])
            before = cpu_s(guard)
            time.sleep(CALM_S)
            return rss_bytes(guard) or 0, (cpu_s(guard) - before) / CALM_S
        finally:
            front.send_signal(signal.SIGTERM)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def start_rows(folder: Path) -> Iterator[Row]:
    """How much later the job begins; both take turns."""
    delays: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(STARTS):
        for wrapped in (True, False):
            prefix = [*RUN, "--record", str(folder / f"start{turn}.jsonl"), "--"] if wrapped else []
            began = time.time_ns()
            done = subprocess.run([*prefix, "date", "+%s%N"], capture_output=True, text=True, check=True)
            delays[wrapped].append((int(done.stdout) - began) / 1e6)
    delay_ms = statistics.median(delays[True]) - statistics.median(delays[False])
    yield f"a wrapped command starts later by, ms (median of {STARTS})", f"{delay_ms:.0f}", "150"


def needs_cage() -> None:
    if not can_cage:
        raise NotMeasured(NEEDS)


def reaction_rows(folder: Path, turns: int) -> Iterator[Row]:
    needs_cage()
    what = "from crossing the act level to the pause"
    yield f"{what}, ms (median of {turns})", f"{reactions_s(folder, turns) * 1000:.0f}", "150"
    busy_s = reactions_s(folder, turns, burners=os.cpu_count() or 1)
    yield "the same with all cores busy", f"{busy_s * 1000:.0f}", "150"
    burst_s = statistics.median(burst_reaction_s(folder) for _ in range(turns))
    yield "from calm to a burst that ends headroom in 0.6 s, to the pause, ms", f"{burst_s * 1000:.0f}", "-"


def reactions_s(folder: Path, turns: int, burners: int = 0) -> float:
    burn = [sys.executable, "-c", "while True: pass"]
    with ExitStack() as stack:
        for _ in range(burners):
            burner = stack.enter_context(subprocess.Popen(burn))
            stack.callback(burner.kill)
        return statistics.median(reaction_s(folder) for _ in range(turns))


def reaction_s(folder: Path) -> float:
    """From when headroom is what a steady hog takes in `act_s`, as the kernel counts it, to the pause."""
    room_bytes = (REACTION_LIMIT_MIB - REACTION_RESERVE_MIB) * MIB
    arguments = (1, REACTION_MIB_S, REACTION_LIMIT_MIB)
    with (
        cage(REACTION_LIMIT_MIB * MIB) as made,
        running(made, folder, "burst.py", *arguments, reserve_mib=REACTION_RESERVE_MIB) as job,
    ):
        job.line()
        crossed = time_of_crossing(made, room_bytes)
        return float(job.action("pause")["t"]) - crossed


def time_of_crossing(made: Cage, most_bytes: int) -> float:
    act_s = LadderSettings(OnPressure.PAUSE).ahead_s
    seen: deque[tuple[float, int]] = deque()
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        now, used = time.time(), made.number("memory.usage_in_bytes") - made.cache_bytes()
        seen.append((now, used))
        while now - seen[0][0] > 1:
            since, used_then = seen.popleft()
            if most_bytes - used <= (used - used_then) / (now - since) * act_s:
                return now
        time.sleep(POLL_S)
    raise NotMeasured("the hog never came to the act level")


def burst_reaction_s(folder: Path) -> float:
    with cage(700 * MIB) as made, running(made, folder, "burst.py", 1.5, 300, 400, reserve_mib=500) as job:
        began = float(job.line())
        return float(job.action("pause")["t"]) - began


def slow_rows(folder: Path) -> Iterator[Row]:
    """Nobody acts the first time, and the guard the second."""
    needs_cage()
    with swap_file(folder, SWAP_BYTES):
        with cage(1400 * MIB) as made, running(made, folder, "burst.py", 0, 100, 1600, wish="warn") as job:
            warned = float(job.action("warn")["t"])
            lead_s = next(t for t, size in job.swapped_out() if size > 0) - warned
        with cage(1400 * MIB) as made, running(made, folder, "burst.py", 0, 100, 1600) as job:
            paused = float(job.action("pause")["t"])
            swapped = max((size for t, size in job.swapped_out_so_far() if t <= paused), default=0)
    yield "100 MiB/s: the warning comes before the first page is swapped out by, s", f"{lead_s:.1f}", "5"
    yield "100 MiB/s: swapped out when it is acted on, MiB", f"{swapped / MIB:.0f}", "64"


def fast_rows(folder: Path) -> Iterator[Row]:
    needs_cage()
    if (memory_sample().available_bytes or 0) < FAST_NEEDS_MIB * MIB:
        raise NotMeasured(f"needs {FAST_NEEDS_MIB // 1000} GB of free memory, to hold some of it ready")
    with memory_from_host(FAST_SPARE_MIB):
        rate_bytes_s, left_bytes = min((fast_hog(folder) for _ in range(FAST_TURNS)), key=lambda hog: hog[1])
    name = f"{rate_bytes_s / 2**30:.1f} GiB/s (2 are asked for): headroom left when it is paused, MiB"
    yield f"{name} (least of {FAST_TURNS})", f"{left_bytes / MIB:.0f}", "0"


def fast_hog(folder: Path) -> tuple[float, int]:
    """(the rate really reached, headroom when it is paused)."""
    arguments = (1, FAST_MIB_S, FAST_MOST_MIB)
    with (
        cage(FAST_LIMIT_MIB * MIB) as made,
        running(made, folder, "burst.py", *arguments, reserve_mib=FAST_RESERVE_MIB) as job,
    ):
        began = float(job.line())
        paused = float(job.action("pause")["t"])
        time.sleep(0.3)
        used = made.number("memory.usage_in_bytes") - made.cache_bytes()
    return used / (paused - began), (FAST_LIMIT_MIB - FAST_RESERVE_MIB) * MIB - used


@contextmanager
def memory_from_host(size_mib: int) -> Iterator[None]:
    """A virtual machine's memory comes from its host at first touch, ten times slower than from its own kernel, and
    free memory may go back at once, if it is free in pieces of 2 MiB. So a process takes some, and gives every other
    MiB free: that stays, and is what the kernel gives away first."""
    hold = [sys.executable, str(HERE / "spare.py"), str(size_mib)]
    with subprocess.Popen(hold, stdout=subprocess.PIPE, text=True) as spare:
        try:
            assert spare.stdout is not None
            if not spare.stdout.readline():
                raise NotMeasured("memory cannot be held ready here")
            yield
        finally:
            spare.kill()
