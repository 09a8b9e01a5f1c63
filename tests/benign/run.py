"""Runs healthy jobs under memwatch, each in a cage, and reports which were stopped, paused or warned about.

    python -m tests.benign.run [--cage 3] [--only NAME...] [--journals FOLDER] [--inputs FOLDER]

Default options of `memwatch run`. The exit code is 0 if no job was stopped, none was paused for more than 2 s in total
and each ended with its own exit code. Warnings are counted. With --hurry a job that has been paused for 5 s is given
up: it has failed by then, and what becomes of it takes a minute.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memwatch.model.units import GIB, MIB
from tests.benign.curves import load_curves
from tests.benign.inputs import Inputs
from tests.benign.jobs import ALL_CAGES, JOBS, Job, Setting, room_bytes
from tests.benign.record import end_on_sigterm, inputs_in, scratch_folder, warm
from tests.cage import NEEDS, cage, can_cage
from tests.helpers import HANG_S

MEMWATCH = (sys.executable, "-m", "memwatch", "run", "--ui", "none")
MOST_PAUSED_S = 2
HURRY_PAUSED_S = 5
NEAR = 0.8  # of its room: a job that comes so near is warned about with some reason
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What memwatch did to a healthy job."""

    name: str
    cage_gib: int
    code: int
    bare_code: int
    seconds: float
    events: tuple[Event, ...]
    given_up: bool = False

    @property
    def stopped(self) -> bool:
        return self.code == 124 or any(action["action"] in ("stop", "kill") for action in self.actions)

    @property
    def actions(self) -> list[Event]:
        return [event for event in self.events if event["event"] == "action"]

    @property
    def paused_s(self) -> float:
        return paused_s(self.events)

    @property
    def warnings(self) -> list[Event]:
        """Verdicts and actions that a user would see as a warning."""
        return [
            event
            for event in self.events
            if (event["event"] == "verdict" and event["level"] in ("warn", "act"))
            or (event["event"] == "action" and event["action"] == "warn")
        ]

    @property
    def problems(self) -> list[str]:
        """What breaks the promise; a warning alone does not."""
        found = []
        if self.stopped:
            found.append("stopped")
        if self.paused_s > MOST_PAUSED_S:
            found.append(f"paused for {self.paused_s:.1f} s")
        if self.given_up:
            found.append("given up")
        elif self.code != self.bare_code:
            found.append(f"exit code {self.code}, bare {self.bare_code}")
        return found


def paused_s(events: Iterable[Event]) -> float:
    """In total; a pause that nobody ended lasts until the journal does."""
    total_s, since, last = 0.0, None, 0.0
    for event in events:
        last = float(event["t"])
        if event["event"] == "action" and event["action"] == "pause" and since is None:
            since = last
        elif since is not None and event["event"] == "action" and event["action"] in ("resume", "stop", "kill"):
            total_s, since = total_s + last - since, None
    return total_s if since is None else total_s + last - since


def run(job: Job, cage_gib: int, inputs: Inputs, journal: Path, most_paused_s: float = 2 * HANG_S) -> Outcome:
    """Gives the job up, and says so, once it has been paused for `most_paused_s` or hangs."""
    with scratch_folder() as scratch, cage(cage_gib * GIB) as made:
        command = job.command(Setting(cage_gib, inputs, scratch))
        inputs.forget()
        warm(made, cage_gib)
        began_s = time.monotonic()
        with subprocess.Popen(
            made.command(*MEMWATCH, "--record", journal, "--", *command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=scratch,
        ) as process:
            try:
                given_up = not ends_in_time(process, journal, began_s + 2 * HANG_S, most_paused_s)
            finally:
                made.close()
            seconds = time.monotonic() - began_s
    return Outcome(job.name, cage_gib, process.returncode, job.code, seconds, tuple(events_in(journal)), given_up)


def ends_in_time(process: "subprocess.Popen[bytes]", journal: Path, deadline_s: float, most_paused_s: float) -> bool:
    while time.monotonic() < deadline_s:
        try:
            process.wait(timeout=1)
            return True
        except subprocess.TimeoutExpired:
            if paused_s(events_in(journal)) > most_paused_s:
                return False
    return False


def events_in(journal: Path) -> Iterator[Event]:
    if journal.exists():
        for line in journal.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


def chosen(cages: Sequence[int], only: Sequence[str] | None) -> list[tuple[Job, int]]:
    return [
        (job, cage_gib)
        for cage_gib in cages
        for job in JOBS
        if cage_gib in job.cages and (not only or job.name in only) and job.missing() is None
    ]


def outcomes(
    cages: Sequence[int],
    only: Sequence[str] | None,
    inputs: Inputs,
    journals: Path,
    most_paused_s: float = 2 * HANG_S,
) -> Iterator[Outcome]:
    for job, cage_gib in chosen(cages, only):
        journal = journals / f"{job.name}-{cage_gib}.jsonl"
        journal.unlink(missing_ok=True)
        yield run(job, cage_gib, inputs, journal, most_paused_s)


def line_of(outcome: Outcome) -> str:
    words = ", ".join(outcome.problems) or "fine"
    peak_mib = max((event.get("peak_job_bytes") or 0 for event in outcome.events), default=0) / MIB
    facts = f"{outcome.seconds:5.1f} s, {peak_mib:5.0f} of {room_bytes(outcome.cage_gib) / MIB:.0f} MiB"
    warning = f"; warned: {reason_of(outcome.warnings[0])}" if outcome.warnings else ""
    pause = f"; paused {outcome.paused_s:.2f} s" if 0 < outcome.paused_s <= MOST_PAUSED_S else ""
    return f"{outcome.name:32} {outcome.cage_gib} GiB  {facts}  {words}{pause}{warning}"


def reason_of(event: Event) -> str:
    return str(event.get("reason") or event["action"])


@dataclass(frozen=True, slots=True)
class Summary:
    runs: int
    stopped: int
    paused_over_2_s: int
    paused: int
    warned: int
    warned_far: int
    other_code: int

    @property
    def words(self) -> str:
        share = 100 * self.warned / self.runs if self.runs else 0
        return (
            f"{self.runs} runs: {self.stopped} stopped, {self.paused_over_2_s} paused for more than {MOST_PAUSED_S} s, "
            f"{self.paused} paused at all, {self.warned} warned about ({share:.1f} %; "
            f"{self.warned_far} of them never take {NEAR:.0%} of their room), "
            f"{self.other_code} with another exit code than bare"
        )


def summary_of(done: Sequence[Outcome]) -> Summary:
    near = {
        (curve.name, curve.cage_bytes // GIB)
        for curve in load_curves()
        if curve.peak_bytes >= NEAR * room_bytes(curve.cage_bytes // GIB)
    }
    return Summary(
        runs=len(done),
        stopped=sum(outcome.stopped for outcome in done),
        paused_over_2_s=sum(outcome.paused_s > MOST_PAUSED_S for outcome in done),
        paused=sum(outcome.paused_s > 0 for outcome in done),
        warned=sum(bool(outcome.warnings) for outcome in done),
        warned_far=sum(bool(each.warnings) and (each.name, each.cage_gib) not in near for each in done),
        other_code=sum(outcome.code != outcome.bare_code for outcome in done),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cage", type=int, choices=ALL_CAGES, help="one size of cage only, GiB")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these jobs only")
    parser.add_argument("--hurry", action="store_true", help="give up a job that is paused for long")
    parser.add_argument("--journals", type=Path, metavar="FOLDER", help="keep the journals here")
    parser.add_argument("--inputs", type=Path, metavar="FOLDER", help="keep the jobs' input files here")
    options = parser.parse_args()
    if not can_cage:
        sys.exit(NEEDS)
    end_on_sigterm()
    cages = ALL_CAGES if options.cage is None else (options.cage,)
    for job in JOBS:
        if (missing := job.missing()) is not None:
            print(f"{job.name:32} skipped, there is no {missing}")
    most_paused_s = HURRY_PAUSED_S if options.hurry else 2 * HANG_S
    done = []
    with ExitStack() as stack:
        inputs = stack.enter_context(inputs_in(options.inputs))
        journals = options.journals or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        journals.mkdir(parents=True, exist_ok=True)
        for outcome in outcomes(cages, options.only, inputs, journals, most_paused_s):
            print(line_of(outcome), flush=True)
            done.append(outcome)
    print(summary_of(done).words)
    return 1 if any(outcome.problems for outcome in done) else 0


if __name__ == "__main__":
    sys.exit(main())
