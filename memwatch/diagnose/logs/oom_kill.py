"""An OOM kill as values: who was killed, by what limit, who held the memory, and what no process held.

`OomReader` (oom_report.py) makes them from the kernel's lines. Every part is optional: people paste parts of a report.
"""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.model.units import MIB

ROOMY_SHARE = 0.03  # so much free memory, and a request that fails did not fail because memory ran out
ZONE_ROOMY_SHARE = 0.10
NEAR_RESERVE = 1.05  # of a zone's own reserve (min): ordinary requests fail below it
SMALL_VICTIM_SHARE = 0.01  # a victim below this never explains that memory ran out
SMALL_VICTIM_BYTES = 64 * MIB  # the same, where the size of the machine is not known


class LimitKind(StrEnum):
    """Whose memory was used up. UNKNOWN: the log does not say."""

    MACHINE = "machine"
    CGROUP = "cgroup"
    UNKNOWN = "unknown"


class Shortage(StrEnum):
    """What there was too little of."""

    MEMORY = "memory"
    CONTIGUOUS = "contiguous"  # enough was free, in pieces that are too small
    ZONE = "zone"  # enough was free, in a zone that the request cannot use
    NONE = "none"  # killed by hand, with SysRq-f


class NoVictim(StrEnum):
    """Why a report does not say that a victim was killed."""

    CUT = "cut"  # its last line is missing; the victim that was chosen may be known
    NONE_LEFT = "none left"  # the kernel found none that it may kill
    PANIC = "panic"  # panic_on_oom


@dataclass(frozen=True, slots=True)
class Row:
    """A process in the table. What it took is in RAM and in swap."""

    pid: int
    name: str
    taken_bytes: int
    oom_score_adj: int
    swap_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ProgramSum:
    """All processes of one name in the table, added up. Forked processes share memory, so RSS can count twice."""

    name: str
    processes: int
    rss_bytes: int
    swap_bytes: int

    @property
    def taken_bytes(self) -> int:
        return self.rss_bytes + self.swap_bytes


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    free_bytes: int
    min_bytes: int


@dataclass(frozen=True, slots=True)
class OomKill:
    t: float | None
    pid: int | None  # None: no victim is named
    name: str
    rss_bytes: int | None
    oom_score_adj: int | None = None
    invoked_by: str | None = None  # whose request for memory could not be met
    limit: LimitKind = LimitKind.MACHINE
    cgroup: str | None = None
    cgroup_limit_bytes: int | None = None
    cgroup_counts: tuple[tuple[str, int], ...] = ()  # bytes of anon, file, shmem, dirty, writeback, kernel memory
    task_cgroup: str | None = None  # the victim's own
    is_node_bound: bool = False  # only the memory of some NUMA nodes counted (cpuset, mempolicy)
    ram_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    biggest: tuple[Row, ...] = ()  # the biggest first
    programs: tuple[ProgramSum, ...] = ()  # the biggest first
    table_rss_bytes: int | None = None  # of all rows; None without a table
    order: int | None = None  # 2**order pages in one piece were asked for; -1 by SysRq-f
    free_bytes: int | None = None
    zones: tuple[Zone, ...] = ()
    slab_bytes: int | None = None
    slab_unreclaimable_bytes: int | None = None  # the rest the kernel would have given back
    slab_cache: tuple[str, int] | None = None  # the largest that the kernel does not give back: its name and bytes
    shmem_bytes: int | None = None
    page_tables_bytes: int | None = None
    page_cache_bytes: int | None = None
    anonymous_bytes: int | None = None  # of all processes, tmpfs and shared memory included; locked memory too
    reserved_bytes: int = 0  # by firmware and kernel, from the start
    huge_pages_bytes: int | None = None
    is_by_hand: bool = False
    no_victim: NoVictim | None = None

    @property
    def in_cgroup(self) -> bool:
        return self.limit == LimitKind.CGROUP

    @property
    def victim_row(self) -> Row | None:
        return next((row for row in self.biggest if row.pid == self.pid), None)

    @property
    def taken_bytes(self) -> int | None:
        row = self.victim_row
        return self.rss_bytes if row is None else max(row.taken_bytes, self.rss_bytes or 0)

    @property
    def bigger(self) -> Row | None:
        """Who took half as much again as the victim, or more, and was spared."""
        taken = self.taken_bytes
        if taken is None:
            return None
        others = [row for row in self.biggest if row.pid != self.pid and row.taken_bytes >= 1.5 * taken]
        return others[0] if others else None

    @property
    def is_small_victim(self) -> bool:
        """Whether the victim is too small to be the reason."""
        taken, whole = self.taken_bytes, self.cgroup_limit_bytes if self.in_cgroup else self.ram_bytes
        if taken is None:
            return False
        return taken < (SMALL_VICTIM_BYTES if whole is None else SMALL_VICTIM_SHARE * whole)

    @property
    def was_roomy(self) -> bool:
        """Whether much memory was free when the kernel killed."""
        if self.in_cgroup or self.free_bytes is None or not self.ram_bytes:
            return False
        return self.free_bytes >= ZONE_ROOMY_SHARE * self.ram_bytes

    @property
    def shortage(self) -> Shortage:
        if self.is_by_hand or self.order == -1:
            return Shortage.NONE
        if self.in_cgroup or self.free_bytes is None or not self.ram_bytes:
            return Shortage.MEMORY
        free_share = self.free_bytes / self.ram_bytes
        if self.order is not None and self.order > 0 and free_share >= ROOMY_SHARE:
            return Shortage.CONTIGUOUS
        if self.tight_zone is not None and free_share >= ZONE_ROOMY_SHARE:
            return Shortage.ZONE
        return Shortage.MEMORY

    @property
    def tight_zone(self) -> Zone | None:
        """The one that most requests of the kernel itself need, if it is down to its reserve."""
        tight = {zone.name: zone for zone in self.zones if zone.free_bytes <= NEAR_RESERVE * zone.min_bytes}
        return next((tight[name] for name in ("Normal", "DMA32", "DMA") if name in tight), None)
