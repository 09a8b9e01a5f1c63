"""The kernel's report of an OOM kill: who was killed, by what limit, who held the memory, and what no process held.

Written after mm/oom_kill.c and mm/memcontrol.c of Linux 2.6.32 to 6.18. What they print has changed, and people paste
parts of it, so every part is optional. A report whose last line is missing (the machine was reset, the paste is cut) is
still an OOM, without a victim. The columns of the table are found by their heads.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import nlargest

from memwatch.model.units import KIB, MIB

MOST_ROWS = 10  # of a table; a machine may have tens of thousands of processes
_MOST_ROWS_HELD = 1000
_MOST_PROGRAMS = 5000
LONGEST_REPORT_S = 60.0  # over a serial console a long table takes many seconds
ROOMY_SHARE = 0.03  # so much free memory, and a request that fails did not fail because memory ran out
ZONE_ROOMY_SHARE = 0.10
NEAR_RESERVE = 1.05  # of a zone's own reserve (min): ordinary requests fail below it
SMALL_VICTIM_SHARE = 0.01  # a victim below this never explains that memory ran out
SMALL_VICTIM_BYTES = 64 * MIB  # the same, where the size of the machine is not known

_INVOKED = re.compile(r"(?P<name>.{1,32}?) invoked oom-killer: (?:.*?order=(?P<order>-?\d+))?")
_SYSRQ = re.compile(r"(?i)sysrq ?: (?:Manual OOM execution|OOM)")
_HEAD = re.compile(r"\[ *pid *\] +(?P<columns>.*\bname)$")
_ROW = re.compile(r"\[ *(?P<pid>\d+)\] +(?P<rest>.*)")
_VERDICT = re.compile(r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w+),")
_MEMCG = re.compile(r",oom_memcg=(?P<path>/.*?),task_memcg=")
_TASK_MEMCG = re.compile(r",task_memcg=(?P<path>/.*?),task=")
_CHOSEN_TASK = re.compile(r",task=(?P<name>.*),pid=(?P<pid>\d+),uid=")
_OLD_MEMCG = re.compile(r"Task in (?P<task>/.*) killed as a result of limit of (?P<path>/.*)")
_STATS_FOR = re.compile(r"Memory cgroup stats for (?P<path>/[^:]*):")
_LIMIT = re.compile(r"memory: usage (?P<usage>\d+)kB, limit (?P<limit>\d+)kB")
_FREE_SWAP = re.compile(r"Free swap\s+= (?P<kib>\d+)kB")
_TOTAL_SWAP = re.compile(r"Total swap = (?P<kib>\d+)kB")
_RAM = re.compile(r"(?P<pages>\d+) pages RAM")
_RESERVED = re.compile(r"(?P<pages>\d+) pages (?:reserved|cma reserved)")
_HUGE = re.compile(r"hugepages_total=(?P<total>\d+) .*hugepages_size=(?P<kib>\d+)kB")
_COUNT = re.compile(r"\b(?P<key>[a-z_]+):(?P<pages>\d+)\b(?!kB)")
_COUNTED = re.compile(
    r"\s*(?:active_anon|active_file|unevictable|slab_reclaimable|mapped|free|shmem|kernel_misc):?\S*:?\d"
)
_ZONE = re.compile(
    r"(?:Node \d+ )?(?P<zone>DMA32|DMA|Normal|HighMem|Movable) free:(?P<free>\d+)kB.*? min:(?P<min>\d+)kB"
)
# In the stack of the request that failed: through a cgroup's account, or through the machine's allocator.
_THROUGH_CGROUP = re.compile(
    r"\bmem_cgroup_(?:out_of_memory|oom_synchronize|oom)\b|\btry_charge_memcg\b|(?<!\? )\b_*mem_cgroup_try_charge\b"
)
_THROUGH_MACHINE = re.compile(
    r"^\s*(?:\[<[0-9a-f]+>\] )?__alloc_(?:pages|frozen_pages)\w*(?:slowpath|may_oom)|out_of_memory from __alloc_pages|"
    r"^\s*(?:\[<[0-9a-f]+>\] )?pagefault_out_of_memory"
)
_CHOSEN = re.compile(
    r"(?P<before>.*?)ut of memory(?: \(oom_kill_allocating_task\))?: Kill process (?P<pid>\d+)"
    r"(?:, UID \d+,)? \((?P<name>.*?)\) score (?P<score>\d+)"
)
_NONE_LEFT = re.compile(r"(?P<before>.*?)ut of memory and no killable processes")
_DEADLOCKED = re.compile(r"Kernel panic - not syncing: (?:System is deadlocked on memory|Out of memory)")
_PANIC = re.compile(r"Kernel panic - not syncing: Out of memory: (?P<which>compulsory|system-wide)?")
_KILLED = re.compile(
    r"(?P<before>.*?)Killed process (?P<pid>\d+)(?:, UID \d+,)? \((?P<name>.*?)\)(?=,|\s+total-vm|\s*$| \()(?P<rest>.*)"
)
_BEFORE_VICTIM = re.compile(r"ut of memory(?: \(oom_kill_allocating_task\))?: $")
_SIZE = re.compile(r"\b(?P<part>anon|file|shmem)-rss:(?P<kib>\d+)kB")
_ADJUSTED = re.compile(r"oom_score_adj:(?P<adj>-?\d+)")
# One of these stands in every line that can begin a report.
HINT = r"oom|Killed process|ut of memory|SysRq|sysrq|pages RAM|Mem-Info|\[ *pid *\]|killed as a result of limit"


class Limit(StrEnum):
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
    limit: Limit = Limit.MACHINE
    cgroup: str | None = None
    cgroup_limit_bytes: int | None = None
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
        return self.limit == Limit.CGROUP

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
        """Too small to be the reason."""
        taken, whole = self.taken_bytes, self.cgroup_limit_bytes if self.in_cgroup else self.ram_bytes
        if taken is None:
            return False
        return taken < (SMALL_VICTIM_BYTES if whole is None else SMALL_VICTIM_SHARE * whole)

    @property
    def was_roomy(self) -> bool:
        """Much memory was free all the same."""
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


@dataclass(slots=True)
class _Open:
    """A report of which the last line has not come yet."""

    t: float | None
    invoked_by: str | None = None
    order: int | None = None
    limit: Limit = Limit.UNKNOWN
    cgroup: str | None = None
    task_cgroup: str | None = None
    is_node_bound: bool = False
    limit_bytes: int | None = None
    ram_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    columns: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    sums: dict[str, ProgramSum] = field(default_factory=dict)
    table_rss_bytes: int | None = None
    pages: dict[str, int] = field(default_factory=dict)
    zones: list[Zone] = field(default_factory=list)
    huge_pages_bytes: int | None = None
    reserved_bytes: int = 0
    is_by_hand: bool = False
    is_oom: bool = False  # said to be one, so that it counts without a victim
    has_kill: bool = False
    no_victim: NoVictim = NoVictim.CUT
    chosen: tuple[int, str] | None = None  # of the verdict's line, which comes before the kill


class OomReader:
    """Takes the kernel's lines one by one. Reports never interleave: the kernel makes them under a lock."""

    def __init__(self, page_bytes: int = 4 * KIB) -> None:
        self._page_bytes = page_bytes
        self._open: _Open | None = None
        self._chosen: tuple[int, Limit] | None = None  # of the first of the two lines that old kernels print
        self.is_reading = False  # in a report whose victim has not been named yet: every line may belong to it

    def feed(self, t: float | None, text: str) -> Iterator[OomKill]:
        """The kill, once its last line has come; and a report without one, once the next begins."""
        if (invoked := _INVOKED.match(text)) is not None:
            order = None if invoked["order"] is None else int(invoked["order"])
            # SysRq-f is announced, and then reported: that is one kill.
            is_announced = self._open is not None and self._open.is_by_hand and self._open.invoked_by is None
            if not is_announced:
                yield from self.finish()
            self._open = _Open(t, invoked["name"], order, is_oom=True, is_by_hand=is_announced or order == -1)
            self.is_reading = True
        elif _SYSRQ.match(text) is not None:
            yield from self.finish()
            self._open = _Open(t, is_oom=True, is_by_hand=True)
            self.is_reading = True
        elif (killed := _KILLED.match(text)) is not None:
            # The report stays open: the rest of a cgroup may be killed with the victim, and its table is theirs too.
            self.is_reading = False
            yield self._kill(t, killed)
        elif (chosen := _CHOSEN.match(text)) is not None:
            limit = Limit.CGROUP if chosen["before"].endswith("cgroup o") else Limit.MACHINE
            self._chosen = int(chosen["pid"]), limit
            report = self._report(t)
            report.chosen = int(chosen["pid"]), chosen["name"]
            report.is_oom = True
            report.limit = limit
        elif not self._take_panic(t, text):
            self._take_any(t, text)

    def finish(self) -> Iterator[OomKill]:
        """The report that is open, if it says that memory ran out and names no victim."""
        report, self._open = self._open, None
        self.is_reading = False
        self._chosen = None
        if report is not None and report.is_oom and not report.has_kill:
            pid, name = report.chosen or (None, "")
            yield replace(self._made(report, report.t, pid, name, None, None), no_victim=report.no_victim)

    def _report(self, t: float | None) -> _Open:
        """The one that is open, or a new one: of a cut report the first lines are missing."""
        if self._open is None or not _is_near(self._open.t, t) or self._open.has_kill:
            self._open = _Open(t)
        self.is_reading = True
        return self._open

    def _take_panic(self, t: float | None, text: str) -> bool:
        if (none_left := _NONE_LEFT.match(text)) is not None:
            report = self._report(t)
            report.is_oom, report.no_victim = True, NoVictim.NONE_LEFT
            if none_left["before"].startswith("Kernel panic"):
                report.limit = Limit.MACHINE
            elif none_left["before"].endswith("cgroup o"):
                report.limit = Limit.CGROUP
            return True
        if (panic := _PANIC.match(text)) is not None:
            report = self._report(t)
            report.is_oom, report.no_victim = True, NoVictim.PANIC
            if panic["which"] == "system-wide":
                report.limit = Limit.MACHINE
            return True
        if _DEADLOCKED.match(text) is not None:
            # Only a machine without memory panics; a cgroup without victims goes on.
            self._report(t).limit = Limit.MACHINE
            return True
        return False

    def _take_any(self, t: float | None, text: str) -> None:
        if self._open is not None and self.is_reading:
            self._take(self._open, text)
            self.is_reading = self._open is not None and _is_near(self._open.t, t)
        elif (
            _HEAD.match(text) or _RAM.match(text) or _VERDICT.match(text) or _OLD_MEMCG.match(text)
            or _LIMIT.match(text) or _FREE_SWAP.match(text) or _TOTAL_SWAP.match(text) or "Mem-Info:" in text
        ):  # fmt: skip
            self._take(self._report(t), text)

    def _take(self, report: _Open, text: str) -> None:
        if report.columns and (row := _ROW.match(text)) is not None:
            self._take_row(report, row)
        elif (head := _HEAD.match(text)) is not None:
            report.columns = tuple(head["columns"].split())
            report.table_rss_bytes = 0
        elif (verdict := _VERDICT.match(text)) is not None:
            self._take_verdict(report, verdict["constraint"], text)
        elif (old := _OLD_MEMCG.match(text)) is not None:
            report.limit, report.cgroup, report.task_cgroup = Limit.CGROUP, old["path"], old["task"]
            report.is_oom = True
        elif (limit := _LIMIT.match(text)) is not None:
            report.limit_bytes = int(limit["limit"]) * KIB
        elif (stats := _STATS_FOR.match(text)) is not None:
            report.limit, report.cgroup = Limit.CGROUP, report.cgroup or stats["path"]
        elif (free := _FREE_SWAP.match(text)) is not None:
            report.swap_free_bytes = int(free["kib"]) * KIB
        elif (total := _TOTAL_SWAP.match(text)) is not None:
            report.swap_total_bytes = int(total["kib"]) * KIB
        elif (ram := _RAM.match(text)) is not None:
            report.ram_bytes = int(ram["pages"]) * self._page_bytes
        elif (reserved := _RESERVED.match(text)) is not None:
            report.reserved_bytes += int(reserved["pages"]) * self._page_bytes
        elif (zone := _ZONE.match(text)) is not None:
            report.zones.append(Zone(zone["zone"], int(zone["free"]) * KIB, int(zone["min"]) * KIB))
        elif (huge := _HUGE.search(text)) is not None:
            held = int(huge["total"]) * int(huge["kib"]) * KIB
            report.huge_pages_bytes = (report.huge_pages_bytes or 0) + held
        elif _COUNTED.match(text) is not None:
            for count in _COUNT.finditer(text):
                report.pages.setdefault(count["key"], int(count["pages"]))
        elif report.limit == Limit.UNKNOWN or report.limit == Limit.MACHINE:
            self._take_frame(report, text)

    def _take_verdict(self, report: _Open, constraint: str, text: str) -> None:
        report.is_oom = True
        report.limit = Limit.CGROUP if constraint == "CONSTRAINT_MEMCG" else Limit.MACHINE
        report.is_node_bound = constraint in ("CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY")
        if (chosen := _CHOSEN_TASK.search(text)) is not None:
            report.chosen = int(chosen["pid"]), chosen["name"]
        task = _TASK_MEMCG.search(text)
        report.task_cgroup = None if task is None else task["path"]
        if report.limit == Limit.CGROUP and (path := _MEMCG.search(text) or task) is not None:
            report.cgroup = path["path"]

    def _take_frame(self, report: _Open, text: str) -> None:
        if _THROUGH_CGROUP.search(text) is not None:
            report.limit = Limit.CGROUP
        elif report.limit == Limit.UNKNOWN and _THROUGH_MACHINE.search(text) is not None:
            report.limit = Limit.MACHINE

    def _take_row(self, report: _Open, match: re.Match[str]) -> None:
        words = match["rest"].split(None, len(report.columns) - 1)
        cells = dict(zip(report.columns, words, strict=False))
        try:
            rss_bytes = int(cells["rss"]) * self._page_bytes
            swap_bytes = int(cells.get("swapents", 0)) * self._page_bytes
            adjusted = int(cells["oom_score_adj"])
            # Old kernels number threads in the first column, and processes in the one after it.
            pid = int(cells.get("tgid") or match["pid"])
            row = Row(pid, cells["name"].strip(), rss_bytes + swap_bytes, adjusted, swap_bytes)
        except (KeyError, ValueError):
            return  # Torn.
        report.table_rss_bytes = (report.table_rss_bytes or 0) + rss_bytes
        before = report.sums.get(row.name, ProgramSum(row.name, 0, 0, 0))
        if before.processes or len(report.sums) < _MOST_PROGRAMS:
            report.sums[row.name] = replace(
                before,
                processes=before.processes + 1,
                rss_bytes=before.rss_bytes + rss_bytes,
                swap_bytes=before.swap_bytes + swap_bytes,
            )
        report.rows.append(row)
        if len(report.rows) > _MOST_ROWS_HELD:
            report.rows = _biggest(report.rows)

    def _kill(self, t: float | None, match: re.Match[str]) -> OomKill:
        report = self._open if self._open is not None and _is_near(self._open.t, t) else _Open(t)
        if report is not self._open:
            self._open = report
        if "emory cgroup out of memory" in match["before"]:
            report.limit = Limit.CGROUP
        elif _BEFORE_VICTIM.search(match["before"]) and report.limit == Limit.UNKNOWN:
            report.limit = Limit.MACHINE
        elif report.limit == Limit.UNKNOWN and self._chosen is not None:
            report.limit = self._chosen[1]
        report.has_kill = True
        self._chosen = None
        sizes = [int(size["kib"]) * KIB for size in _SIZE.finditer(match["rest"])]
        adjusted = _ADJUSTED.search(match["rest"])
        kill = self._made(
            report,
            t if t is not None else report.t,
            int(match["pid"]),
            match["name"],
            sum(sizes) if sizes else None,
            None if adjusted is None else int(adjusted["adj"]),
        )
        if report.invoked_by is None and not report.rows and not report.cgroup:
            self._open = None  # The next kill is another one: nothing here may be lent to it.
        return kill

    def _made(
        self, report: _Open, t: float | None, pid: int | None, name: str, rss_bytes: int | None, adjusted: int | None
    ) -> OomKill:
        in_cgroup = report.limit == Limit.CGROUP
        return OomKill(
            t=t,
            pid=pid,
            name=name,
            rss_bytes=rss_bytes,
            oom_score_adj=adjusted,
            invoked_by=report.invoked_by,
            limit=report.limit,
            cgroup=report.cgroup if in_cgroup else None,
            cgroup_limit_bytes=report.limit_bytes if in_cgroup else None,
            task_cgroup=report.task_cgroup,
            is_node_bound=report.is_node_bound,
            ram_bytes=report.ram_bytes,
            swap_total_bytes=report.swap_total_bytes,
            swap_free_bytes=report.swap_free_bytes,
            biggest=tuple(_biggest(report.rows)),
            programs=tuple(nlargest(MOST_ROWS, report.sums.values(), key=lambda each: each.taken_bytes)),
            table_rss_bytes=report.table_rss_bytes,
            order=report.order,
            free_bytes=self._counted(report, "free"),
            zones=tuple(report.zones),
            slab_bytes=self._counted(report, "slab_reclaimable", "slab_unreclaimable"),
            slab_unreclaimable_bytes=self._counted(report, "slab_unreclaimable"),
            shmem_bytes=self._counted(report, "shmem"),
            page_tables_bytes=self._counted(report, "pagetables"),
            page_cache_bytes=self._counted(report, "active_file", "inactive_file"),
            anonymous_bytes=self._counted(report, "active_anon", "inactive_anon", "unevictable"),
            reserved_bytes=report.reserved_bytes,
            huge_pages_bytes=report.huge_pages_bytes,
            is_by_hand=report.is_by_hand,
            no_victim=report.no_victim if pid is None else None,
        )

    def _counted(self, report: _Open, *keys: str) -> int | None:
        found = [report.pages[key] for key in keys if key in report.pages]
        return sum(found) * self._page_bytes if found else None


def _is_near(begun_t: float | None, t: float | None) -> bool:
    """A report whose end was lost must not lend its table to the next."""
    return begun_t is None or t is None or abs(t - begun_t) <= LONGEST_REPORT_S


def _biggest(rows: list[Row]) -> list[Row]:
    return nlargest(MOST_ROWS, rows, key=lambda row: row.taken_bytes)
