"""Reads the kernel's report of an OOM kill: its first and last lines, and whose limit was reached.

Written after mm/oom_kill.c and mm/memcontrol.c of Linux 2.6.32 to 6.18. What they print has changed, and people paste
parts of it, so every part is optional. A report whose last line is missing (the machine was reset, the paste is cut) is
still an OOM, without a victim. oom_memory.py reads the table of processes and the memory lines.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from memwatch.diagnose.logs.oom_frames import RequestStack
from memwatch.diagnose.logs.oom_kill import LimitKind, NoVictim, OomKill
from memwatch.diagnose.logs.oom_memory import (
    HEADLESS_HINT,
    MemoryCounts,
    ProcessTable,
    is_memory_line,
    is_table_line,
    page_bytes_in,
)
from memwatch.model.units import KIB

LONGEST_REPORT_S = 60.0  # over a serial console a long table takes many seconds
MOST_KILLED = 64
NO_LIMIT_BYTES = 1 << 60

# Linux 2.6.18 does not say who asked.
_INVOKED = re.compile(
    r"(?:(?P<name>.{1,32}?) invoked oom-killer: |oom-killer: (?=gfp_mask))(?:.*?order=(?P<order>-?\d\d?)\b)?"
)
_SYSRQ = re.compile(r"(?i)sysrq ?: (?:Manual OOM execution|OOM)")
_VERDICT = re.compile(r"oom-kill:constraint=(?P<constraint>CONSTRAINT_\w+),")
_MEMCG = re.compile(r",oom_memcg=(?P<path>/.*?),task_memcg=")
_MEMCG_PIECE = re.compile(r"oom_memcg=(?P<path>/[^,\s]*)")  # of the verdict, where somebody pastes a part of it
_TASK_MEMCG = re.compile(r",task_memcg=(?P<path>/.*?),task=")
_CHOSEN_TASK = re.compile(r",task=(?P<name>.*),pid=(?P<pid>\d+),uid=")
_OLD_MEMCG = re.compile(r"Task in (?P<task>/.*) killed as a result of limit of (?P<path>/.*)")
_GROUP = re.compile(r"Tasks in (?P<path>/.*) are going to be killed due to memory\.oom\.group set")
_STATS_FOR = re.compile(r"Memory cgroup stats for (?P<path>/[^:]*):")
_LIMIT = re.compile(r"memory: usage (?P<usage>\d+)kB, limit (?P<limit>\d+)kB")
_CHOSEN = re.compile(
    r"(?P<before>.*?)ut of memory(?: \(oom_kill_allocating_task\))?: [Kk]ill process (?P<pid>\d+)"
    r"(?:, UID \d+,)? \((?P<name>.*?)\) score (?P<score>\d+)"
)
_NONE_LEFT = re.compile(r"(?P<before>.*?)ut of memory and no killable processes")
_DEADLOCKED = re.compile(r"Kernel panic - not syncing: System is deadlocked on memory")
# panic_on_oom=1 spares a cgroup's limit ("system-wide"), 2 does not ("compulsory").
_PANIC = re.compile(
    r"Kernel panic - not syncing: [Oo]ut of memory(?:\(\w+\))?[:.] (?P<which>[Cc]ompulsory|system-wide|panic_on_oom"
    r" is)?"
)
_KILLED = re.compile(
    r"(?P<before>.*?)Killed process (?P<pid>\d+)(?:, UID \d+,)? \((?P<name>.*?)\)"
    r"(?=[,.*'`\x22]|\s+(?:total-vm|vsz)|\s*$| \()(?P<rest>.*)"
)
_BEFORE_VICTIM = re.compile(r"ut of [Mm]emory(?: \(oom_kill_allocating_task\))?: $")
_SIZE = re.compile(r"\b(?P<part>anon|file|shmem)-rss:(?P<kib>\d+)kB")
_ADJUSTED = re.compile(r"oom_score_adj:(?P<adj>-?\d+)")
_REAPED = re.compile(
    r"oom_reaper: (?:reaped process |unable to reap pid:)(?P<pid>\d+) \((?P<name>.*?)\)(?P<rest>)(?P<before>)"
)
_EXITING = re.compile(
    r"(?P<before>.*?)ut of memory: OOM victim (?P<pid>\d+) \((?P<name>.*?)\) is already exiting(?P<rest>)"
)
# What begins a report of which the first lines are missing: also its stack, which nothing else has.
_OOM_FRAME = re.compile(r"\s*(?:\[<[0-9a-f]+>\] )?(?:oom_kill_process|(?:mem_cgroup_)?out_of_memory)[\w.]*\+0x")
_BEGINS_CUT = re.compile(
    r"oom-kill:constraint=|oom_memcg=/|Tasks in /.* memory\.oom\.group set|Task in /.* killed as a result of limit|"
    r"memory: usage \d+kB, limit|Memory cgroup stats for /"
)
# One of these stands in every line that can begin a report.
HINT = (
    r"oom|Killed process|ut of [Mm]emory|SysRq|sysrq|pages (?:of )?RAM|(?:Free|Total) swap|Mem-[Ii]nfo|pid *\]|"
    r"killed as a result of limit|"
    rf"failcnt|cgroup stats|out_of_memory|{HEADLESS_HINT}"
)


@dataclass(slots=True)
class _Open:
    """A report of which the last line has not come yet."""

    t: float | None
    table: ProcessTable
    memory: MemoryCounts
    invoked_by: str | None = None
    order: int | None = None
    limit: LimitKind = LimitKind.UNKNOWN
    cgroup: str | None = None
    task_cgroup: str | None = None
    is_node_bound: bool = False
    limit_bytes: int | None = None
    stack: RequestStack = field(default_factory=RequestStack)
    is_by_hand: bool = False
    is_oom: bool = False  # said to be one, so that it counts without a victim
    has_kill: bool = False
    no_victim: NoVictim = NoVictim.CUT
    chosen: tuple[int, str] | None = None  # of the verdict's line, which comes before the kill

    def pids(self) -> set[int]:
        """Processes that this report names, so that its end is known among others."""
        return {row.pid for row in self.table.rows} | ({self.chosen[0]} if self.chosen else set())


class OomReader:
    """Takes the kernel's lines one by one. The kernel makes reports under a lock, but a log of several machines, and a
    slow console, interleave them: a report that another begins within is set aside, until its victim is named."""

    def __init__(self, page_bytes: int) -> None:
        self.page_bytes = page_bytes  # until a line states another
        self._open: _Open | None = None
        self._aside: _Open | None = None
        self._killed: deque[int] = deque(maxlen=MOST_KILLED)  # the last victims
        self._chosen: tuple[int, LimitKind] | None = None  # of the first of the two lines that old kernels print
        self.is_reading = False  # in a report whose victim has not been named yet: every line may belong to it

    def feed(self, t: float | None, text: str) -> Iterator[OomKill]:
        """The kill, once its last line has come; and a report without one, once the next begins."""
        if (invoked := _INVOKED.match(text)) is not None:
            order = None if invoked["order"] is None else int(invoked["order"])
            # SysRq-f is announced, and then reported: that is one kill.
            is_announced = self._open is not None and self._open.is_by_hand and self._open.invoked_by is None
            if not is_announced:
                yield from self._set_aside(t)
            report = self._begin(t)
            report.invoked_by, report.order, report.is_oom = invoked["name"], order, True
            report.is_by_hand = is_announced or order == -1
        elif _SYSRQ.match(text) is not None:
            yield from self.finish()
            report = self._begin(t)
            report.is_oom = report.is_by_hand = True
        elif (killed := _KILLED.match(text) or _EXITING.match(text)) is not None:
            # The report stays open: the rest of a cgroup may be killed with the victim, and its table is theirs too.
            self.is_reading = False
            yield self._kill(t, killed)
        elif (reaped := _REAPED.match(text)) is not None:
            # Often the only line that is left of a kill, or that somebody pastes.
            if int(reaped["pid"]) not in self._killed:
                self.is_reading = False
                yield self._kill(t, reaped)
        elif (chosen := _CHOSEN.match(text)) is not None:
            limit = LimitKind.CGROUP if chosen["before"].endswith("cgroup o") else LimitKind.MACHINE
            self._chosen = int(chosen["pid"]), limit
            report = self._report(t)
            report.chosen = int(chosen["pid"]), chosen["name"]
            report.is_oom = True
            report.limit = limit
        elif not self._take_panic(t, text):
            self._take_any(t, text)

    def finish(self) -> Iterator[OomKill]:
        """The reports that are open, if they say that memory ran out and name no victim."""
        reports, self._aside, self._open = (self._aside, self._open), None, None
        self.is_reading = False
        self._chosen = None
        for report in reports:
            if report is not None and report.is_oom and not report.has_kill:
                _prove_limit(report)
                pid, name = report.chosen or (None, "")
                yield replace(self._made(report, report.t, pid, name, None, None), no_victim=report.no_victim)

    def _set_aside(self, t: float | None) -> Iterator[OomKill]:
        """What was open, once another report begins: only one whose end may still come is kept."""
        report = self._open
        is_kept = report is not None and not report.has_kill and report.pids() and self._aside is None
        if report is None or not is_kept or t is None or not _is_near(report.t, t):
            yield from self.finish()
        else:
            self._aside, self._open = report, None

    def _begin(self, t: float | None) -> _Open:
        self._open = _Open(t, ProcessTable(self.page_bytes), MemoryCounts(self.page_bytes))
        self.is_reading = True
        return self._open

    def _report(self, t: float | None) -> _Open:
        """The one that is open, or a new one: of a cut report the first lines are missing."""
        if self._open is None or not _is_near(self._open.t, t) or self._open.has_kill:
            return self._begin(t)
        self.is_reading = True
        return self._open

    def _take_panic(self, t: float | None, text: str) -> bool:
        if (none_left := _NONE_LEFT.match(text)) is not None:
            report = self._report(t)
            report.is_oom, report.no_victim = True, NoVictim.NONE_LEFT
            if none_left["before"].startswith("Kernel panic"):
                report.limit = LimitKind.MACHINE
            elif none_left["before"].endswith("cgroup o"):
                report.limit = LimitKind.CGROUP
            return True
        if (panic := _PANIC.match(text)) is not None:
            report = self._report(t)
            report.is_oom, report.no_victim = True, NoVictim.PANIC
            if panic["which"] in ("system-wide", "panic_on_oom is"):
                report.limit = LimitKind.MACHINE
            return True
        if _DEADLOCKED.match(text) is not None:
            # Only a machine without memory panics; a cgroup without victims goes on.
            report = self._report(t)
            report.limit, report.is_oom, report.no_victim = LimitKind.MACHINE, True, NoVictim.NONE_LEFT
            return True
        return False

    def _take_any(self, t: float | None, text: str) -> None:
        if self._open is not None and self.is_reading:
            self._take(self._open, text)
            self.is_reading = self._open is not None and _is_near(self._open.t, t)
        elif _OOM_FRAME.match(text) is not None and (self._open is None or not self._open.has_kill):
            report = self._report(t)
            report.is_oom = True
            self._take(report, text)
        elif _GROUP.match(text) is not None and self._open is not None and _is_near(self._open.t, t):
            pass  # Said after the first kill, of the rest of the same cgroup.
        elif _BEGINS_CUT.match(text) is not None or is_table_line(text) or is_memory_line(text):
            self._take(self._report(t), text)

    def _take(self, report: _Open, text: str) -> None:
        if (page_bytes := page_bytes_in(text)) is not None:
            # Before everything else in the report that counts pages, but for counters, which are converted at its end.
            self.page_bytes = report.table.page_bytes = report.memory.page_bytes = page_bytes
        elif report.table.take(text):
            report.is_oom = True  # The kernel prints this table for an OOM kill only.
        elif (verdict := _VERDICT.match(text)) is not None:
            self._take_verdict(report, verdict["constraint"], text)
        elif (old := _OLD_MEMCG.match(text)) is not None:
            report.limit, report.cgroup, report.task_cgroup = LimitKind.CGROUP, old["path"], old["task"]
            report.is_oom = True
        elif (limit := _LIMIT.match(text)) is not None:
            report.limit, report.limit_bytes = LimitKind.CGROUP, _known_limit(int(limit["limit"]) * KIB)
        elif (stats := _STATS_FOR.match(text)) is not None:
            # The counters of a cgroup are printed for an OOM of that cgroup only.
            report.limit, report.cgroup, report.is_oom = LimitKind.CGROUP, report.cgroup or stats["path"], True
            report.memory.begin_cgroup(text[stats.end() :])
        elif (piece := _MEMCG_PIECE.match(text)) is not None:
            report.limit, report.cgroup, report.is_oom = LimitKind.CGROUP, piece["path"], True
        elif (group := _GROUP.match(text)) is not None:
            report.limit, report.cgroup, report.is_oom = LimitKind.CGROUP, group["path"], True
        elif not report.memory.take(text):
            report.stack.take(text)

    def _take_verdict(self, report: _Open, constraint: str, text: str) -> None:
        report.is_oom = True
        report.limit = LimitKind.CGROUP if constraint == "CONSTRAINT_MEMCG" else LimitKind.MACHINE
        report.is_node_bound = constraint in ("CONSTRAINT_CPUSET", "CONSTRAINT_MEMORY_POLICY")
        if (chosen := _CHOSEN_TASK.search(text)) is not None:
            report.chosen = int(chosen["pid"]), chosen["name"]
        task = _TASK_MEMCG.search(text)
        report.task_cgroup = None if task is None else task["path"]
        if report.limit == LimitKind.CGROUP and (path := _MEMCG.search(text) or task) is not None:
            report.cgroup = path["path"]

    def _kill(self, t: float | None, match: re.Match[str]) -> OomKill:
        report, aside, pid = self._open, self._aside, int(match["pid"])
        if aside is not None and pid in aside.pids() and (report is None or pid not in report.pids()):
            report, self._aside = aside, None
        if report is None or not _is_near(report.t, t):
            report = self._begin(t)
            self.is_reading = False
        if "emory cgroup out of memory" in match["before"]:
            report.limit = LimitKind.CGROUP
        elif _BEFORE_VICTIM.search(match["before"]) and report.limit == LimitKind.UNKNOWN:
            report.limit = LimitKind.MACHINE
        elif report.limit == LimitKind.UNKNOWN and self._chosen is not None:
            report.limit = self._chosen[1]
        _prove_limit(report)
        report.has_kill = True
        self._chosen = None
        self._killed.append(int(match["pid"]))
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
        if report.invoked_by is None and not report.table.rows and not report.cgroup:
            self._open = None  # The next kill is another one: nothing here may be lent to it.
        return kill

    def _made(
        self, report: _Open, t: float | None, pid: int | None, name: str, rss_bytes: int | None, adjusted: int | None
    ) -> OomKill:
        in_cgroup = report.limit == LimitKind.CGROUP
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
            cgroup_counts=report.memory.cgroup_counts() if in_cgroup else (),
            task_cgroup=report.task_cgroup,
            is_node_bound=report.is_node_bound,
            ram_bytes=report.memory.ram_bytes,
            swap_total_bytes=report.memory.swap_total_bytes,
            swap_free_bytes=report.memory.swap_free_bytes,
            biggest=report.table.biggest(),
            programs=report.table.programs(),
            table_rss_bytes=report.table.rss_bytes,
            order=report.order,
            free_bytes=report.memory.counted("free"),
            zones=tuple(report.memory.zones),
            slab_bytes=report.memory.counted("slab_reclaimable", "slab_unreclaimable"),
            slab_unreclaimable_bytes=report.memory.counted("slab_unreclaimable"),
            slab_cache=report.memory.slab_cache,
            shmem_bytes=report.memory.counted("shmem"),
            page_tables_bytes=report.memory.counted("pagetables"),
            page_cache_bytes=report.memory.counted("active_file", "inactive_file"),
            anonymous_bytes=report.memory.counted("active_anon", "inactive_anon", "unevictable"),
            reserved_bytes=report.memory.reserved_bytes,
            huge_pages_bytes=report.memory.huge_pages_bytes,
            is_by_hand=report.is_by_hand,
            no_victim=report.no_victim if pid is None else None,
        )


def _known_limit(limit_bytes: int) -> int | None:
    """None for 'no limit', which the kernel prints as the largest number: a cgroup above it has one."""
    return None if limit_bytes >= NO_LIMIT_BYTES else limit_bytes


def _is_near(begun_t: float | None, t: float | None) -> bool:
    """A report whose end was lost must not lend its table to the next."""
    return begun_t is None or t is None or abs(t - begun_t) <= LONGEST_REPORT_S


def _prove_limit(report: _Open) -> None:
    """The kernel prints the memory of the machine ('Mem-Info') only where the machine's is used up; for a cgroup it
    prints the cgroup's counters. Linux before 3.9 prints both, the cgroup's first."""
    has_both = report.table.rows and report.memory.ram_bytes  # an allocation failure has no table
    if report.limit == LimitKind.UNKNOWN and (has_both or (report.invoked_by and report.memory.is_filled)):
        report.limit = LimitKind.MACHINE
    if report.limit == LimitKind.UNKNOWN:
        report.limit = report.stack.limit
