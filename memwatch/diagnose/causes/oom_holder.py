"""What held the memory when it ran out (a program, all of its processes added up, or the kernel itself), and why that
was too much: of how much, and whether it happens again and again."""

from dataclasses import dataclass

from memwatch.diagnose.causes.phrases import sentence
from memwatch.diagnose.findings import Held
from memwatch.diagnose.logs.oom_kill import SMALL_VICTIM_BYTES, NoVictim, OomKill, ProgramSum
from memwatch.model.units import format_size

ONE_INCIDENT_S = 120.0  # kills that follow one another so closely are one story
MUCH_SHARE = 0.10  # of RAM: worth naming, where no process holds it
SAME_SIZE_SHARE = 0.10
LEAST_HOLDER_SHARE = 0.05
LEAST_DRAWN_SHARE = 0.01
SHOWN_PARTS = 8


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
    return Held(whole, limit, tuple(shown[:SHOWN_PARTS])) if shown else None


def unaccounted_bytes(kill: OomKill) -> int | None:
    """RAM that no counter of the report explains; None where too much of the report is missing. The table is no help:
    it counts shared memory once for each process, and people shorten it."""
    counted = (kill.anonymous_bytes, kill.page_cache_bytes, kill.free_bytes, kill.slab_bytes)
    if kill.ram_bytes is None or any(size is None for size in counted):
        return None
    more = (kill.page_tables_bytes, kill.huge_pages_bytes, kill.reserved_bytes)
    return max(kill.ram_bytes - sum(size or 0 for size in (*counted, *more)), 0)


def why_memory_ran_out(
    kills: list[OomKill], first: OomKill, holder: Holder | None, is_guilty_known: bool = False
) -> str:
    """`is_guilty_known`: the headline names a process, and not the holder."""
    beside = None if is_guilty_known else _beside_the_headline(first, holder)
    parts = [beside or _held(holder) or _victim_held(first)]
    if first.in_cgroup:
        limit = first.cgroup_limit_bytes
        parts.append(None if limit is None else f"the limit was {format_size(limit)}")
        parts.append("the rest of the machine was not short of memory, as far as this shows")
    else:
        bound = "only memory of the NUMA nodes it is bound to counted (cpuset or mempolicy)"
        parts += [_machine(first), _swap(first), bound if first.is_node_bound else None]
        if first.was_roomy:
            free = format_size(first.free_bytes or 0)
            parts.append(f"{free} was free: a cgroup's limit on kernel memory (kmem), or one zone, was used up")
    asked = None if first.invoked_by is None or first.no_victim == NoVictim.CUT else first.invoked_by
    parts.append(None if asked is None else f"{asked} asked for more")
    parts.append(_again(kills))
    unheld = unaccounted_bytes(first)
    if unheld and first.ram_bytes and unheld >= MUCH_SHARE * first.ram_bytes and (holder is None or holder.program):
        parts.append(f"not in any process: {format_size(unheld)}")
    starts_with_name = bool(parts[0]) and (holder is None or holder.program is not None)
    return sentence(parts, starts_with_name) or _nothing_counted(first)


def _nothing_counted(kill: OomKill) -> str:
    if kill.no_victim == NoVictim.NONE_LEFT:
        return "Every process that is left is exempt (oom_score_adj -1000), or the kernel's own."
    if kill.no_victim != NoVictim.CUT:
        return "The log has the kill, and nothing about the memory before it."
    asked = f" for {1 << kill.order} pages in one piece" if kill.order and 0 < kill.order < 20 else ""
    who = "A program" if kill.invoked_by is None else kill.invoked_by
    return f"{who} asked{asked}, and the kernel found none to give; the counters of memory are not in this log."


def _held(holder: Holder | None) -> str | None:
    if holder is None:
        return None
    program = holder.program
    if program is None:
        return f"{format_size(holder.taken_bytes)} was in {holder.words}"
    who = program.name if program.processes == 1 else f"{program.name} ({program.processes} processes)"
    swap = f" and {format_size(program.swap_bytes)} of swap" if program.swap_bytes else ""
    return f"{who} held {format_size(program.rss_bytes)} of RAM{swap}"


def _beside_the_headline(kill: OomKill, holder: Holder | None) -> str | None:
    """Where the headline has said already that no process is the reason: how much that was, beside all processes."""
    whole = kill.cgroup_limit_bytes if kill.in_cgroup else kill.ram_bytes
    if holder is None or not is_held_by_no_process(kill, holder) or not whole:
        return None
    share = f"that is {100 * holder.taken_bytes / whole:.0f} % of the {'limit' if kill.in_cgroup else 'RAM'}"
    held = kill.table_rss_bytes
    return share if held is None else f"{share}; all processes of the table held {format_size(held)}"


def is_held_by_no_process(kill: OomKill, holder: Holder) -> bool:
    """The headline says so, where a victim is named that held less."""
    return kill.pid is not None and holder.program is None and holder.taken_bytes > (kill.taken_bytes or 0)


def _victim_held(kill: OomKill) -> str | None:
    """Without a table, the victim's own size is all that is known."""
    if kill.rss_bytes is None or kill.is_small_victim:
        return None
    return f"{kill.name} held {format_size(kill.rss_bytes)} of RAM when it was killed"


def _machine(kill: OomKill) -> str | None:
    return None if kill.ram_bytes is None else f"the machine has {format_size(kill.ram_bytes)} of RAM"


def _swap(kill: OomKill) -> str | None:
    if kill.swap_total_bytes == 0:
        return "there was no swap"
    if not kill.swap_total_bytes or kill.swap_free_bytes is None:
        return None
    return f"of {format_size(kill.swap_total_bytes)} of swap {format_size(kill.swap_free_bytes)} was free"


def _again(kills: list[OomKill]) -> str | None:
    """The sentence for a program that was killed several times: a leak, or a limit that is too low."""
    sizes = [kill.taken_bytes for kill in kills if kill.taken_bytes]
    if not is_spread(kills) or len(sizes) < 2:
        return None
    if max(sizes) - min(sizes) <= SAME_SIZE_SHARE * max(sizes):
        return f"each time at about {format_size(max(sizes))}: a leak, or a limit that is too low for it"
    return f"its size was {size_range(sizes)}"


def size_range(sizes: list[int]) -> str:
    least, most = format_size(min(sizes)), format_size(max(sizes))
    return most if least == most else f"{least} - {most}"


def is_spread(kills: list[OomKill]) -> bool:
    known = [kill.t for kill in kills if kill.t is not None]
    return len(known) > 1 and max(known) - min(known) > ONE_INCIDENT_S
