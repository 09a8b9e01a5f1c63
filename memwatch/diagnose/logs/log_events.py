"""What a system log tells of freezes and kills, from its lines; the rest is passed over.

A log can be huge and repeat itself, so of each kind only the last `MOST_EVENTS` are held, and how many came is counted.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memwatch.diagnose.logs.faults import HINT as FAULT_HINT
from memwatch.diagnose.logs.faults import MOST_DETAIL_CHARACTERS, Fault, ManagedKill, Manager, read_fault
from memwatch.diagnose.logs.log_lines import KERNEL, LogLine
from memwatch.diagnose.logs.oom_report import HINT as OOM_HINT
from memwatch.diagnose.logs.oom_report import OomKill, OomReader
from memwatch.model.units import KIB, MIB

MOST_EVENTS = 200
MOST_FRAMES = 60  # of a hung task's stack; it is followed by registers and by other lines

_HUNG = re.compile(r"INFO: task (?P<name>.*):(?P<pid>\d+) (?:<.*> )?blocked.* for more than (?P<seconds>\d+) seconds")
_FRAME = re.compile(r"\b(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+")
_XID = re.compile(
    r"NVRM: Xid \((?P<device>[^)]*)\): (?P<code>\d+)(?:, pid='?(?P<pid>\d+|<unknown>)'?)?"
    r"(?:, name=(?P<name>[^,]*))?,? ?(?P<detail>.*)"
)
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_GPU_FULL = re.compile(
    r"(?:NVRM|nvidia|amdgpu|\[TTM\]|\[drm\]).*(?:out of memory|NV_ERR_NO_MEMORY|Not enough memory)", re.IGNORECASE
)
_OOMD = re.compile(r"Killed (?P<cgroup>/.*?) due to (?P<reason>.*)")
_EARLYOOM = re.compile(
    r"(?:sending SIG\w+ to|killing) process (?P<pid>\d+)(?: uid \d+)? \"(?P<name>.*)\"(?: with signal \d+)?: "
    r"(?:badness|oom_score) \d+, VmRSS (?P<mib>\d+) MiB"
)
_NOHANG_VICTIM = re.compile(r"\s*PID: +(?P<pid>\d+), [Nn]ame: (?P<name>.*), badness: \d+")
_NOHANG_RSS = re.compile(r"\s*VmRSS: +(?P<mib>\d+) MiB")
_NOHANG_SENT = re.compile(r"\s*Send(?:ing)? (?P<signal>SIG\w+) to the victim")
# One of these stands in every line that begins something; nearly all lines of a log have none, and cost one look.
_HINT = re.compile(
    rf"{OOM_HINT}|{FAULT_HINT}|INFO: task|NVRM|nvidia|amdgpu|i915|xe |\[TTM\]|\[drm\]|No space left|ENOSPC|out-of-data|"
    r"microsoft-standard|zram|lowmemorykiller"
)
_TALOS = re.compile(r"\[talos\] Sending SIGKILL to cgroup .*\"cgroup\": \"(?P<cgroup>[^\"]*)\"")
_LMKD = re.compile(r".*lowmemorykiller: Kill(?:ing)? '(?P<name>[^']+)' \((?P<pid>\d+)\).* to free (?P<kib>\d+)kB")
_WSL = re.compile(r".*microsoft-standard")
_POD_LIMIT = re.compile(r"\s+memory: +(?P<limit>\d+(?:\.\d+)?[KMGT]i?)$")
_CAUSED_BY = re.compile(r"caused by previous Xid (?P<code>\d+)")
_ABSURD = re.compile(r"\d{19}")  # No number in a log is that long, and Python refuses to read one of thousands.
_FULL_DISK = re.compile(r".*(?:No space left on device|\bENOSPC\b|switching pool to out-of-data-space)")


class Killer(StrEnum):
    OOMD = "systemd-oomd"
    EARLYOOM = "earlyoom"
    NOHANG = "nohang"
    TALOS = "Talos"
    LMKD = "lowmemorykiller"  # of Android


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
class DaemonKill:
    """systemd-oomd and Talos kill a cgroup; earlyoom and nohang a process."""

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

    def of(self, kind: type) -> list[LogEvent]:
        return [event for event in self.events if isinstance(event, kind)]


_WHY_FIRST = list(Wait)


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
        elif line.who == Killer.OOMD and (match := _OOMD.match(line.text)) is not None:
            self._add(DaemonKill(line.t, Killer.OOMD, match["cgroup"], reason=match["reason"]))
        elif line.who == Killer.EARLYOOM and (match := _EARLYOOM.match(line.text)) is not None:
            rss_bytes = int(match["mib"]) * MIB
            self._add(DaemonKill(line.t, Killer.EARLYOOM, match["name"], int(match["pid"]), rss_bytes))
        elif line.who.startswith(Killer.NOHANG):
            self._nohang(line)
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
            tuple(events), left_out, self.start_t, self.end_t, self.lines, frozenset(self.platforms), self.pod_limit
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
        """What is no part of an OOM report."""
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
        elif _GPU_FULL.match(text) is not None:
            self._add(GpuFull(t, text[:MOST_DETAIL_CHARACTERS]))
        elif (match := _TALOS.match(text)) is not None:
            self._add(DaemonKill(t, Killer.TALOS, match["cgroup"].removeprefix("/sys/fs/cgroup")))
        elif (match := _LMKD.match(text)) is not None:
            self._add(DaemonKill(t, Killer.LMKD, match["name"], int(match["pid"]), int(match["kib"]) * KIB))
        elif _FULL_DISK.match(text) is not None:
            self._add(DiskFull(t, KERNEL, text[:MOST_DETAIL_CHARACTERS]))
        elif (fault := read_fault(t, text)) is not None:
            self._add_managed(fault) if isinstance(fault, ManagedKill) else self._add(fault)

    def _add_managed(self, kill: ManagedKill) -> None:
        """systemd says it twice of one unit: when a process is killed, and when the unit has failed for it."""
        last = self.found.get(ManagedKill)
        if kill.manager == Manager.SYSTEMD and last and last[-1] == kill:
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
    for wait, pattern in (
        (Wait.MEMORY, _FOR_MEMORY),
        (Wait.WRITING, _FOR_WRITING),
        (Wait.FILE_SYSTEM, _FOR_FILE_SYSTEM),
        (Wait.DEVICE, _FOR_DEVICE),
    ):
        if pattern.match(function):
            return wait
    return Wait.UNKNOWN
