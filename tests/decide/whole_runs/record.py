"""Runs the jobs of the collection, each in a cage with a part of a core, and records traces.txt.xz beside this file.

    python -m tests.decide.whole_runs.record --inputs FOLDER [--earlier] [--only NAME...] [--python PYTHON]

What the cage counts is recorded (anonymous memory and shmem) with the position that the guard's own probe finds.
--earlier gives them a part of their work and records earlier.txt.xz. PYTHON is an interpreter that has pandas, pyarrow,
datasets and scikit-learn.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from memwatch.model.sample import Process
from memwatch.model.units import GIB, MIB
from memwatch.probe.position import LOOK_INTERVAL_S, InputPosition
from tests.cage import NEEDS, Cage, cage, can_cage
from tests.decide.whole_runs.inputs import make_inputs, make_parts
from tests.decide.whole_runs.programs import JAVA_SOURCES, PROGRAMS, Program
from tests.decide.whole_runs.traces import EARLIER, EARLIER_PART, RECORDED, Moment, Trace, load_traces, save_traces

LIMIT_BYTES = 2 * GIB
LOOK_EVERY_S = 0.1
LONGEST_S = 240.0
PERIOD_US = 200_000
FIRST_SHARE = 0.5
LEAST_SHARE = 0.006
# A run this long is looked at a few hundred times.
TARGET_S = 40.0
EARLIER_TARGET_S = 15.0


@contextmanager
def slowed(share: float) -> Iterator[Path]:
    """A group whose processes get this part of a core."""
    group = Path(tempfile.mkdtemp(prefix="memwatch-test-", dir="/sys/fs/cgroup/cpu"))
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * share)))
    try:
        yield group
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def recorded(program: Program, inputs: Path, python: str, part: float = 1.0) -> Trace:
    """Runs it twice: the first run shows what share of a core makes it last."""
    target_s = TARGET_S if part == 1 else EARLIER_TARGET_S
    _, cpu_s = one_run(program, inputs, python, FIRST_SHARE, part)
    moments, _ = one_run(program, inputs, python, min(max(cpu_s / target_s, LEAST_SHARE), 1.0), part)
    return Trace(program.name, program.is_held_out, tuple(moments))


def environment(scratch: str, part: float) -> dict[str, str]:
    root = str(Path(__file__).parents[3])
    return {"SCRATCH": scratch, "HOME": scratch, "PATH": "/usr/bin:/bin", "PART": str(part), "PYTHONPATH": root}


def one_run(program: Program, inputs: Path, python: str, share: float, part: float) -> tuple[list[Moment], float]:
    """What was seen, and the processor time that it took."""
    with (
        tempfile.TemporaryDirectory(prefix="memwatch-runs-") as scratch,
        cage(LIMIT_BYTES) as made,
        slowed(share) as group,
    ):
        if program.name in JAVA_SOURCES:
            Path(scratch, "Main.java").write_text(JAVA_SOURCES[program.name])
            subprocess.run(["javac", "-d", scratch, f"{scratch}/Main.java"], check=True)
        replaced = {"SCRATCH": scratch, sys.executable: python}
        given = (word.replace("INPUT", str(inputs / program.input)) for word in program.command)
        words = made.command(*(replaced.get(word, word) for word in given))
        command = ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh", *words]
        with (
            Path(scratch, "progress").open("wb") as reports,
            subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=reports,
                cwd=scratch,
                env=environment(scratch, part),
            ) as process,
        ):
            try:
                moments, cpu_s = moments_of(process, made, Path(scratch, "progress"))
            finally:
                made.close()
        if process.returncode != 0:
            raise RuntimeError(f"exit code {process.returncode}: {Path(scratch, 'progress').read_text()[-300:]}")
    return moments, cpu_s


def moments_of(process: "subprocess.Popen[bytes]", made: Cage, reports: Path) -> tuple[list[Moment], float]:
    began_s = time.monotonic()
    position = InputPosition()
    hurry = LOOK_INTERVAL_S / LOOK_EVERY_S  # The probe looks at its own pace on a clock that runs faster.
    moments: list[Moment] = []
    with reports.open() as lines:
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return moments, usage.ru_utime + usage.ru_stime
            stat = made.stats()
            now_s = time.monotonic() - began_s
            job = [Process(pid, 0, 0, "R", 0, 0, 0.0, None, None, "") for pid in made.pids()]
            found = position.look(job, now_s * hurry * 1.01)
            fraction = None if found is None else found.done_bytes / found.total_bytes
            last = [line.split() for line in lines.read().splitlines() if line.startswith("progress ")][-1:]
            for _, done, total in last:
                fraction = float(done) / float(total)
            moments.append(Moment(now_s, stat["total_rss"] + stat["total_shmem"], fraction))
            if now_s > LONGEST_S:
                raise RuntimeError(f"not done after {LONGEST_S:.0f} s, at {fraction}")
            time.sleep(LOOK_EVERY_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--earlier", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--at-once", type=int, default=4)
    options = parser.parse_args()
    if not can_cage:
        sys.exit(NEEDS)
    make_inputs(options.inputs)
    path, inputs, part = RECORDED, options.inputs, 1.0
    if options.earlier:
        path, inputs, part = EARLIER, options.inputs / "part", EARLIER_PART
        make_parts(options.inputs, inputs, part)
    traces = {trace.name: trace for trace in load_traces(path)}
    lock = Lock()

    def record(program: Program) -> bool:
        try:
            trace = recorded(program, inputs, options.python, part)
        except (RuntimeError, OSError, subprocess.SubprocessError) as reason:
            print(f"{program.name}: FAILED, {reason}", flush=True)
            return False
        with lock:
            traces[trace.name] = trace
            save_traces(traces.values(), path)
        known = sum(moment.fraction is not None for moment in trace.moments)
        print(
            f"{program.name}: {trace.seconds:.0f} s, {trace.peak_bytes / MIB:.0f} MiB, {known} of {len(trace.moments)}",
            flush=True,
        )
        return True

    chosen = [program for program in PROGRAMS if not options.only or program.name in options.only]
    with ThreadPoolExecutor(options.at_once) as pool:
        return 0 if all(list(pool.map(record, chosen))) else 1


if __name__ == "__main__":
    sys.exit(main())
