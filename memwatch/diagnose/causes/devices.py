"""A full disk, and the memory of the graphics card."""

import re
from collections.abc import Iterable, Sequence

from memwatch.diagnose.causes.phrases import clock, listed, moment
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import MEMORY, Cause, Confidence, Finding, quoted
from memwatch.diagnose.logs.fault_values import GpuHang
from memwatch.diagnose.logs.log_events import DiskFull, GpuError, GpuFull
from memwatch.diagnose.timeline.model import GpuUse
from memwatch.model.units import MIB, format_size

FULL_DISK_BYTES = 100 * MIB
FULL_DISK_SHARE = 0.002
FULL_CARD_SHARE = 0.97
IDLE_CARD_SHARE = 0.10
ROOMY_CARD_SHARE = 0.90
_SHARED_MEMORY = re.compile(r"/dev/shm|shared memory segment|shm_open|unable to (?:write to|open) shared memory")
_FULL, _CARD_FULL = "no space left on device", "out of memory, of the card"


def disk_findings(evidence: Evidence) -> list[Finding]:
    found = []
    state = evidence.state
    full = [] if state is None else [
        disk for disk in state.disks if disk.free_bytes < max(FULL_DISK_BYTES, FULL_DISK_SHARE * disk.total_bytes)
    ]  # fmt: skip
    if full:
        names = listed([f"{disk.path} ({format_size(disk.free_bytes)} free)" for disk in full])
        found.append(_disk_finding(f"The disk is full now: {names}.", ["the file system itself"], evidence.now_t))
    for line in evidence.timelines:
        if line.least_disk_free_bytes is not None and line.least_disk_free_bytes < FULL_DISK_BYTES:
            left = format_size(line.least_disk_free_bytes)
            when = clock(line.least_disk_free_t, evidence.now_t)
            what = f"The disk was full: {left} left at {when}."
            found.append(_disk_finding(what, [line.name], line.least_disk_free_t))
    events = [] if evidence.log is None else [event for event in evidence.log.events if isinstance(event, DiskFull)]
    for is_shared in (False, True):
        kept = [event for event in events if bool(_SHARED_MEMORY.search(event.detail)) == is_shared]
        shown = [quoted(f"log of {each.who}{moment(each.t, evidence.now_t)}", each.detail, _FULL) for each in kept[:3]]
        if kept and is_shared:
            found.append(_shared_memory_finding(shown, kept[-1].t))
        elif kept:
            found.append(_disk_finding("A program could not write, because a disk was full.", shown, kept[-1].t))
    for run in evidence.runs:
        if run.disk_full_words is not None:
            what = f"{run.name} could not write, because a disk was full."
            found.append(_disk_finding(what, [quoted("its own words", run.disk_full_words, _FULL)], run.ended_t))
    return found


def _shared_memory_finding(shown: Sequence[str], t: float | None) -> Finding:
    """The error is that of a full disk, and there is none: the segment is a file in a tmpfs."""
    return Finding(
        Cause.DISK_FULL,
        "A program could not get shared memory, because /dev/shm was full; no disk is.",
        "/dev/shm is a file system in memory with a size of its own: 64 MiB in a container, unless it is given more.",
        Confidence.HIGH,
        tuple(shown),
        (
            "df -h /dev/shm (in the container): shows its size and what is used.",
            "docker run --shm-size=1g ...; `shm_size: 1g` in a compose file; in Kubernetes an emptyDir with"
            " `medium: Memory` at /dev/shm. What is in it counts against the container's memory limit.",
        ),
        t,
        t,
        blamed=MEMORY,
    )


def _disk_finding(what: str, shown: Sequence[str], t: float | None) -> Finding:
    return Finding(
        Cause.DISK_FULL,
        what,
        "Programs that cannot write fail, or wait; a desktop may not even start.",
        Confidence.HIGH,
        tuple(shown),
        ("Make room: `du -xh / | sort -h | tail -40` shows where it went.",),
        t,
        t,
    )


def gpu_memory_findings(evidence: Evidence) -> list[Finding]:
    shown: list[str] = []
    times, names = [], []
    for event in () if evidence.log is None else evidence.log.events:
        if isinstance(event, GpuFull):
            shown.append(quoted(f"kernel log{moment(event.t, evidence.now_t)}", event.detail, _CARD_FULL))
            times.append(event.t)
    for run in evidence.runs:
        if run.gpu_full_words is not None:
            shown.append(quoted(f"{run.name}'s own words", run.gpu_full_words, _CARD_FULL))
            names.append(run.name)
            times.append(run.ended_t)
    full = full_cards(evidence)
    if not shown:
        return []  # A card that is full is used well, as long as nobody fails for it.
    shown += [f"{use.name} held {_of(use)} at {clock(use.most_memory_t, evidence.now_t)}" for use in full]
    known = [t for t in times if t is not None]
    return [
        Finding(
            Cause.GPU_MEMORY,
            f"The graphics card's memory was full{': ' + listed(names) + ' failed for it' if names else ''}.",
            "That memory is the card's own: it ends a program, and does not freeze the machine.",
            Confidence.HIGH if full or names else Confidence.MEDIUM,
            tuple(shown[:4]),
            ("Use smaller batches, or a smaller model; nvidia-smi shows who else is on the card.",),
            min(known, default=None),
            max(known, default=None),
        )
    ]


def full_cards(evidence: Evidence) -> list[GpuUse]:
    return [use for use in _uses(evidence) if (_filled(use) or 0.0) >= FULL_CARD_SHARE]


def gpu_ruled_out(evidence: Evidence, uses: Iterable[GpuUse] | None) -> str | None:
    """In words; None if it cannot be ruled out. `uses` is of the time that matters, None if nobody looked then."""
    events = () if evidence.log is None else evidence.log.events
    if uses is None or any(isinstance(event, GpuError | GpuFull | GpuHang) for event in events):
        return None
    cards = list(uses)
    if not cards:
        return "GPU (there is none)"
    if not all(_is_idle(use) for use in cards):
        return None
    return f"GPU ({'; '.join(map(_idle_words, cards))})"


def _is_idle(use: GpuUse) -> bool:
    if use.asleep:
        return True
    if use.mean_used_fraction is None or use.mean_used_fraction > IDLE_CARD_SHARE:
        return False
    filled = _filled(use)
    return filled is not None and filled < ROOMY_CARD_SHARE


def _idle_words(use: GpuUse) -> str:
    if use.asleep or use.mean_used_fraction is None:
        return "asleep"
    return f"{use.mean_used_fraction * 100:.0f} %, {_of(use)}"


def _of(use: GpuUse) -> str:
    """'1.1 of 12.0 GiB'."""
    used, total = format_size(use.most_memory_bytes or 0), format_size(use.memory_total_bytes or 0)
    number, _, unit = used.partition(" ")
    return f"{number if total.endswith(f' {unit}') else used} of {total}"


def _filled(use: GpuUse) -> float | None:
    if use.most_memory_bytes is None or not use.memory_total_bytes:
        return None
    return use.most_memory_bytes / use.memory_total_bytes


def _uses(evidence: Evidence) -> list[GpuUse]:
    return [use for line in evidence.timelines for use in line.gpus or ()]
