"""The memory lines of an OOM report ('Mem-Info'): free, slab, shmem, zones, swap, huge pages and the size of RAM."""

import re
from dataclasses import dataclass, field

from memwatch.diagnose.logs.oom_kill import Zone
from memwatch.model.units import KIB

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
    """Filled line by line."""

    page_bytes: int
    ram_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    reserved_bytes: int = 0
    huge_pages_bytes: int | None = None
    zones: list[Zone] = field(default_factory=list)
    slab_cache: tuple[str, int] | None = None  # the largest: its name and bytes
    pages: dict[str, int] = field(default_factory=dict)

    def take(self, text: str) -> bool:
        """Whether the line is one of these."""
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
