"""What a system log tells of freezes and kills, from its lines; the rest is passed over.

A log can be huge and repeat itself, so of each kind only the last `MOST_EVENTS` are held, and how many came is counted.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memwatch.diagnose.logs.daemon_lines import HINT as DAEMON_HINT
from memwatch.diagnose.logs.daemon_lines import DaemonKill, DaemonReader
from memwatch.diagnose.logs.fault_values import MOST_DETAIL_CHARACTERS, Fault, ManagedKill, Manager
from memwatch.diagnose.logs.faults import HINT as FAULT_HINT
from memwatch.diagnose.logs.faults import read_fault
from memwatch.diagnose.logs.log_lines import KERNEL, LogLine
from memwatch.diagnose.logs.oom_kill import OomKill
from memwatch.diagnose.logs.oom_report import HINT as OOM_HINT
from memwatch.diagnose.logs.oom_report import OomReader
from memwatch.model.units import KIB

# Of another machine's log that does not state its page size (the free lists of an OOM report do). All x86 machines
# and most others have this one.
ASSUMED_PAGE_BYTES = 4 * KIB
MOST_EVENTS = 200
MOST_FRAMES = 60  # of a hung task's stack; it is followed by registers and by other lines

_HUNG = re.compile(r"INFO: task (?P<name>.*):(?P<pid>\d+) (?:<.*> )?blocked.* for more than (?P<seconds>\d+) seconds")
_FRAME = re.compile(r"\b(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+")
_XID = re.compile(
    r"NVRM: Xid \((?P<device>[^)]*)\): (?P<code>\d+)(?:, pid='?(?P<pid>\d+|<unknown>)'?)?"
    r"(?:, name=(?P<name>[^,]*))?,? ?(?P<detail>.*)"
)
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_GSP = re.compile(r"NVRM: .*(?:GSP Timeout|Timeout waiting for RPC from GSP|GSP RPC timeout)")
# Linux 4.9 to 4.14: a request for memory waited that long.
_STALLED = re.compile(r"(?P<name>.{1,32}?): page allocation stalls for (?P<ms>\d+)ms")
_GPU_FULL = re.compile(
    r"(?:NVRM|nvidia|amdgpu|\[TTM\]|\[drm\]).*(?:out of memory|NV_ERR_NO_MEMORY|Not enough memory)", re.IGNORECASE
)
# One of these stands in every line that begins something; nearly all lines of a log have none, and cost one look.
_HINT = re.compile(
    rf"{OOM_HINT}|{FAULT_HINT}|INFO: task|NVRM|nvidia|amdgpu|i915|xe |\[TTM\]|\[drm\]|No space left|ENOSPC|"
    rf"errno=-28|error -28|out-of-data|microsoft-standard|WSL ?2|zram|allocation stalls|{DAEMON_HINT}"
)
_WSL = re.compile(r".*(?:microsoft-standard|\bWSL ?2\b)")
_POD_LIMIT = re.compile(r"\s+memory: +(?P<limit>\d+(?:\.\d+)?[KMGT]i?)$")
_CAUSED_BY = re.compile(r"caused by previous Xid (?P<code>\d+)")
_ABSURD = re.compile(r"\d{19}")  # No number in a log is that long, and Python refuses to read one of thousands.
_FULL_DISK = re.compile(
    r".*(?:No space left on device|errno=-28\b|\(error -28\)|\bENOSPC\b|switching pool to out-of-data-space)"
)


class Platform(StrEnum):
    """Where the log comes from, as far as it changes the advice."""

    WSL = "WSL 2"
    ZRAM = "zram"


class Wait(StrEnum):
    """What a hung task's stack shows it to wait for."""

    MEMORY = "memory"
    WRITING = "writing"
    FILE_SYSTEM = "file system"
    DEVICE = "device"
    UNKNOWN = "unknown"


# In the stack of a task that waits: the kernel makes room for it, or reads back what was swapped out.
_FOR_MEMORY = re.compile(
    r"do_swap_page|swap_readpage|swap_read_folio|swapin_|shrink_\w+|try_to_free_|__alloc_pages_slowpath|"
    r"mem_cgroup_handle_over_high|reclaim_throttle|do_try_to_free"
)
_FOR_WRITING = re.compile(
    r"balance_dirty_pages|wait_on_page_writeback|folio_wait_writeback|jbd2_|sync_inodes|do_fsync|vfs_fsync|"
    r"file_write_and_wait|wb_wait_for_completion|xlog_|btrfs_commit_transaction|ext4_sync_file|iterate_supers|"
    r"write_cache_pages|do_writepages|\w+_writepages|wb_workfn|wb_writeback|wbt_wait|rq_qos_wait"
)


_FOR_FILE_SYSTEM = re.compile(
    r"(?:xfs|ext4|btrfs|zfs|zpl|spa|txg|dmu|arc|dbuf|f2fs|bch2|fuse|nfs4?|rpc|cifs|smb2|ceph|gfs2|overlayfs|ovl|ntfs3?)_"
)
_FOR_DEVICE = re.compile(r"(?:blk|nvme|scsi|sd|usb|dm|md|raid\d+|mmc|ata|drm|amdgpu|i915|nouveau|nvidia|mlx\d|iwl)_")


@dataclass(frozen=True, slots=True)
class HungTask:
    t: float | None
    pid: int
    name: str
    seconds: int  # at least so long
    wait: Wait = Wait.UNKNOWN
    function: str | None = None  # of the kernel, in which it shows


@dataclass(frozen=True, slots=True)
class GpuError:
    t: float | None
    code: int | None  # an Xid, where it is NVIDIA's
    device: str
    name: str | None
    detail: str

    @property
    def first_code(self) -> int | None:
        """The Xid that this one followed, if it names one."""
        caused = _CAUSED_BY.search(self.detail)
        return self.code if caused is None else int(caused["code"])


@dataclass(frozen=True, slots=True)
class GpuFull:
    t: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class DiskFull:
    t: float | None
    who: str
    detail: str


LogEvent = OomKill | HungTask | DaemonKill | GpuError | GpuFull | DiskFull | Fault


@dataclass(frozen=True, slots=True)
class LogEvents:
    events: tuple[LogEvent, ...] = ()  # in the order of the log
    left_out: int = 0
    start_t: float | None = None
    end_t: float | None = None
    lines: int = 0
    platforms: frozenset[Platform] = frozenset()
    pod_limit: str | None = None  # as kubectl shows it: "512Mi"
    page_bytes: int = ASSUMED_PAGE_BYTES

    def of(self, kind: type) -> list[LogEvent]:
        return [event for event in self.events if isinstance(event, kind)]


_WHY_FIRST = list(Wait)


@dataclass(slots=True)
class _Hung:
    task: HungTask
    lines: int = 0


def read_log(lines: Iterable[LogLine], page_bytes: int = ASSUMED_PAGE_BYTES) -> LogEvents:
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
    daemons: DaemonReader = field(default_factory=DaemonReader)
    platforms: set[Platform] = field(default_factory=set)
    pod_limit: str | None = None

    def feed(self, line: LogLine) -> None:
        self.lines += 1
        if line.t is not None:
            self.start_t = line.t if self.start_t is None else min(self.start_t, line.t)
            self.end_t = line.t if self.end_t is None else max(self.end_t, line.t)
        if _ABSURD.search(line.text) is not None:
            return
        if line.who == KERNEL:
            self._kernel(line)
        elif (kill := self.daemons.read(line)) is not None:
            self._add(kill)
        elif _HINT.search(line.text) and isinstance(fault := read_fault(line.t, line.text), ManagedKill):
            self._add_managed(fault)
        elif _FULL_DISK.match(line.text) is not None:
            self._add(DiskFull(line.t, line.who, line.text[:MOST_DETAIL_CHARACTERS]))

    def finish(self) -> LogEvents:
        self._close_hung()
        for kill in self.oom.finish():
            self._add(kill)
        events = [event for kind in self.found.values() for event in kind]
        left_out = self.count - len(events)
        # A kernel line can stand in two files; the same event twice is one.
        events = sorted(dict.fromkeys(events), key=lambda event: event.t if event.t is not None else float("-inf"))
        return LogEvents(
            tuple(events),
            left_out,
            self.start_t,
            self.end_t,
            self.lines,
            frozenset(self.platforms),
            self.pod_limit,
            self.oom.page_bytes,
        )

    def _kernel(self, line: LogLine) -> None:
        t, text = line.t, line.text
        if self.hung is None and not self.oom.is_reading and _HINT.search(text) is None:
            if self.pod_limit is None and (limit := _POD_LIMIT.match(text)) is not None:
                self.pod_limit = limit["limit"]
            return
        if self.hung is not None:
            self._stack(self.hung, text)
        is_of_report = False
        for kill in self.oom.feed(t, text):
            self._add(kill)
            is_of_report = True
        if not is_of_report:
            self._other(t, text)

    def _other(self, t: float | None, text: str) -> None:
        """What is no part of an OOM report. A line that an editor indented is still one."""
        text = text.strip()
        if _WSL.match(text) is not None:
            self.platforms.add(Platform.WSL)
        if "zram" in text:
            self.platforms.add(Platform.ZRAM)
        if (match := _HUNG.match(text)) is not None:
            self._close_hung()
            self.hung = _Hung(HungTask(t, int(match["pid"]), match["name"], int(match["seconds"])))
        elif (match := _XID.search(text)) is not None:
            name = None if match["name"] in (None, "<unknown>") else match["name"]
            detail = match["detail"][:MOST_DETAIL_CHARACTERS]
            self._add(GpuError(t, int(match["code"]), match["device"], name, detail))
        elif _FALLEN.match(text) is not None:
            self._add(GpuError(t, 79, "", None, "GPU has fallen off the bus"))
        elif _GSP.match(text) is not None:
            self._add(GpuError(t, 119, "", None, "the GSP timed out"))
        elif (match := _STALLED.match(text)) is not None:
            self._close_hung()
            self.hung = _Hung(HungTask(t, 0, match["name"], int(match["ms"]) // 1000, Wait.MEMORY, "page allocation"))
        elif _GPU_FULL.match(text) is not None:
            self._add(GpuFull(t, text[:MOST_DETAIL_CHARACTERS]))
        elif (kill := self.daemons.read(LogLine(t, KERNEL, text))) is not None:
            self._add(kill)
        elif _FULL_DISK.match(text) is not None:
            self._add(DiskFull(t, KERNEL, text[:MOST_DETAIL_CHARACTERS]))
        elif (fault := read_fault(t, text)) is not None:
            self._add_managed(fault) if isinstance(fault, ManagedKill) else self._add(fault)

    def _add_managed(self, kill: ManagedKill) -> None:
        """systemd says it twice of one unit: when a process is killed, and when the unit has failed for it."""
        last = self.found.get(ManagedKill)
        before = last[-1] if last else None
        if kill.manager == Manager.SYSTEMD and before == kill:
            return
        if last and isinstance(before, ManagedKill) and before.manager == kill.manager == Manager.FLUX and kill.size:
            last[-1] = replace(before, size=kill.size)  # The peak is on a line of its own.
            return
        self._add(kill)

    def _stack(self, hung: _Hung, text: str) -> None:
        hung.lines += 1
        for frame in _FRAME.finditer(text):
            wait = _wait(frame["function"])
            # Whoever makes room in memory may wait for a write as well, and a write for a file system and its device:
            # the first of them is why.
            if _WHY_FIRST.index(wait) < _WHY_FIRST.index(hung.task.wait):
                hung.task = replace(hung.task, wait=wait, function=frame["function"])
        if hung.lines >= MOST_FRAMES:
            self._close_hung()

    def _close_hung(self) -> None:
        if self.hung is not None:
            self._add(self.hung.task)
            self.hung = None

    def _add(self, event: LogEvent) -> None:
        self.count += 1
        self.found.setdefault(type(event), deque(maxlen=MOST_EVENTS)).append(event)


def _wait(function: str) -> Wait:
    for wait, pattern in (
        (Wait.MEMORY, _FOR_MEMORY),
        (Wait.WRITING, _FOR_WRITING),
        (Wait.FILE_SYSTEM, _FOR_FILE_SYSTEM),
        (Wait.DEVICE, _FOR_DEVICE),
    ):
        if pattern.match(function):
            return wait
    return Wait.UNKNOWN
