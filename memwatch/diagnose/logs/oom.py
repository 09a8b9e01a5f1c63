"""The kernel's report of an OOM kill: who was killed, by what limit, and who else was there.

Written after mm/oom_kill.c and mm/memcontrol.c of Linux 4.15 to 6.18. What they print has changed, so every part is
optional but the line that names the victim; the columns of the table are found by their heads.
"""

import re
from dataclasses import dataclass, field
from heapq import nlargest

from memwatch.model.units import KIB

MOST_ROWS = 10  # of a table; a machine may have tens of thousands of processes
_MOST_ROWS_HELD = 1000
LONGEST_REPORT_S = 60.0  # over a serial console a long table takes many seconds

_INVOKED = re.compile(r"(?P<name>.{1,32}?) invoked oom-killer: ")
_HEAD = re.compile(r"\[ *pid *\] +(?P<columns>.*\bname)$")
_ROW = re.compile(r"\[ *(?P<pid>\d+)\] +(?P<rest>.*)")
_VERDICT = re.compile(r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w+),")
_MEMCG = re.compile(r",oom_memcg=(?P<path>/.*?),task_memcg=")
_TASK_MEMCG = re.compile(r",task_memcg=(?P<path>/.*?),task=")
_OLD_MEMCG = re.compile(r"Task in (?P<task>/.*) killed as a result of limit of (?P<path>/.*)")
_LIMIT = re.compile(r"memory: usage (?P<usage>\d+)kB, limit (?P<limit>\d+)kB")
_FREE_SWAP = re.compile(r"Free swap  = (?P<kib>\d+)kB")
_TOTAL_SWAP = re.compile(r"Total swap = (?P<kib>\d+)kB")
_RAM = re.compile(r"(?P<pages>\d+) pages RAM")
_KILLED = re.compile(
    r"(?P<before>.*?)Killed process (?P<pid>\d+)(?:, UID \d+,)? \((?P<name>.*)\)(?:, UID \d+)?,? "
    r"total-vm:\d+kB, anon-rss:(?P<anon>\d+)kB, file-rss:(?P<file>\d+)kB(?:, shmem-rss:(?P<shmem>\d+)kB)?"
    r"(?:.* oom_score_adj:(?P<adj>-?\d+))?"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A process in the table. What it took is in RAM and in swap."""

    pid: int
    name: str
    taken_bytes: int
    oom_score_adj: int


@dataclass(frozen=True, slots=True)
class OomKill:
    t: float | None
    pid: int
    name: str
    rss_bytes: int
    oom_score_adj: int | None = None
    invoked_by: str | None = None  # whose request for memory could not be met
    in_cgroup: bool = False  # a cgroup's limit was reached, and not the machine's memory
    cgroup: str | None = None
    cgroup_limit_bytes: int | None = None
    ram_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    biggest: tuple[Row, ...] = ()  # the biggest first

    @property
    def victim_row(self) -> Row | None:
        return next((row for row in self.biggest if row.pid == self.pid), None)

    @property
    def taken_bytes(self) -> int:
        row = self.victim_row
        return self.rss_bytes if row is None else max(row.taken_bytes, self.rss_bytes)

    @property
    def bigger(self) -> Row | None:
        """Who took half as much again as the victim, or more, and was spared."""
        others = [row for row in self.biggest if row.pid != self.pid and row.taken_bytes >= 1.5 * self.taken_bytes]
        return others[0] if others else None


@dataclass(slots=True)
class _Open:
    """A report of which the last line has not come yet."""

    t: float | None
    invoked_by: str | None = None
    in_cgroup: bool = False
    cgroup: str | None = None
    limit_bytes: int | None = None
    ram_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    columns: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)


class OomReader:
    """Takes the kernel's lines one by one. Reports never interleave: the kernel makes them under a lock."""

    def __init__(self, page_bytes: int = 4 * KIB) -> None:
        self._page_bytes = page_bytes
        self._open: _Open | None = None
        self.is_reading = False  # in a report whose victim has not been named yet: every line may belong to it

    def feed(self, t: float | None, text: str) -> OomKill | None:
        """The kill, once its last line has come."""
        if (invoked := _INVOKED.match(text)) is not None:
            self._open = _Open(t, invoked_by=invoked["name"])
            self.is_reading = True
            return None
        if (killed := _KILLED.match(text)) is not None:
            # The report stays open: the rest of a cgroup may be killed with the victim, and its table is theirs too.
            self.is_reading = False
            return self._kill(t, killed)
        if self._open is not None and self.is_reading:
            self._take(self._open, text)
            self.is_reading = _is_near(self._open.t, t)
        return None

    def _take(self, report: _Open, text: str) -> None:
        if report.columns and (row := _ROW.match(text)) is not None:
            self._take_row(report, row)
        elif (head := _HEAD.match(text)) is not None:
            report.columns = tuple(head["columns"].split())
        elif (verdict := _VERDICT.match(text)) is not None:
            report.in_cgroup = verdict["constraint"] == "CONSTRAINT_MEMCG"
            if report.in_cgroup and (path := _MEMCG.search(text) or _TASK_MEMCG.search(text)) is not None:
                report.cgroup = path["path"]
        elif (old := _OLD_MEMCG.match(text)) is not None:
            report.in_cgroup, report.cgroup = True, old["path"]
        elif (limit := _LIMIT.match(text)) is not None:
            report.limit_bytes = int(limit["limit"]) * KIB
        elif (free := _FREE_SWAP.match(text)) is not None:
            report.swap_free_bytes = int(free["kib"]) * KIB
        elif (total := _TOTAL_SWAP.match(text)) is not None:
            report.swap_total_bytes = int(total["kib"]) * KIB
        elif (ram := _RAM.match(text)) is not None:
            report.ram_bytes = int(ram["pages"]) * self._page_bytes

    def _take_row(self, report: _Open, match: re.Match[str]) -> None:
        words = match["rest"].split(None, len(report.columns) - 1)
        cells = dict(zip(report.columns, words, strict=False))
        try:
            pages = int(cells["rss"]) + int(cells.get("swapents", 0))
            row = Row(int(match["pid"]), cells["name"], pages * self._page_bytes, int(cells["oom_score_adj"]))
        except (KeyError, ValueError):
            return  # Torn.
        report.rows.append(row)
        if len(report.rows) > _MOST_ROWS_HELD:
            report.rows = _biggest(report.rows)

    def _kill(self, t: float | None, match: re.Match[str]) -> OomKill:
        report = self._open if self._open is not None and _is_near(self._open.t, t) else _Open(t)
        in_cgroup = report.in_cgroup or "emory cgroup out of memory" in match["before"]
        return OomKill(
            t=t if t is not None else report.t,
            pid=int(match["pid"]),
            name=match["name"],
            rss_bytes=sum(int(match[part] or 0) for part in ("anon", "file", "shmem")) * KIB,
            oom_score_adj=None if match["adj"] is None else int(match["adj"]),
            invoked_by=report.invoked_by,
            in_cgroup=in_cgroup,
            cgroup=report.cgroup if in_cgroup else None,
            cgroup_limit_bytes=report.limit_bytes if in_cgroup else None,
            ram_bytes=report.ram_bytes,
            swap_total_bytes=report.swap_total_bytes,
            swap_free_bytes=report.swap_free_bytes,
            biggest=tuple(_biggest(report.rows)),
        )


def _is_near(begun_t: float | None, t: float | None) -> bool:
    """A report whose end was lost must not lend its table to the next."""
    return begun_t is None or t is None or abs(t - begun_t) <= LONGEST_REPORT_S


def _biggest(rows: list[Row]) -> list[Row]:
    return nlargest(MOST_ROWS, rows, key=lambda row: row.taken_bytes)
