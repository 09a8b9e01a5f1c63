"""Jobs larger than memory, on a real machine with systemd, cgroup v2 and swap (`make test-vm`): confined, they finish,
and a desktop beside them does not stall."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.model.units import MIB
from tests.faults.test_scope import MANAGER, events, only_in_a_guest, total_bytes
from tests.faults.test_scoped_jobs import available_bytes
from tests.faults.test_swap import KEEPS, paged_out
from tests.guard.processes import Watched, wait_until
from tests.helpers import HANG_S

STAND_IN = Path(__file__).parents[1] / "benchmarks" / "stand_in.py"
DESKTOP_MIB = 60
WINDOW_MIB = 1  # With 8, an emulated CPU draws 9 frames a second, with nothing beside it.
# Measured on a quiet host: 0.03 to 0.05 s with no job, and 0.05 s beside the same job in a scope of its own. The host
# emulates the guest's CPUs, so beside other work the gaps follow its load: every report has the desktop's gap with no
# job, before and after, and a gap over this is the job's doing only where that floor is far below it.
LONGEST_GAP_S = 0.5
FLOOR_S = 12.0  # as long, before the job and after it
MOST_STALLED_S = 0.5
PLAIN_LIMIT_MIB = 300
TIMES = int(os.environ.get("MEMWATCH_TEST_TIMES", "1"))
BYTES_PER_TOKEN = 40  # in a list: a pointer, and an int object with what the allocator adds
# Reads tokens of two bytes into one list, as the script of the README does, and writes them.
LIST_SCRIPT = """
import os, sys
import numpy as np
tokens = []
with open(sys.argv[1], "rb") as file:
    while chunk := file.read(1 << 20):
        tokens.extend(np.frombuffer(chunk, dtype=np.uint16).tolist())
with open(sys.argv[2], "wb") as made:
    for at in range(0, len(tokens), 1 << 20):
        made.write(np.array(tokens[at : at + (1 << 20)], dtype=np.uint16).tobytes())
    made.flush()
    os._exit(0)  # To free millions of objects one by one would read all of them back once more.
"""
GROWS = """
held = []
while True:
    held.append(b"%d" % len(held) * (1 << 18))
"""


@dataclass
class Desktop:
    process: "subprocess.Popen[str]"
    output: Path

    def stalled_s(self, resource: str) -> float:
        """How long it has waited for memory, io or cpu: the pressure of its own cgroup."""
        cgroup = Path(f"/proc/{self.process.pid}/cgroup").read_text().strip().removeprefix("0::")
        text = Path(f"/sys/fs/cgroup{cgroup}/{resource}.pressure").read_text()
        return int(text.partition("total=")[2].split()[0]) / 1e6

    def suffered(self) -> str:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        swapped = next(line.split()[1] for line in status if line.startswith("VmSwap:"))
        waited = ", ".join(f"{self.stalled_s(name):.2f} s for {name}" for name in ("memory", "io", "cpu"))
        return f"{fields[9]} major faults, {swapped} KiB in swap, waited {waited}"

    def gaps_s(self, since_t: float, until_t: float = float("inf")) -> list[float]:
        return sorted(took for t, took in self._frames() if since_t <= t <= until_t)

    def floor_s(self) -> float:
        """Its longest gap from now on, with nothing beside it."""
        began_t = time.time()
        time.sleep(FLOOR_S)
        return self.gaps_s(began_t)[-1]

    def worst_t(self, since_t: float, until_t: float) -> float:
        """When its longest gap ended."""
        return max((took, t) for t, took in self._frames() if since_t <= t <= until_t)[1]

    def _frames(self) -> list[tuple[float, float]]:
        lines = [line.split() for line in self.output.read_text().splitlines()[1:-1]]
        return [(float(t), float(took)) for t, took in lines]


@contextmanager
def desktop(folder: Path, window_mib: int = WINDOW_MIB) -> Iterator[Desktop]:
    output = folder / "desktop.txt"
    with output.open("w") as stream:
        own_scope = ["systemd-run", *MANAGER, "--scope", "--quiet"]
        drawing = [sys.executable, STAND_IN, DESKTOP_MIB, folder / "programs", window_mib]
        process = subprocess.Popen([*own_scope, *map(str, drawing)], stdout=stream, text=True)
    try:
        deadline_s = time.monotonic() + HANG_S
        while not output.read_text() and time.monotonic() < deadline_s:
            time.sleep(0.1)
        time.sleep(3)
        yield Desktop(process, output)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def folder() -> Iterator[Path]:
    """On the disk: /tmp may be in RAM."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)


def run(record: Path, *command: object) -> tuple[int, str]:
    line = [sys.executable, "-m", "memwatch", "run", "--ui", "plain", "--pause-timeout", "20", "--record", record, "--"]
    said = []
    with subprocess.Popen([*map(str, [*line, *command])], stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for words in running.stderr:
            print(f"{time.time():.1f} {words.rstrip()}", flush=True)
            said.append(words)
    return running.returncode, "".join(said)


def words_of(gaps: list[float]) -> str:
    longest = " ".join(f"{gap:.2f}" for gap in gaps[-5:])
    return f"longest gap {gaps[-1]:.2f} s ({longest}), {sum(g > 0.2 for g in gaps)} of {len(gaps)} over 0.2 s"


@dataclass(frozen=True, slots=True)
class Beside:
    """How the desktop fared beside the job, and with no job just before and after it."""

    gaps_s: list[float]
    stalled_s: float
    floors_s: tuple[float, float]

    def assert_smooth(self) -> None:
        assert self.stalled_s <= MOST_STALLED_S
        assert self.gaps_s[-1] <= LONGEST_GAP_S, f"with no job beside it {self.floors_s} s"


def beside_a_job(words: str, folder: Path, *command: object) -> tuple[int, Beside]:
    """Runs it with memwatch beside a desktop; the exit code, and how the desktop fared. The journal is run.jsonl."""
    record = folder / "run.jsonl"
    with desktop(folder) as drawing:
        before_s = drawing.floor_s()
        waited_s, began_t = drawing.stalled_s("memory"), time.time()
        code, _ = run(record, *command)
        ended_t, stalled_s = time.time(), drawing.stalled_s("memory") - waited_s
        report(words, began_t, ended_t, record, drawing)
        floors_s = (before_s, drawing.floor_s())
        print(
            f"{words}: with no job, before and after: longest gap {floors_s[0]:.2f} and {floors_s[1]:.2f} s", flush=True
        )
        return code, Beside(drawing.gaps_s(began_t, ended_t), stalled_s, floors_s)


def report(words: str, began_t: float, ended_t: float, record: Path, beside: Desktop) -> None:
    gaps = beside.gaps_s(began_t, ended_t)
    actions = [f"{e['action']}{'~' if e.get('brief') else ''}" for e in events(record, "action")]
    facts = [e for e in events(record, "verdict") if "confined_bytes" in e]
    swapped = max((e["confined_swap_bytes"] for e in facts), default=0) / MIB
    limits = [e["confined_bytes"] / MIB for e in facts]
    worst_s = beside.worst_t(began_t, ended_t) - began_t
    print(
        f"{words}: {ended_t - began_t:.0f} s, {words_of(gaps)}, the longest after {worst_s:.0f} s; "
        f"limit {min(limits, default=0):.0f}-{max(limits, default=0):.0f} MiB, at most "
        f"{swapped:.0f} MiB in swap; desktop: {beside.suffered()}; actions {' '.join(actions)}",
        flush=True,
    )


@pytest.fixture(scope="module")
def text() -> Iterator[Path]:
    """Tokens that take twice the RAM in a list."""
    import numpy as np

    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        count = 2 * total_bytes() // BYTES_PER_TOKEN
        np.random.default_rng(1).integers(0, 50257, count, dtype=np.uint16).tofile(Path(made, "text"))
        yield Path(made, "text")


@only_in_a_guest
def test_the_same_job_in_a_scope_without_memwatch_finishes(folder: Path, text: Path) -> None:
    """What the guest and its host allow at best: the figures to compare the others with."""
    made = folder / "made"
    for window_mib in (8, 1):
        with desktop(folder, window_mib) as beside:
            time.sleep(15)
            gaps = beside.gaps_s(0)
            print(f"alone, window of {window_mib} MiB: {words_of(gaps)}; {beside.suffered()}", flush=True)
    scope = ["systemd-run", *MANAGER, "--scope", "--quiet", "-p", f"MemoryMax={PLAIN_LIMIT_MIB}M"]
    with desktop(folder) as beside:
        began_t = time.time()
        done = subprocess.run([*scope, sys.executable, "-c", LIST_SCRIPT, str(text), str(made)], timeout=HANG_S)
        gaps = beside.gaps_s(began_t)
        print(f"plain scope: {time.time() - began_t:.0f} s, {words_of(gaps)}; {beside.suffered()}", flush=True)
    assert done.returncode == 0


@only_in_a_guest
@pytest.mark.parametrize("time_number", range(TIMES))
def test_a_list_script_of_twice_the_ram_finishes(folder: Path, text: Path, time_number: int) -> None:
    made = folder / "made"
    code, beside = beside_a_job(f"list script {time_number}", folder, sys.executable, "-c", LIST_SCRIPT, text, made)
    assert code == 0
    assert made.read_bytes() == text.read_bytes()
    assert "confine" in [event["action"] for event in events(folder / "run.jsonl", "action")]
    beside.assert_smooth()


@only_in_a_guest
def test_a_job_that_needs_more_than_ram_and_swap_is_stopped(folder: Path) -> None:
    record = folder / "run.jsonl"
    code, beside = beside_a_job("more than RAM and swap", folder, sys.executable, "-c", GROWS)
    assert code == 124
    (ended,) = events(record, "exit")
    assert (ended["by"], ended["signal"]) == ("guard", 15)
    done = [event for event in events(record, "action") if not event.get("brief")]
    (stop,) = [event for event in done if event["action"] == "stop"]
    warned = [e["t"] for e in events(record, "verdict") if e["level"] == "warn" and "swap is full in" in e["reason"]]
    assert warned
    assert min(warned) < stop["t"] - 20
    beside.assert_smooth()


@only_in_a_guest
def test_a_pause_frees_the_memory_of_a_job_in_a_scope(folder: Path) -> None:
    rounds = folder / "rounds"
    size_mib = available_bytes() // MIB - default_reserve_bytes(total_bytes()) // MIB - 60
    with Watched(sys.executable, "-c", KEEPS, size_mib, rounds) as watched:
        watched.event("start")
        wait_until(rounds.exists, "the job has its memory")
        watched.tell("pause")
        watched.event("action", action="pause", by="user")
        before_bytes = available_bytes()
        paged_out(watched, 64 * MIB)
        print(f"of {size_mib} MiB paged out, {(available_bytes() - before_bytes) / MIB:.0f} MiB came free", flush=True)
        seen = int(rounds.read_text())
        began_s = time.monotonic()
        watched.tell("resume")
        wait_until(lambda: int(rounds.read_text() or 0) > seen + 1, "the job finds its memory as it was")
        print(f"back after {time.monotonic() - began_s:.1f} s", flush=True)
