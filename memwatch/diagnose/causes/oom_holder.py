"""What held the memory when it ran out: a program, all of its processes added up, or the kernel itself."""

from dataclasses import dataclass

from memwatch.diagnose.findings import Held
from memwatch.diagnose.logs.oom_kill import SMALL_VICTIM_BYTES, OomKill, ProgramSum
from memwatch.model.units import format_size

LEAST_HOLDER_SHARE = 0.05
LEAST_DRAWN_SHARE = 0.01
MOST_DRAWN = 8


@dataclass(frozen=True, slots=True)
class Holder:
    """What held most of the memory: a program, or the kernel itself (`program` is None)."""

    words: str  # "python", "slab caches of the kernel"
    taken_bytes: int
    program: ProgramSum | None = None
    advice: str | None = None


def holder_of(kill: OomKill) -> Holder | None:
    """What held most, from the table and the memory lines; None where the report has neither."""
    whole = kill.cgroup_limit_bytes if kill.in_cgroup else kill.ram_bytes
    least = SMALL_VICTIM_BYTES if whole is None else LEAST_HOLDER_SHARE * whole
    held = [
        Holder(program.name, program.taken_bytes, program)
        for program in kill.programs[:1]
        if program.taken_bytes >= least  # A table of small processes does not show who held the memory.
    ]
    held += _held_in_cgroup(kill) if kill.in_cgroup else _held_by_no_process(kill)
    return max(held, key=lambda each: each.taken_bytes, default=None)


def _held_by_no_process(kill: OomKill) -> list[Holder]:
    slabs = "slab caches of the kernel"
    if kill.slab_cache is not None:
        slabs += f", the largest of them {kill.slab_cache[0]} with {format_size(kill.slab_cache[1])}"
    parts = (
        (kill.slab_unreclaimable_bytes, slabs, "slabtop -o -s c | head -20: shows the caches, and how they grow."),
        (kill.shmem_bytes, "shared memory and tmpfs (shmem)", "df -h -t tmpfs; ipcs -m: show files and segments."),
        (kill.huge_pages_bytes, "reserved huge pages",
         "sysctl vm.nr_hugepages: shows the number reserved; `sysctl -w vm.nr_hugepages=0` returns them."),
        (kill.page_tables_bytes, "page tables", "grep -E 'VmPTE' /proc/[0-9]*/status | sort -k2 -n: shows whose."),
        (unaccounted_bytes(kill), "memory that no counter shows (drivers, ZFS ARC)",
         "arc_summary | head -30: shows the ZFS ARC (zfs_arc_max limits it); else a driver holds it."),
    )  # fmt: skip
    return [Holder(words, size, advice=advice) for size, words, advice in parts if size]


def _held_in_cgroup(kill: OomKill) -> list[Holder]:
    """From the cgroup's own counters: what its limit counts, and no process holds."""
    counted = dict(kill.cgroup_counts)
    unwritten = counted.get("dirty", 0) + counted.get("writeback", 0)
    kernel = counted.get("slab_unreclaimable", 0) + counted.get("kernel_other", 0)
    parts = (
        (counted.get("shmem", 0), "shared memory and tmpfs (shmem: /dev/shm, memory-backed volumes)",
         "df -h -t tmpfs; ls -lhS /dev/shm (in the container): show the files; they count against its limit."),
        (unwritten, "page cache that was not written to disk yet (dirty)",
         "sysctl -w vm.dirty_bytes=67108864 vm.dirty_background_bytes=16777216: writes start sooner; the job wrote"
         " faster than the disk."),
        (kernel, "memory of the kernel for this cgroup (slab, stacks, sockets)",
         "slabtop -o -s c | head -20: shows the caches; many open files, sockets or threads make them grow."),
    )  # fmt: skip
    return [Holder(words, size, advice=advice) for size, words, advice in parts if size]


def held_parts(kill: OomKill) -> Held | None:
    """What the page draws against the limit; None where the report has no size of the limit, or no holder."""
    whole = kill.cgroup_limit_bytes if kill.in_cgroup else kill.ram_bytes
    if not whole:
        return None
    others = _held_in_cgroup(kill) if kill.in_cgroup else _held_by_no_process(kill)
    parts = [(program.name, program.rss_bytes) for program in kill.programs]
    if not parts and kill.rss_bytes:
        parts = [(kill.name, kill.rss_bytes)]
    parts += [(holder.words, holder.taken_bytes) for holder in others]
    shown = sorted((part for part in parts if part[1] >= LEAST_DRAWN_SHARE * whole), key=lambda part: -part[1])
    limit = "the memory limit of the cgroup" if kill.in_cgroup else "the machine's RAM"
    return Held(whole, limit, tuple(shown[:MOST_DRAWN])) if shown else None


def unaccounted_bytes(kill: OomKill) -> int | None:
    """RAM that no counter of the report explains; None where too much of the report is missing. The table is no help:
    it counts shared memory once for each process, and people shorten it."""
    counted = (kill.anonymous_bytes, kill.page_cache_bytes, kill.free_bytes, kill.slab_bytes)
    if kill.ram_bytes is None or any(size is None for size in counted):
        return None
    more = (kill.page_tables_bytes, kill.huge_pages_bytes, kill.reserved_bytes)
    return max(kill.ram_bytes - sum(size or 0 for size in (*counted, *more)), 0)
