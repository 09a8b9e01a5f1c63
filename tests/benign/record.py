"""Runs healthy jobs bare, each in a cage, and records what they take: tests/benign/curves.txt.xz.

    python -m tests.benign.record [--cage 3] [--only NAME...] [--inputs FOLDER]

What the cage itself counts is recorded: anonymous memory and shmem, and the page cache. A job that takes more than its
room, or ends with another exit code than it should, is a mistake in the collection and is reported, not recorded.
Curves of the same jobs and cages are replaced, others are kept as long as the collection has them.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memwatch.model.units import GIB, MIB
from tests.benign.curves import Curve, Point, load_curves, save_curves, thin
from tests.benign.inputs import Inputs
from tests.benign.jobs import ALL_CAGES, JOBS, Job, Setting, room_bytes
from tests.cage import NEEDS, Cage, cage, can_cage
from tests.helpers import HANG_S

LOOK_EVERY_S = 0.006
USED_ERROR = 0.006  # of the peak: with the rounding in the file less than 1 %
CACHE_ERROR = 0.03  # of the cage
PRIORITY = -10  # A recorder that waits for its turn misses a steep rise; the job itself runs at the usual one.
# Takes memory and ends. A virtual machine's memory comes from its host at first touch, ten times slower than from its
# own kernel: without this the curves would be those of the host.
WARM = """
import mmap, sys
held = mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.madvise(mmap.MADV_HUGEPAGE)
held.madvise(23)
"""


class DoesNotFit(Exception):
    """The message says how the job and its cage do not go together."""


@contextmanager
def inputs_in(folder: Path | None) -> Iterator[Inputs]:
    """A folder that is given stays; otherwise there is one for as long as the block lasts."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield Inputs(folder)
        return
    with tempfile.TemporaryDirectory(prefix="memwatch-benign-") as made:
        Path(made).chmod(0o755)  # A database does not run as root.
        yield Inputs(Path(made))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memwatch-benign-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def warm(made: Cage, cage_gib: int) -> None:
    subprocess.run(made.command(sys.executable, "-c", WARM, room_bytes(cage_gib)), check=True, timeout=HANG_S)


def recorded(job: Job, cage_gib: int, inputs: Inputs) -> Curve:
    with scratch_folder() as scratch, cage(cage_gib * GIB) as made:
        command = job.command(Setting(cage_gib, inputs, scratch))
        inputs.forget()
        warm(made, cage_gib)
        with subprocess.Popen(
            made.command(*command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=scratch,
            preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, 0),
        ) as process:
            try:
                points = points_of(process, made)
            finally:
                made.close()
            _, errors = process.communicate(timeout=HANG_S)
    peak_bytes = max(point.used_bytes for point in points)
    if process.returncode != job.code:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2][:150]
        raise DoesNotFit(f"exit code {process.returncode} at {peak_bytes / MIB:.0f} MiB: {last}")
    if peak_bytes > room_bytes(cage_gib):
        raise DoesNotFit(f"takes {peak_bytes / MIB:.0f} MiB of {room_bytes(cage_gib) / MIB:.0f}")
    kept = thin(points, max(peak_bytes * USED_ERROR, MIB / 4), cage_gib * GIB * CACHE_ERROR)
    return Curve(job.name, cage_gib * GIB, tuple(kept))


def points_of(process: "subprocess.Popen[bytes]", made: Cage) -> list[Point]:
    began_s = time.monotonic()
    points = []
    while process.poll() is None:
        stat = made.stats()
        now_s = time.monotonic() - began_s
        cache = stat["total_active_file"] + stat["total_inactive_file"]
        points.append(Point(now_s, stat["total_rss"] + stat["total_shmem"], cache))
        if now_s > HANG_S:
            raise DoesNotFit(f"not done after {HANG_S} s")
        time.sleep(LOOK_EVERY_S)
    return points


def end_on_sigterm() -> None:
    """By way of every `finally`, so that no cage, process or folder stays behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cage", type=int, choices=ALL_CAGES, help="one size of cage only, GiB")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--inputs", type=Path, metavar="FOLDER", help="keep the jobs' input files here")
    options = parser.parse_args()
    if not can_cage:
        sys.exit(NEEDS)
    end_on_sigterm()
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    known = {(job.name, cage_gib * GIB) for job in JOBS for cage_gib in job.cages}
    curves = {at: curve for curve in load_curves() if (at := (curve.name, curve.cage_bytes)) in known}
    failed = 0
    with inputs_in(options.inputs) as inputs:
        for cage_gib in ALL_CAGES if options.cage is None else (options.cage,):
            for job in JOBS:
                if cage_gib not in job.cages or (options.only and job.name not in options.only):
                    continue
                if (missing := job.missing()) is not None:
                    print(f"{job.name}, {cage_gib} GiB: skipped, there is no {missing}", flush=True)
                    continue
                began_s = time.monotonic()
                try:
                    curve = recorded(job, cage_gib, inputs)
                except (DoesNotFit, OSError, subprocess.SubprocessError) as reason:
                    failed += 1
                    print(f"{job.name}, {cage_gib} GiB: FAILED, {reason}", flush=True)
                    continue
                curves[curve.name, curve.cage_bytes] = curve
                save_curves(curves.values())
                print(
                    f"{job.name}, {cage_gib} GiB: {curve.seconds:.1f} s, peak {curve.peak_bytes / MIB:.0f} of "
                    f"{room_bytes(cage_gib) / MIB:.0f} MiB, {len(curve.points)} points "
                    f"({time.monotonic() - began_s:.0f} s in all)",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
