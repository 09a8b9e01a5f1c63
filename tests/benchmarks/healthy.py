"""What memwatch does to healthy jobs (tests/benign), and what it does about hogs."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from memwatch.decide.reserve import default_reserve_bytes
from tests.benchmarks.measure import NotMeasured
from tests.benchmarks.report import MIB, mebibytes, table
from tests.benign.jobs import JOBS, work
from tests.benign.record import inputs_in
from tests.benign.run import MEMWATCH, Outcome, events_in, line_of, outcomes, paused_s, reason_of, summary_of
from tests.cage import NEEDS, Cage, cage, can_cage, swap_file
from tests.guard.test_pressure import HOG
from tests.helpers import HANG_S

# Kind, MiB/s, the cage's MiB: the fast ones need room to be fast in.
MAPPED = (("mapped", 100, 1400), ("mapped", 300, 1400), ("mapped", 1000, 3000), ("mapped", 2000, 3000))
OTHERS = (("objects", 300, 1400), ("file in /dev/shm", 300, 1400), ("8 processes", 300, 1400))
WORK_OF = {"objects": "grow", "file in /dev/shm": "file_in_ram", "8 processes": "grow_in_forks"}
MORE_THAN_THERE_IS_MIB = 300
PAUSE_TIMEOUT_S = 2
SWAP_BYTES = 768 * MIB
LOOK_EVERY_S = 0.01


def healthy(folder: Path, cages: Sequence[int]) -> list[str]:
    """Every job of the collection in every cage that it fits into, with default options."""
    needs_cage()
    journals = folder / "healthy"
    journals.mkdir()
    done = []
    with inputs_in(None) as inputs:
        for outcome in outcomes(cages, None, inputs, journals):
            print(line_of(outcome), file=sys.stderr, flush=True)
            done.append(outcome)
    return healthy_lines(done, cages)


def healthy_lines(done: Sequence[Outcome], cages: Sequence[int]) -> list[str]:
    missing = sorted({name for job in JOBS if (name := job.missing()) is not None})
    return [
        f"{len({outcome.name for outcome in done})} healthy jobs in cages of {', '.join(map(str, cages))} GiB, where "
        "they fit with the default reserve, with the default options of `memwatch run`. To reach: none stopped, none "
        "paused for more than 2 s in total, fewer than 2 % warned about."
        + (f" Not here: {', '.join(missing)}." if missing else ""),
        "",
        *table(
            (
                "cage",
                "runs",
                "stopped",
                "paused over 2 s",
                "paused at all",
                "warned about",
                "of them far from the edge",
                "other exit code",
            ),
            [summary_row(f"{cage_gib} GiB", [each for each in done if each.cage_gib == cage_gib]) for cage_gib in cages]
            + [summary_row("all", done)],
        ),
        *noticed(done),
    ]


def summary_row(name: str, done: Sequence[Outcome]) -> tuple[str, ...]:
    made = summary_of(done)
    share = f" ({100 * made.warned / made.runs:.1f} %)" if made.runs else ""
    counts = (made.runs, made.stopped, made.paused_over_2_s, made.paused)
    return (name, *map(str, counts), f"{made.warned}{share}", str(made.warned_far), str(made.other_code))


def noticed(done: Sequence[Outcome]) -> list[str]:
    rows = [
        (
            outcome.name,
            f"{outcome.cage_gib} GiB",
            ", ".join(outcome.problems) or "no",
            f"{outcome.paused_s:.1f}",
            reason_of(outcome.warnings[0]) if outcome.warnings else "",
        )
        for outcome in done
        if outcome.problems or outcome.warnings or outcome.paused_s
    ]
    heads = ("job ", "cage ", "harmed? ", "paused, s", "first warning ")
    return ["", "Those that memwatch did something about:", "", *table(heads, rows)] if rows else []


@dataclass(slots=True)
class Seen:
    """What the cage itself counted."""

    least_free_bytes: int
    most_swap_bytes: int = 0
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def looked_at(made: Cage, limit_bytes: int) -> Iterator[Seen]:
    seen = Seen(limit_bytes)

    def look() -> None:
        while not seen.over.wait(LOOK_EVERY_S):
            try:
                stat = made.stats()
            except OSError:
                return
            taken = stat["total_rss"] + stat["total_shmem"]
            seen.least_free_bytes = min(seen.least_free_bytes, limit_bytes - taken)
            seen.most_swap_bytes = max(seen.most_swap_bytes, stat["total_swap"])

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield seen
    finally:
        seen.over.set()
        looker.join()


def hogs(folder: Path) -> list[str]:
    """Jobs that take more than there is, and must be caught: without swap, and with swap that must stay empty."""
    needs_cage()
    rows = [hog_row(folder, hog, "no") for hog in (*MAPPED, *OTHERS)]
    with swap_file(folder, SWAP_BYTES):
        rows += [hog_row(folder, hog, "yes") for hog in (*MAPPED, *OTHERS)]
    caught = sum(row[4].startswith("yes") for row in rows)
    heads = (
        "hog ",
        "MiB/s",
        "cage, MiB",
        "swap ",
        "caught? ",
        "warned before the pause by, s",
        "least free, MiB",
        "reserve, MiB",
        "swapped, MiB",
    )
    return [
        f"Hogs that take {MORE_THAN_THERE_IS_MIB} MiB more than there is, default options but a pause of at most "
        f"{PAUSE_TIMEOUT_S} s: {caught} of {len(rows)} caught. To reach: all, and nothing swapped at 100 MiB/s.",
        "",
        *table(heads, rows),
    ]


def hog_row(folder: Path, hog: tuple[str, int, int], swap: str) -> tuple[str, ...]:
    kind, rate_mib_s, limit_mib = hog
    journal = folder / f"hog-{kind.replace('/', '')}-{rate_mib_s}-{swap}.jsonl"
    print(f"hogs: {kind}, {rate_mib_s} MiB/s, swap: {swap}", file=sys.stderr, flush=True)
    most_mib = limit_mib + MORE_THAN_THERE_IS_MIB
    with cage(limit_mib * MIB) as made:
        options = ("--record", journal, "--pause-timeout", PAUSE_TIMEOUT_S)
        command = [sys.executable, "-c", HOG, rate_mib_s, most_mib]
        if kind in WORK_OF:
            command = work(WORK_OF[kind], most_mib, rate_mib_s)
        if swap == "no":
            made.forbid_swap()
        with (
            looked_at(made, limit_mib * MIB) as seen,
            subprocess.Popen(made.command(*MEMWATCH, *options, "--", *command)) as job,
        ):
            try:
                job.wait(timeout=HANG_S)
            except subprocess.TimeoutExpired:
                job.kill()
            finally:
                made.close()
    events = list(events_in(journal))
    acted = {event["action"]: float(event["t"]) for event in reversed(events) if event["event"] == "action"}
    lead = f"{acted['pause'] - acted['warn']:.1f}" if {"pause", "warn"} <= acted.keys() else "-"
    caught = "yes" if job.returncode == 124 else f"no, exit code {job.returncode}"
    if caught == "yes" and paused_s(events) == 0:
        caught = "yes, not paused"
    return (
        kind,
        str(rate_mib_s),
        str(limit_mib),
        swap,
        caught,
        lead,
        mebibytes(seen.least_free_bytes),
        mebibytes(default_reserve_bytes(limit_mib * MIB)),
        mebibytes(seen.most_swap_bytes),
    )


def needs_cage() -> None:
    if not can_cage:
        raise NotMeasured(NEEDS)
