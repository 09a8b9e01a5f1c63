"""A run such as the one memwatch was made for, as its journal would have it: for the tests of the page."""

import math
from collections.abc import Iterator
from dataclasses import replace

from memwatch.diagnose.findings import Cause, Confidence, Diagnosis, Finding, Source
from memwatch.journal.events import Event, action_event, exit_event, sample_event, start_event, verdict_event
from memwatch.journal.liveness import GuardId
from memwatch.model.sample import Gpu, Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB

BEGIN_T = 1_763_302_800.0  # 2025-11-16 14:20:00 UTC
TOTAL = int(62.6 * GIB)
SWAP = 16 * GIB
STALL = (440.0, 602.0)  # when the recorder itself did not get to run
END_S = 712.0
COMMAND = ["/usr/bin/python3", "/home/me/prepare.py", "--hub-token", "hf_SECRET"]


def freeze() -> Iterator[Event]:
    """A list that outgrows 62.6 GiB, then swap; 162 s in which nobody could look; an end by the kernel's own hand."""
    yield start_event(BEGIN_T, "a-run", GuardId(4000, 1), COMMAND, {"reserve_bytes": 4 * GIB}, {})
    said: set[str] = set()
    second = 0.0
    while second <= END_S:
        if not STALL[0] < second < STALL[1]:
            yield sample_event(_sample(second))
            yield from _said(second, said)
        second += 2.0 if second < 380 else 0.5
    yield exit_event(BEGIN_T + END_S, None, 9, None)


def diagnosis() -> Diagnosis:
    thrashing = Finding(
        Cause.SWAP_THRASHING,
        "Swap thrashing: python3 prepare.py (41031) grew from 0.3 to 61 GiB in 6 min.",
        "Available memory was under 1 GiB at 14:26:58 and swap was full at 14:29:41; programs waited for memory 71 % "
        "of the time.",
        Confidence.HIGH,
        ("memwatch's journal, 14:20 to 14:31", "kernel log: oom-kill of 41031 at 14:31:52"),
        ("memwatch run tokenize train_fineweb.txt", "or: memwatch run -- python prepare.py"),
        BEGIN_T + 418,
        BEGIN_T + 690,
    )
    killed = Finding(
        Cause.OOM_KILL,
        "The kernel killed python3 prepare.py (41031), which held 76 GiB in RAM and swap.",
        "Nothing was left, in RAM or in swap.",
        Confidence.HIGH,
        ("kernel log: Out of memory: Killed process 41031",),
        (),
        BEGIN_T + END_S,
        BEGIN_T + END_S,
    )
    return Diagnosis(
        (thrashing, killed),
        ("GPU (0 %, 1.1 of 12.0 GiB): it waited for data", "disk full (212 GiB free)"),
        ("which line allocated; memray run prepare.py would tell",),
        (Source("memwatch's journal", found="of this run"), Source("kernel log", missing="you may not read it")),
    )


def _sample(second: float) -> Sample:
    grown = min(second / 400, 1.0) * 61 * GIB
    swapped = 0.0 if second < 400 else min((second - 400) / 180, 1.0) * 15.6 * GIB
    used = min(4.2 * GIB + grown + 0.3 * GIB * math.sin(second / 7), TOTAL - 0.4 * GIB)
    stalled = 0.0 if second < 380 else min((second - 380) * 0.4, (second - 380) * 0.75)
    rss = int(grown - swapped * 0.9)
    moved = int(swapped / 8)
    browser = Process(2210, 77, 1, "S", int(6.1 * GIB) - moved, moved, 90.0, None, None, "/usr/lib/firefox")
    paged = max(second - 402, 0.0)
    return Sample(
        t=BEGIN_T + second,
        clock_s=5000 + second,
        memory=Memory(TOTAL, int(TOTAL - used), SWAP, int(SWAP - swapped), 0),
        pressure=Pressure(int(stalled * 1e6), int(stalled * 0.6e6), int(stalled * 1.1e6), int(stalled * 0.7e6)),
        paging=Paging(
            int(paged * 38 * 256), int(max(paged * 61 + 40 * math.sin(paged / 5), 0) * 256), int(paged * 900)
        ),
        job=(Process(41031, 99, 4000, "R", rss, int(swapped * 0.8), second, 1, 1, " ".join(COMMAND)),),
        gpus=(Gpu(0, "NVIDIA GeForce RTX 4070 Ti", 0.0, int(1100 * MIB), 12 * GIB, 41.0),),
        others=(browser,) if second % 10 == 0 else None,
    )


def _swapped_out_pages(seconds: float) -> int:
    return int(max(seconds * 61 + 40 * math.sin(seconds / 5), 0.0) * 256)


def _said(second: float, said: set[str]) -> Iterator[Event]:
    def once(at: float, name: str) -> bool:
        due = second >= at and name not in said
        said.add(name) if due else None
        return due

    t = BEGIN_T + second
    if once(330, "watch"):
        yield verdict_event(t, "watch", "RAM is full in about 58 s at this rate", 58.0)
    if once(372, "warn"):
        yield verdict_event(t, "warn", "RAM is full in about 12 s at this rate (the job grows 156.0 MiB/s)", 12.0)
        yield action_event(t, "warn", [], "guard", "done", reason="RAM is full soon")
    if once(384, "act"):
        yield verdict_event(t, "act", "RAM is full in about 2.0 s at this rate", 2.0)
        yield action_event(t, "pause", [41031], "guard", "done", reason="RAM is full in about 2.0 s", next="stop")
    if once(389, "resume"):
        yield action_event(t, "resume", [41031], "user", "done", reason="asked for")


HOSTILE = "<img src=x onerror=alert(1)>\"'&\x1b[31m\n\u202e</script><style>*{display:none}"


def hostile_run() -> Iterator[Event]:
    """Names, reasons and kinds as bad as they come; values of the wrong kind among them."""
    yield start_event(BEGIN_T, HOSTILE, GuardId(1, 1), [HOSTILE, HOSTILE], {"reserve_bytes": "much"}, {})
    for second in range(0, 20, 2):
        sample = _sample(float(second))
        job = tuple(replace(process, command=HOSTILE) for process in sample.job)
        limits = (Limit(f"/{HOSTILE}", 8 * GIB, GIB),)
        yield sample_event(replace(sample, job=job, others=job, limits=limits, gpus=(Gpu(0, HOSTILE, 0.5),)))
    yield verdict_event(BEGIN_T + 3, "act", HOSTILE, None)
    yield verdict_event(BEGIN_T + 4, HOSTILE, HOSTILE, None)
    yield action_event(BEGIN_T + 5, HOSTILE, [], HOSTILE, HOSTILE, reason=HOSTILE)
    yield {"t": BEGIN_T + 6, "event": HOSTILE}
    yield {"t": BEGIN_T + 7, "event": "sample", "memory": HOSTILE}
    yield {"t": BEGIN_T + 8, "event": "gap", "lost_lines": HOSTILE, "reason": None}
    yield {"t": BEGIN_T + 9, "event": "start", "guard": HOSTILE, "command": HOSTILE}
    yield exit_event(BEGIN_T + 20, None, None, HOSTILE)


def hostile_diagnosis() -> Diagnosis:
    texts = (HOSTILE,)
    finding = Finding(Cause.OOM_KILL, HOSTILE, HOSTILE, Confidence.LOW, texts, texts, BEGIN_T + 2, BEGIN_T + 4)
    return Diagnosis((finding,), texts, texts, (Source(HOSTILE, found=HOSTILE), Source(HOSTILE, missing=HOSTILE)))


PRIVATE = (
    "alice",
    "nimbus",
    "/home",
    "s3cret",
    "/user.slice",
    "docker-77aa",
    "/data",
    "10.0.0.7",
    "filer01",
    "C:\\Users",
)


def in_a_cgroup(by: str | None = None, path: str = "/docker/77aa") -> Iterator[Event]:
    """A job that fills the 8 GiB of its cgroup on a machine with plenty left; `by` is who ended it."""
    yield start_event(BEGIN_T, "a-run", GuardId(4000, 1), COMMAND, {"reserve_bytes": GIB}, {})
    for second in range(0, 60, 2):
        sample = _sample(float(second))
        used = int(8 * GIB * second / 58)
        yield sample_event(replace(sample, limits=(Limit(path, 8 * GIB, used),), gpus=None))
    yield exit_event(BEGIN_T + 60, None if by is None else 124, 9 if by is None else None, by)


def private_run() -> Iterator[Event]:
    command = ["/home/alice/venv/bin/python", "/home/alice/prepare.py", "--token", "s3cret"]
    yield start_event(BEGIN_T, "a-run", GuardId(4000, 1), command, {"reserve_bytes": GIB}, {})
    for second in range(0, 20, 2):
        sample = _sample(float(second))
        job = tuple(replace(process, command=" ".join(command)) for process in sample.job)
        other = replace(job[0], pid=77, command="/opt/alice-tool --host nimbus")
        limits = (Limit("/user.slice/user-1000.slice/docker-77aa.scope", 8 * GIB, GIB),)
        yield sample_event(replace(sample, job=job, others=(other,), limits=limits))
    yield verdict_event(BEGIN_T + 3, "act", "the disk of /data/alice/out is full on nimbus", None)
    yield action_event(BEGIN_T + 5, "stop", [1], "guard", "done", reason="'/home/alice/my file' is on 10.0.0.7")
    yield exit_event(BEGIN_T + 20, None, 9, None)


def private_diagnosis() -> Diagnosis:
    texts = (
        "nimbus: python read /home/alice/corpus/a.txt, ~/notes.txt, ../alice/x and C:\\Users\\alice\\x",
        "nfs: server filer01 not responding; alice@nimbus.example.org; user=Alice",
        "the memory limit of /user.slice/user-1000.slice/docker-77aa.scope was reached",
        "echo 1 > /proc/sys/vm/compact_memory: larger pieces stay free.",
    )
    finding = Finding(Cause.OOM_KILL, texts[0], texts[1], Confidence.LOW, texts, texts, BEGIN_T + 2, BEGIN_T + 4, texts)
    sources = (Source("journal /home/alice/run.jsonl", found=texts[0]), Source("nimbus", missing=texts[1]))
    return Diagnosis((finding,), texts, texts, sources)
