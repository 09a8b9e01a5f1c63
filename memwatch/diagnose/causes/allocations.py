"""Requests for memory that the kernel could not meet, or refused. Nobody is killed for them."""

from memwatch.diagnose.causes.phrases import listed, moment
from memwatch.diagnose.evidence import Evidence
from memwatch.diagnose.findings import Cause, Confidence, Finding
from memwatch.diagnose.logs.fault_values import AllocationFailure, Refusal
from memwatch.diagnose.logs.log_events import LogEvents
from memwatch.model.units import format_size

_COMPACT = "echo 1 > /proc/sys/vm/compact_memory: joins free pieces"
# Why, and what to do.
_REFUSALS = {
    Refusal.LARGE_PIECE: (
        Cause.FRAGMENTATION,
        "It asks for one large piece again and again, and what writes to the file system waits: free memory is in"
        " smaller pieces.",
        f"{_COMPACT}. A file in many extents needs such pieces: `xfs_fsr -v FILE` joins them.",
    ),
    Refusal.VMALLOC: (
        Cause.ALLOCATION_FAILURE,
        "The kernel's own address space, or memory for it, was used up (vmalloc); on 32 bits that is early.",
        "grep -i vmalloc /proc/meminfo: shows it; on 32 bits, boot with vmalloc=256M.",
    ),
    Refusal.OVERCOMMIT: (
        Cause.ALLOCATION_FAILURE,
        "The kernel promises no more than its commit limit (vm.overcommit_memory); programs see an error (ENOMEM).",
        "grep -E 'CommitLimit|Committed_AS' /proc/meminfo; sysctl vm.overcommit_memory vm.overcommit_ratio: show it.",
    ),
}


def allocation_findings(evidence: Evidence) -> list[Finding]:
    """Requests that failed at once. The kernel reports them, and nobody is killed."""
    log = evidence.log or LogEvents()
    events = [event for event in log.events if isinstance(event, AllocationFailure)]
    pages = [event for event in events if event.refusal == Refusal.PAGES]
    groups = [[event for event in pages if event.order], [event for event in pages if not event.order]]
    found = [_allocation_finding(kept, log.page_bytes, evidence.now_t) for kept in groups if kept]
    for refusal in _REFUSALS:
        refused = [event for event in events if event.refusal == refusal]
        found += [_refused_finding(refusal, refused, evidence.now_t)] if refused else []
    return found


def _refused_finding(refusal: Refusal, events: list[AllocationFailure], now_t: float) -> Finding:
    """Requests that were refused by their size, whatever was free."""
    cause, why, advice = _REFUSALS[refusal]
    sizes = [event.size_bytes for event in events if event.size_bytes is not None]
    size = format_size(max(sizes)) if sizes else "memory"
    names = listed(list(dict.fromkeys(event.name for event in events)))
    known_t = [event.t for event in events if event.t is not None]
    return Finding(
        cause,
        f"The kernel could not give {names} {size}; no process was killed.",
        why,
        Confidence.HIGH,
        tuple(f"kernel log{moment(event.t, now_t)}: {event.name}" for event in events[:3]),
        (advice,),
        min(known_t, default=None),
        max(known_t, default=None),
    )


def _allocation_finding(events: list[AllocationFailure], page_bytes: int, now_t: float) -> Finding:
    largest = max(events, key=lambda event: event.order)
    names = listed(list(dict.fromkeys(event.name for event in events)))
    size = format_size(page_bytes << largest.order)
    known_t = [event.t for event in events if event.t is not None]
    is_large = largest.order > 0
    return Finding(
        Cause.FRAGMENTATION if is_large else Cause.ALLOCATION_FAILURE,
        f"The kernel could not give {names} {size} in one piece (order {largest.order}); no process was killed.",
        "Memory is fragmented: enough may be free, in pieces that are smaller."
        if is_large
        else "It was needed at once, where the kernel may not wait (GFP_ATOMIC, often for network packets): a packet is"
        " lost, or the request is repeated.",
        Confidence.HIGH if is_large else Confidence.MEDIUM,
        tuple(f"kernel log{moment(event.t, now_t)}: {event.name}, order {event.order}" for event in events[:3]),
        (
            "sysctl -w vm.min_free_kbytes=262144: the kernel keeps more free" + (f"; {_COMPACT}." if is_large else "."),
            "cat /proc/buddyinfo: shows how many pieces of each size are free.",
        ),
        min(known_t, default=None),
        max(known_t, default=None),
    )
