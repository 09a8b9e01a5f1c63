"""What a system log tells of freezes and kills, from its lines; the rest is passed over.

A log can be huge and repeat itself, so of each kind only the last `MOST_EVENTS` are held, and how many came is counted.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from memwatch.diagnose.logs.log_lines import KERNEL, LogLine
from memwatch.diagnose.logs.oom import OomKill, OomReader
from memwatch.model.units import MIB

MOST_EVENTS = 200
MOST_FRAMES = 60  # of a hung task's stack; it is followed by registers and by other lines
MOST_DETAIL_CHARACTERS = 200

_HUNG = re.compile(r"INFO: task (?P<name>.*):(?P<pid>\d+) (?:<.*> )?blocked.* for more than (?P<seconds>\d+) seconds")
_FRAME = re.compile(r"\s*(?:\[<[0-9a-f]+>\] )?(?:\? )?(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+")
_XID = re.compile(
    r"NVRM: Xid \((?P<device>[^)]*)\): (?P<code>\d+)(?:, pid='?(?P<pid>\d+|<unknown>)'?)?"
    r"(?:, name=(?P<name>[^,]*))?,? ?(?P<detail>.*)"
)
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_GPU_RESET = re.compile(r"(?:amdgpu|i915|xe) .*?(?P<detail>ring \S+ timeout.*|GPU HANG.*|GPU reset begin.*)")
_GPU_FULL = re.compile(
    r"(?:NVRM|nvidia|amdgpu|\[TTM\]|\[drm\]).*(?:out of memory|NV_ERR_NO_MEMORY|Not enough memory)", re.IGNORECASE
)
_LOCKUP = re.compile(
    r"watchdog: BUG: soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! \[(?P<name>.*):(?P<pid>\d+)\]"
)
_OOMD = re.compile(r"Killed (?P<cgroup>/.*?) due to (?P<reason>.*)")
_EARLYOOM = re.compile(
    r"sending (?P<signal>SIG\w+) to process (?P<pid>\d+)(?: uid \d+)? \"(?P<name>.*)\": "
    r"(?:badness|oom_score) \d+, VmRSS (?P<mib>\d+) MiB"
)
_NOHANG_VICTIM = re.compile(r"\s*PID: +(?P<pid>\d+), [Nn]ame: (?P<name>.*), badness: \d+")
_NOHANG_RSS = re.compile(r"\s*VmRSS: +(?P<mib>\d+) MiB")
_NOHANG_SENT = re.compile(r"\s*Send(?:ing)? (?P<signal>SIG\w+) to the victim")
# One of these stands in every line that begins something; nearly all lines of a log have none, and cost one look.
_HINT = re.compile(
    r"oom|Killed process|INFO: task|NVRM|nvidia|amdgpu|i915|xe |\[TTM\]|\[drm\]|soft lockup|No space left|ENOSPC"
)
_ABSURD = re.compile(r"\d{19}")  # No number in a log is that long, and Python refuses to read one of thousands.
_FULL_DISK = re.compile(r".*(?:No space left on device|\bENOSPC\b)")


class Killer(StrEnum):
    OOMD = "systemd-oomd"
    EARLYOOM = "earlyoom"
    NOHANG = "nohang"


class Wait(StrEnum):
    """What a hung task's stack shows it to wait for."""

    MEMORY = "memory"
    WRITING = "writing"
    UNKNOWN = "unknown"


# In the stack of a task that waits: the kernel makes room for it, or reads back what was swapped out.
_FOR_MEMORY = re.compile(
    r"do_swap_page|swap_readpage|swap_read_folio|swapin_|shrink_\w+|try_to_free_|__alloc_pages_slowpath|"
    r"mem_cgroup_handle_over_high|reclaim_throttle|do_try_to_free"
)
_FOR_WRITING = re.compile(
    r"balance_dirty_pages|wait_on_page_writeback|folio_wait_writeback|jbd2_|sync_inodes|do_fsync|vfs_fsync|"
    r"file_write_and_wait|wb_wait_for_completion|xlog_|btrfs_commit_transaction|ext4_sync_file|iterate_supers"
)


@dataclass(frozen=True, slots=True)
class HungTask:
    t: float | None
    pid: int
    name: str
    seconds: int  # at least so long
    wait: Wait = Wait.UNKNOWN


@dataclass(frozen=True, slots=True)
class DaemonKill:
    """systemd-oomd kills a cgroup; earlyoom and nohang a process."""

    t: float | None
    killer: Killer
    name: str
    pid: int | None = None
    rss_bytes: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class GpuError:
    t: float | None
    code: int | None  # an Xid, where it is NVIDIA's
    device: str
    name: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class GpuFull:
    t: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Lockup:
    t: float | None
    cpu: int
    seconds: int
    name: str


@dataclass(frozen=True, slots=True)
class DiskFull:
    t: float | None
    who: str
    detail: str


LogEvent = OomKill | HungTask | DaemonKill | GpuError | GpuFull | Lockup | DiskFull


@dataclass(frozen=True, slots=True)
class LogEvents:
    events: tuple[LogEvent, ...] = ()  # in the order of the log
    left_out: int = 0
    start_t: float | None = None
    end_t: float | None = None
    lines: int = 0

    def of(self, kind: type) -> list[LogEvent]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass(slots=True)
class _Hung:
    task: HungTask
    lines: int = 0


@dataclass(slots=True)
class _Victim:
    """Of nohang, which tells about it before it tells what it did."""

    pid: int | None = None
    name: str = "?"
    rss_bytes: int | None = None


def read_log(lines: Iterable[LogLine], page_bytes: int = 4096) -> LogEvents:
    reader = _Reader(OomReader(page_bytes))
    for line in lines:
        reader.feed(line)
    return reader.finish()


@dataclass(slots=True)
class _Reader:
    oom: OomReader
    found: dict[type, deque[LogEvent]] = field(default_factory=dict)
    count: int = 0
    lines: int = 0
    start_t: float | None = None
    end_t: float | None = None
    hung: _Hung | None = None
    victim: _Victim = field(default_factory=_Victim)

    def feed(self, line: LogLine) -> None:
        self.lines += 1
        if line.t is not None:
            self.start_t = line.t if self.start_t is None else min(self.start_t, line.t)
            self.end_t = line.t if self.end_t is None else max(self.end_t, line.t)
        if _ABSURD.search(line.text) is not None:
            return
        if line.who == KERNEL:
            self._kernel(line)
        elif line.who == Killer.OOMD and (match := _OOMD.match(line.text)) is not None:
            self._add(DaemonKill(line.t, Killer.OOMD, match["cgroup"], reason=match["reason"]))
        elif line.who == Killer.EARLYOOM and (match := _EARLYOOM.match(line.text)) is not None:
            rss_bytes = int(match["mib"]) * MIB
            self._add(DaemonKill(line.t, Killer.EARLYOOM, match["name"], int(match["pid"]), rss_bytes))
        elif line.who.startswith(Killer.NOHANG):
            self._nohang(line)
        elif _FULL_DISK.match(line.text) is not None:
            self._add(DiskFull(line.t, line.who, line.text[:MOST_DETAIL_CHARACTERS]))

    def finish(self) -> LogEvents:
        self._close_hung()
        events = [event for kind in self.found.values() for event in kind]
        left_out = self.count - len(events)
        # A kernel line can stand in two files; the same event twice is one.
        events = sorted(dict.fromkeys(events), key=lambda event: event.t if event.t is not None else float("-inf"))
        return LogEvents(tuple(events), left_out, self.start_t, self.end_t, self.lines)

    def _kernel(self, line: LogLine) -> None:
        t, text = line.t, line.text
        if self.hung is None and not self.oom.is_reading and _HINT.search(text) is None:
            return
        if self.hung is not None:
            self._stack(self.hung, text)
        kill = self.oom.feed(t, text)
        if kill is not None:
            self._add(kill)
        elif (match := _HUNG.match(text)) is not None:
            self._close_hung()
            self.hung = _Hung(HungTask(t, int(match["pid"]), match["name"], int(match["seconds"])))
        elif (match := _XID.search(text)) is not None:
            name = None if match["name"] in (None, "<unknown>") else match["name"]
            detail = match["detail"][:MOST_DETAIL_CHARACTERS]
            self._add(GpuError(t, int(match["code"]), match["device"], name, detail))
        elif _FALLEN.match(text) is not None:
            self._add(GpuError(t, 79, "", None, "GPU has fallen off the bus"))
        elif _GPU_FULL.match(text) is not None:
            self._add(GpuFull(t, text[:MOST_DETAIL_CHARACTERS]))
        elif (match := _GPU_RESET.match(text)) is not None:
            self._add(GpuError(t, None, "", None, match["detail"][:MOST_DETAIL_CHARACTERS]))
        elif (match := _LOCKUP.match(text)) is not None:
            self._add(Lockup(t, int(match["cpu"]), int(match["seconds"]), match["name"]))
        elif _FULL_DISK.match(text) is not None:
            self._add(DiskFull(t, KERNEL, text[:MOST_DETAIL_CHARACTERS]))

    def _stack(self, hung: _Hung, text: str) -> None:
        hung.lines += 1
        if (frame := _FRAME.match(text)) is not None and hung.task.wait == Wait.UNKNOWN:
            wait = _wait(frame["function"])
            task = hung.task
            hung.task = HungTask(task.t, task.pid, task.name, task.seconds, wait)
        if hung.lines >= MOST_FRAMES:
            self._close_hung()

    def _close_hung(self) -> None:
        if self.hung is not None:
            self._add(self.hung.task)
            self.hung = None

    def _nohang(self, line: LogLine) -> None:
        if (match := _NOHANG_VICTIM.match(line.text)) is not None:
            self.victim = _Victim(int(match["pid"]), match["name"])
        elif (match := _NOHANG_RSS.match(line.text)) is not None:
            self.victim.rss_bytes = int(match["mib"]) * MIB
        elif _NOHANG_SENT.match(line.text) is not None:
            victim = self.victim
            self._add(DaemonKill(line.t, Killer.NOHANG, victim.name, victim.pid, victim.rss_bytes))
            self.victim = _Victim()

    def _add(self, event: LogEvent) -> None:
        self.count += 1
        self.found.setdefault(type(event), deque(maxlen=MOST_EVENTS)).append(event)


def _wait(function: str) -> Wait:
    if _FOR_MEMORY.match(function):
        return Wait.MEMORY
    return Wait.WRITING if _FOR_WRITING.match(function) else Wait.UNKNOWN
