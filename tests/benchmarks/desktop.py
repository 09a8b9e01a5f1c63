"""What a desktop feels beside a job that wants more memory than there is: alone, and with each way to deal with it.

Both are in one cage, with swap on a disk that is slowed down. The desktop stalls when touching its memory takes long.
"""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memwatch.tokenize.vocabulary import rank_file
from tests.benchmarks.caged import HERE, RUN, events_of
from tests.benchmarks.earlyoom import Beside, binary, earlyoom
from tests.benchmarks.exact import GPT2
from tests.benchmarks.measure import NotMeasured, last_line
from tests.benchmarks.report import MIB, table
from tests.benchmarks.throughput import head_of
from tests.cage import NEEDS, Cage, cage, can_cage, swap_file, throttled

# A hard disk's reads and writes. On a disk as fast as this machine's the kernel keeps up with one job that swaps, and
# a desktop this small feels little of it; from 200 on it stalls most times, but not always.
DISK_OPERATIONS_A_SECOND = 100
LIMIT_MIB = 400
DESKTOP_MIB = 200
TEXT_BYTES = 100_000_000  # in a list, 800 MiB
SWAP_BYTES = 2048 * MIB
# A touch this late counts among the stalls; a desktop that is late by a second has stalled.
LATE_S = 0.1
STALL_S = 1.0


@dataclass(frozen=True, slots=True)
class Way:
    name: str
    command: list[object]
    earlyoom_options: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Touch:
    t: float
    late_s: float


def ways(text: Path, folder: Path, calm_s: int) -> list[Way]:
    script = [sys.executable, HERE / "script.py", rank_file(GPT2), text, folder / "out" / "train.bin"]
    room_mib = LIMIT_MIB - DESKTOP_MIB
    limited = ["sh", "-c", f'ulimit -v {room_mib * 1024} && exec "$@"', "sh", *script]
    record = ("--record", folder / "out" / "journal.jsonl")
    return [
        Way("nothing else", ["sleep", calm_s]),
        Way("the script", script),
        Way(f"the script, `ulimit -v` at the {room_mib} MiB that are left", limited),
        Way("the script, earlyoom as it comes", script, ()),
        Way("the script, earlyoom tuned to this desktop (`-m 20 -s 100`)", script, ("-m", "20", "-s", "100")),
        Way("memwatch run -- the script", [*RUN, *record, "--", *script]),
        Way("memwatch run tokenize", [*RUN, *record, "tokenize", text, "--out", folder / "out"]),
    ]


def report(text: Path, folder: Path, lasts_s: int) -> list[str]:
    if not can_cage:
        raise NotMeasured(NEEDS)
    heads = ("", "worst stall, s", "stalls over 0.1 s, total s", "stalled? ", "job done? ", "work lost? ")
    with swap_file(folder, SWAP_BYTES):
        part = head_of(text, folder, TEXT_BYTES)
        rows = [row(way, folder, lasts_s) for way in ways(part, folder, lasts_s // 3)]
    megabytes = part.stat().st_size / 1e6
    return [
        f"A stand-in desktop ({DESKTOP_MIB} MiB, touched 20 times a second, and a window drawn) beside a job on "
        f"{megabytes:.0f} MB of text, both in {LIMIT_MIB} MiB with swap on a disk of {DISK_OPERATIONS_A_SECOND} "
        f"operations a second, until the job ends or for {lasts_s} s. A delay of more than a second is called a stall. "
        "earlyoom knows only the whole machine's memory; here a PID namespace and a /proc/meminfo of the cage's own "
        "show it the cage as the machine. As it comes, it acts when available memory and free swap are both below "
        "10 %, and what the desktop has mapped from files counts as available.",
        "",
        *table(heads, rows),
    ]


def row(way: Way, folder: Path, lasts_s: int) -> list[str]:
    print(f"desktop: {way.name}", file=sys.stderr)
    try:
        return [way.name, *beside(way, folder, lasts_s)]
    except (NotMeasured, OSError, subprocess.SubprocessError) as reason:
        return [way.name, *["-"] * 4, f"not measured: {reason}"]


def watcher(way: Way, made: Cage, folder: Path) -> AbstractContextManager[Beside | None]:
    if way.earlyoom_options is None:
        return nullcontext()
    return earlyoom(binary(folder), way.earlyoom_options, made, folder, SWAP_BYTES)


def beside(way: Way, folder: Path, lasts_s: int) -> list[str]:
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").mkdir()
    complaints = folder / "job.stderr"
    with (
        throttled(folder, DISK_OPERATIONS_A_SECOND) as slowly,
        cage(LIMIT_MIB * MIB) as made,
        watcher(way, made, folder) as guard,
        complaints.open("w") as stderr,
    ):
        inside = guard.command if guard else lambda *command: list(command)
        stand_in = inside(sys.executable, HERE / "stand_in.py", DESKTOP_MIB, folder / "programs")
        with started(made, slowly(made.command(*stand_in)), stdout=subprocess.PIPE, text=True) as desktop:
            assert desktop.stdout is not None
            desktop.stdout.readline()
            began = time.time()
            command = slowly(made.command(*inside(*way.command)))
            with started(made, command, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True) as job:
                code = wait(job, lasts_s)
                ended, killed = time.time(), desktop.poll() is not None
            touches = [touch for touch in map(touch_in, desktop.stdout) if touch and touch.t >= began]
        by_earlyoom = guard is not None and guard.has_killed()
    if not killed:
        touches.append(Touch(ended, ended - max((touch.t for touch in touches), default=began)))  # The one under way.
    done, lost = "yes", "no"
    if code is None:
        done, lost = f"not after {lasts_s} s{held(folder / 'out')}", "not yet"
    elif code:
        done, lost = f"no, {ending(code, by_earlyoom, complaints)}", "no" if kept(folder / "out") else "all of it"
    return [*stalls(touches), "earlyoom killed the desktop" if killed else done, lost]


@contextmanager
def started(made: Cage, command: list[str], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """Ends with the whole cage, and is waited for: a cgroup cannot be removed before."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            made.close()


def wait(job: "subprocess.Popen[bytes]", lasts_s: int) -> int | None:
    try:
        return job.wait(lasts_s)
    except subprocess.TimeoutExpired:
        return None


def touch_in(line: str) -> Touch | None:
    """None for a line cut short."""
    parts = line.split()
    return Touch(float(parts[0]), float(parts[1])) if len(parts) == 2 and line.endswith("\n") else None


def stalls(touches: list[Touch]) -> list[str]:
    worst_s = max(touch.late_s for touch in touches)
    total_s = sum(touch.late_s for touch in touches if touch.late_s > LATE_S)
    return [f"{worst_s:.2f}", f"{total_s:.1f}", "yes" if worst_s > STALL_S else "no"]


def ending(code: int, by_earlyoom: bool, complaints: Path) -> str:
    if by_earlyoom:
        return "killed by earlyoom"
    if code == 124:
        return "stopped by memwatch"
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return last_line(complaints) or f"ended with code {code}"


def held(out: Path) -> str:
    actions = [event for event in events_of(out / "journal.jsonl") if event["event"] == "action"]
    return ", paused by memwatch" if actions and actions[-1]["action"] == "pause" else ""


def kept(out: Path) -> bool:
    """Whether there are any tokens on disk to go on from."""
    return any(path.stat().st_size for path in out.rglob("*.bin*"))
