"""The memory of an OOM report: the table of processes ('Tasks state'), added up by program; the lines of the machine
('Mem-Info': free, slab, shmem, zones, swap, huge pages, RAM); and a cgroup's own counters."""

import re
from dataclasses import dataclass, field, replace
from heapq import nlargest

from memwatch.diagnose.logs.oom_kill import ProgramSum, Row, Zone
from memwatch.model.units import KIB

MOST_ROWS = 10  # of a table; a machine may have tens of thousands of processes
_MOST_ROWS_HELD = 1000
_MOST_PROGRAMS = 5000

_HEAD = re.compile(r"\[? *pid *\] +(?P<columns>.*\bname)$")
_ROW = re.compile(r"\[ *(?P<pid>\d+)\] +(?P<rest>.*)")
# A row of a table of which the head was not pasted: a process id in brackets, a user, and the same process id again.
_HEADLESS = re.compile(r"\[ *(?P<pid>\d+)\] +\d+ +(?P=pid)(?P<numbers>(?: +-?\d+){5,9}) +[^\d\s-]")
_COLUMNS = {
    5: "uid tgid total_vm rss pgtables_bytes swapents oom_score_adj name",
    6: "uid tgid total_vm rss nr_ptes nr_pmds swapents oom_score_adj name",
    8: "uid tgid total_vm rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name",
}
HEADLESS_HINT = r"\] +\d+ +\d+ +\d+ +\d+ +\d+ "


def is_table_line(text: str) -> bool:
    """The head, or a row by which a table without its head can be recognised."""
    return _HEAD.match(text) is not None or _columns_of(text) != ()


def _columns_of(text: str) -> tuple[str, ...]:
    row = _HEADLESS.match(text)
    return () if row is None else tuple(_COLUMNS.get(len(row["numbers"].split()), "").split())


@dataclass(slots=True)
class ProcessTable:
    """Filled line by line. Its columns have changed between kernels, so they are found by their heads."""

    page_bytes: int
    columns: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    sums: dict[str, ProgramSum] = field(default_factory=dict)
    rss_bytes: int | None = None  # of all rows; None without a table

    def take(self, text: str) -> bool:
        """Take a line of the table; False if it is none."""
        if (head := _HEAD.match(text)) is not None:
            self.columns = tuple(head["columns"].split())
            self.rss_bytes = 0
            return True
        if not self.columns:
            self.columns = _columns_of(text)
        if self.columns and (row := _ROW.match(text)) is not None:
            self._take_row(row)
            return True
        return False

    def biggest(self) -> tuple[Row, ...]:
        return tuple(_biggest(self.rows))

    def programs(self) -> tuple[ProgramSum, ...]:
        return tuple(nlargest(MOST_ROWS, self.sums.values(), key=lambda each: each.taken_bytes))

    def _take_row(self, match: re.Match[str]) -> None:
        words = match["rest"].split(None, len(self.columns) - 1)
        cells = dict(zip(self.columns, words, strict=False))
        try:
            rss_bytes = int(cells["rss"]) * self.page_bytes
            swap_bytes = int(cells.get("swapents", 0)) * self.page_bytes
            adjusted = int(cells["oom_score_adj"])
            # Old kernels number threads in the first column, and processes in the one after it.
            pid = int(cells.get("tgid") or match["pid"])
            row = Row(pid, cells["name"].strip(), rss_bytes + swap_bytes, adjusted, swap_bytes)
        except (KeyError, ValueError):
            return  # Torn.
        self.rss_bytes = (self.rss_bytes or 0) + rss_bytes
        before = self.sums.get(row.name, ProgramSum(row.name, 0, 0, 0))
        if before.processes or len(self.sums) < _MOST_PROGRAMS:
            self.sums[row.name] = replace(
                before,
                processes=before.processes + 1,
                rss_bytes=before.rss_bytes + rss_bytes,
                swap_bytes=before.swap_bytes + swap_bytes,
            )
        self.rows.append(row)
        if len(self.rows) > _MOST_ROWS_HELD:
            self.rows = _biggest(self.rows)


def _biggest(rows: list[Row]) -> list[Row]:
    return nlargest(MOST_ROWS, rows, key=lambda row: row.taken_bytes)


_FREE_SWAP = re.compile(r"Free swap\s*[:=]\s*(?P<kib>\d+)kB")
_TOTAL_SWAP = re.compile(r"Total swap = (?P<kib>\d+)kB")
_RAM = re.compile(r"(?P<pages>\d+) pages (?:of )?RAM")
_RESERVED = re.compile(r"(?P<pages>\d+) (?:pages (?:reserved|cma reserved)|reserved pages)")
_HUGE = re.compile(r"hugepages_total=(?P<total>\d+) .*hugepages_size=(?P<kib>\d+)kB")
# Of 'Unreclaimable slab info', which Linux prints since 4.15 where the kernel itself holds much.
_SLAB_ROW = re.compile(r"(?P<name>[A-Za-z][\w.:()-]*) +\d+KB +(?P<kib>\d+)KB\s*$")
_COUNT = re.compile(r"\b(?P<key>[a-z_]+):(?P<pages>\d+)\b(?!kB)")
_COUNTED = re.compile(
    r"\s*(?:Active|active_anon|active_file|unevictable|slab_reclaimable|mapped|free|shmem|kernel_misc):?\S*:?\d"
)
# 'Node 0 DMA: 1*4kB (U) 0*8kB ...': the free lists begin with pieces of one page.
_FREE_LISTS = re.compile(r"(?:Node \d+ )?(?:DMA32|DMA|Normal|HighMem|Movable): \d+\*(?P<kib>\d+)kB")
_ZONE = re.compile(
    r"(?:Node \d+ )?(?P<zone>DMA32|DMA|Normal|HighMem|Movable) free:(?P<free>\d+)kB.*? min:(?P<min>\d+)kB"
)


# A cgroup's counters ('Memory cgroup stats'): 'shmem:12KB' on one line before Linux 5.2, 'shmem 12288' on lines since.
_CGROUP_KIB = re.compile(r"\b(?P<key>[a-z_]+):(?P<size>\d+)KB")
_CGROUP_BYTES = re.compile(r"(?<![\w.])(?P<key>[a-z][a-z_]+) (?P<size>\d+)(?![\w.:])")
_CGROUP_KEYS = {
    "anon": "anon", "rss": "anon", "file": "file", "cache": "file", "shmem": "shmem", "file_dirty": "dirty",
    "dirty": "dirty", "file_writeback": "writeback", "writeback": "writeback",
    "slab_unreclaimable": "slab_unreclaimable", "kernel_stack": "kernel_other", "pagetables": "kernel_other",
    "sock": "kernel_other", "vmalloc": "kernel_other", "percpu": "kernel_other",
}  # fmt: skip


def is_memory_line(text: str) -> bool:
    """A line that begins the memory part, or stands alone in a cut report."""
    return (
        "Mem-Info:" in text or "Mem-info:" in text or any(form.match(text) for form in (_RAM, _FREE_SWAP, _TOTAL_SWAP))
    )


def page_bytes_in(text: str) -> int | None:
    """The page size of the machine that wrote this line, if the line states it."""
    lists = _FREE_LISTS.match(text)
    return None if lists is None else int(lists["kib"]) * KIB


@dataclass(slots=True)
class MemoryCounts:
    """The memory counters of a report, taken line by line."""

    page_bytes: int
    ram_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    reserved_bytes: int = 0
    huge_pages_bytes: int | None = None
    zones: list[Zone] = field(default_factory=list)
    slab_cache: tuple[str, int] | None = None  # the largest: its name and bytes
    pages: dict[str, int] = field(default_factory=dict)
    cgroup_bytes: dict[str, int] | None = None  # None before 'Memory cgroup stats'
    seen_keys: set[str] = field(default_factory=set)

    def begin_cgroup(self, rest: str) -> None:
        """`rest` of the line 'Memory cgroup stats for PATH:'. Before Linux 5.2 each cgroup below has a line of its own,
        without what is below it: they are added up."""
        self.cgroup_bytes = {} if self.cgroup_bytes is None else self.cgroup_bytes
        self.seen_keys.clear()
        if not self._take_cgroup(rest, _CGROUP_KIB, KIB):
            self._take_cgroup(rest, _CGROUP_BYTES, 1)

    def cgroup_counts(self) -> tuple[tuple[str, int], ...]:
        return tuple((self.cgroup_bytes or {}).items())

    def _take_cgroup(self, text: str, form: re.Pattern[str], unit: int) -> bool:
        is_any = False
        for count in form.finditer(text):
            is_any = True
            key = _CGROUP_KEYS.get(count["key"])
            if key is not None and count["key"] not in self.seen_keys and self.cgroup_bytes is not None:
                self.seen_keys.add(count["key"])
                self.cgroup_bytes[key] = self.cgroup_bytes.get(key, 0) + int(count["size"]) * unit
        return is_any

    def take(self, text: str) -> bool:
        """Take a line of the counters; False if it is none."""
        if self.cgroup_bytes is not None and self._take_cgroup(text, _CGROUP_BYTES, 1):
            return True
        if (free := _FREE_SWAP.match(text)) is not None:
            self.swap_free_bytes = int(free["kib"]) * KIB
        elif (total := _TOTAL_SWAP.match(text)) is not None:
            self.swap_total_bytes = int(total["kib"]) * KIB
        elif (ram := _RAM.match(text)) is not None:
            self.ram_bytes = int(ram["pages"]) * self.page_bytes
        elif (reserved := _RESERVED.match(text)) is not None:
            self.reserved_bytes += int(reserved["pages"]) * self.page_bytes
        elif (zone := _ZONE.match(text)) is not None:
            self.zones.append(Zone(zone["zone"], int(zone["free"]) * KIB, int(zone["min"]) * KIB))
        elif (huge := _HUGE.search(text)) is not None:
            held = int(huge["total"]) * int(huge["kib"]) * KIB
            self.huge_pages_bytes = (self.huge_pages_bytes or 0) + held
        elif (slab := _SLAB_ROW.match(text)) is not None:
            size = int(slab["kib"]) * KIB
            if self.slab_cache is None or size > self.slab_cache[1]:
                self.slab_cache = slab["name"], size
        elif _COUNTED.match(text) is not None:
            for count in _COUNT.finditer(text):
                self.pages.setdefault(count["key"], int(count["pages"]))
        else:
            return False
        return True

    @property
    def is_filled(self) -> bool:
        return bool(self.zones or "free" in self.pages)

    def counted(self, *keys: str) -> int | None:
        """Bytes of these counters, added up; None where the report has none of them."""
        found = [self.pages[key] for key in keys if key in self.pages]
        return sum(found) * self.page_bytes if found else None
