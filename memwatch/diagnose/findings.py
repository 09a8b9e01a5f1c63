"""Findings: what went wrong, why, on what evidence, and what to do; and a Diagnosis, which is all that is known.

Times are Unix seconds; None where the evidence does not tell. Every text may hold names from outside (of programs, of
cgroups): whoever shows one makes it printable first.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum


class Confidence(StrEnum):
    """high: seen directly, or from two places. medium: seen in one. low: it fits, and so would something else."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Cause(StrEnum):
    """What is looked for; the order is that of the report where two are as bad and as sure."""

    SEGMENT_FAILED = "segment-failed"  # of a run on many machines
    SWAP_THRASHING = "swap-thrashing"
    PAGE_CACHE_CHURN = "page-cache-churn"
    OOM_KILL = "oom-kill"
    CGROUP_LIMIT = "cgroup-limit"
    OOM_UNKNOWN_LIMIT = "oom-unknown-limit"  # an OOM kill; the log does not say whose limit was reached
    FRAGMENTATION = "fragmentation"  # enough memory was free, in pieces that are too small
    LOWMEM = "lowmem"  # enough memory was free, in a zone that the request cannot use
    ALLOCATION_FAILURE = "allocation-failure"  # of one page, at once; nobody is killed for it
    SYSRQ_OOM_KILL = "sysrq-oom-kill"  # by hand
    OOMD_KILL = "oomd-kill"  # by systemd-oomd
    DAEMON_KILL = "daemon-kill"  # by earlyoom or nohang
    STOPPED_BY_MEMWATCH = "stopped-by-memwatch"
    DIRTY_STALL = "dirty-stall"
    DISK_FULL = "disk-full"  # before faults: what cannot be written shows as one
    DISK_FAULT = "disk-fault"
    GPU_XID = "gpu-xid"
    GPU_HANG = "gpu-hang"
    GPU_MEMORY = "gpu-memory"
    HARDWARE_ERROR = "hardware-error"
    KERNEL_BUG = "kernel-bug"  # an oops, a BUG or a panic of the kernel, and memory did not run out
    CPU_LOCKUP = "cpu-lockup"
    HUNG_TASKS = "hung-tasks"
    OVERHEATING = "overheating"
    CPU_SATURATION = "cpu-saturation"
    MEMORY_STALLS = "memory-stalls"  # since boot, at times that nobody wrote down
    UNEXPLAINED_FREEZE = "unexplained-freeze"


# Times in which the machine did not answer, as opposed to moments at which something was killed or full.
FREEZES = frozenset(
    {
        Cause.SWAP_THRASHING,
        Cause.PAGE_CACHE_CHURN,
        Cause.DIRTY_STALL,
        Cause.HUNG_TASKS,
        Cause.CPU_LOCKUP,
        Cause.CPU_SATURATION,
        Cause.UNEXPLAINED_FREEZE,
    }
)

DISK, GRAPHICS, PROCESSOR, MEMORY = "disk", "graphics card", "processor", "memory"
_PARTS = {
    Cause.DIRTY_STALL: DISK,
    Cause.DISK_FAULT: DISK,
    Cause.DISK_FULL: DISK,
    Cause.GPU_XID: GRAPHICS,
    Cause.GPU_HANG: GRAPHICS,
    Cause.GPU_MEMORY: GRAPHICS,
    Cause.CPU_LOCKUP: PROCESSOR,
    Cause.CPU_SATURATION: PROCESSOR,
    Cause.OVERHEATING: PROCESSOR,
    Cause.HARDWARE_ERROR: "hardware",
    Cause.KERNEL_BUG: "kernel",
    Cause.HUNG_TASKS: "not known",
    Cause.SEGMENT_FAILED: "a segment",
    Cause.UNEXPLAINED_FREEZE: "not known",
}


class Shareable(str):
    """A text that holds somebody's own words or names. `safe` says the same without them, for a page that is sent to
    somebody else: it is made of known values alone."""

    safe: str

    def __new__(cls, text: str, safe: str = "") -> "Shareable":
        made = super().__new__(cls, text)
        made.safe = safe
        return made


def quoted(source: str, words: str, safe: str) -> Shareable:
    """A line of evidence that repeats a log's own words; `safe` is what was read from them."""
    return Shareable(f"{source}: {words}", f"{source}: {safe}")


_BEGIN, _END = "\ue000", "\ue001"  # of Unicode's private use: no log has them
_CHOSEN = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)
CHOSEN_NAME = "[name]"


def chosen(name: str) -> str:
    """A name that people chose (of a unit, a pod, a cgroup, a server), marked where a sentence takes it in. `settled`
    takes the marks out, so that nobody has to search for such names later."""
    return f"{_BEGIN}{name}{_END}"


def settled(text: str) -> str:
    """The text without its marks; the name itself is missing in what can be shared."""
    safe = text.safe if isinstance(text, Shareable) else text
    if _BEGIN not in text and _BEGIN not in safe:
        return text
    return Shareable(_CHOSEN.sub(r"\1", text), _CHOSEN.sub(CHOSEN_NAME, safe))


@dataclass(frozen=True, slots=True)
class Held:
    """Who held the memory when a limit was reached, to be drawn against it."""

    limit_bytes: int
    limit: str  # "the machine's RAM"
    parts: tuple[tuple[str, int], ...]  # the biggest first


@dataclass(frozen=True, slots=True)
class Finding:
    cause: Cause
    what: str  # one sentence; the report's headline
    why: str
    confidence: Confidence
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    start_t: float | None = None
    end_t: float | None = None  # the same as start_t for a moment
    missing: tuple[str, ...] = ()  # what the evidence leaves open, and what would tell it
    blamed: str | None = None  # the part of the machine, where the cause alone does not tell
    held: Held | None = None

    def settled(self) -> "Finding":
        """With no marks of chosen names in any text."""
        return replace(
            self,
            what=settled(self.what),
            why=settled(self.why),
            evidence=tuple(map(settled, self.evidence)),
            advice=tuple(map(settled, self.advice)),
            missing=tuple(map(settled, self.missing)),
        )

    @property
    def part(self) -> str:
        """The part of the machine that is at fault."""
        return self.blamed or _PARTS.get(self.cause, MEMORY)

    @property
    def is_freeze(self) -> bool:
        return self.cause in FREEZES


@dataclass(frozen=True, slots=True)
class Source:
    """A place where evidence was looked for: what was `found`, or why it is `missing`."""

    name: str
    found: str | None = None
    missing: str | None = None
    start_t: float | None = None
    end_t: float | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...] = ()  # the worst first
    ruled_out: tuple[str, ...] = ()  # "GPU (0 %, 1.1 of 12.0 GiB)"
    not_known: tuple[str, ...] = ()  # each with what would tell it next time
    sources: tuple[Source, ...] = ()
    is_pasted: bool = False  # only a log from somewhere was read, and nothing of this machine
    is_of_nodes: bool = False  # only what other machines left in the folder of their run
