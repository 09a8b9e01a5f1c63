"""What held the memory when it ran out: a program, all of its processes added up, or the kernel itself."""

from dataclasses import dataclass

from memwatch.diagnose.logs.oom_kill import SMALL_VICTIM_BYTES, OomKill, ProgramSum
from memwatch.model.units import format_size

LEAST_HOLDER_SHARE = 0.05


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
    if not kill.in_cgroup:
        held += _held_by_no_process(kill)
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


def unaccounted_bytes(kill: OomKill) -> int | None:
    """RAM that no counter of the report explains; None where too much of the report is missing. The table is no help:
    it counts shared memory once for each process, and people shorten it."""
    counted = (kill.anonymous_bytes, kill.page_cache_bytes, kill.free_bytes, kill.slab_bytes)
    if kill.ram_bytes is None or any(size is None for size in counted):
        return None
    more = (kill.page_tables_bytes, kill.huge_pages_bytes, kill.reserved_bytes)
    return max(kill.ram_bytes - sum(size or 0 for size in (*counted, *more)), 0)
