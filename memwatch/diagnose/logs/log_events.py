"""Freezes and kills in a system log, from its lines; the rest is skipped.

A log can be huge and repeat itself, so of each kind only the last `MOST_EVENTS` are held, and how many came is counted.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from memwatch.diagnose.logs.daemon_lines import HINT as DAEMON_HINT
from memwatch.diagnose.logs.daemon_lines import DaemonKill, DaemonReader
from memwatch.diagnose.logs.fault_values import (
    MOST_DETAIL_CHARACTERS,
    DiskFault,
    Fault,
    GpuHang,
    HardwareError,
    KernelBug,
    Lockup,
    ManagedKill,
    Manager,
)
from memwatch.diagnose.logs.faults import HINT as FAULT_HINT
from memwatch.diagnose.logs.faults import read_fault
from memwatch.diagnose.logs.log_lines import KERNEL, LogLine
from memwatch.diagnose.logs.oom_kill import OomKill
from memwatch.diagnose.logs.oom_report import HINT as OOM_HINT
from memwatch.diagnose.logs.oom_report import OomReader
from memwatch.diagnose.logs.stacks import HINT as STACK_HINT
from memwatch.diagnose.logs.stacks import HungTask, StackReader, read_hung
from memwatch.model.units import KIB

# Of another machine's log that does not state its page size (the free lists of an OOM report do). All x86 machines
# and most others have this one.
ASSUMED_PAGE_BYTES = 4 * KIB
MOST_EVENTS = 200
# What programs report that ask the hardware themselves; others may quote any line of the kernel.
_OF_PROGRAM: dict[str, type] = {"smartd": DiskFault, "mcelog": HardwareError, "rasdaemon": HardwareError}
ONE_OOPS_S = 10.0  # a panic follows its oops after some seconds, over a slow console

_XID = re.compile(
    r"NVRM: Xid \((?P<device>[^)]*)\): (?P<code>\d+)(?:, pid='?(?P<pid>\d+|<unknown>)'?)?"
    r"(?:, name=(?P<name>[^,]*))?,? ?(?P<detail>.*)"
)
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_NOT_STARTED = re.compile(r"NVRM: (?:GPU \S+ )?(?:RmInitAdapter|rm_init_adapter) failed")
_GSP = re.compile(r"NVRM: .*(?:GSP Timeout|Timeout waiting for RPC from GSP|GSP RPC timeout)")
_GPU_FULL = re.compile(
    r"(?:NVRM|nvidia|amdgpu|\[TTM\]|\[drm).*(?:out of (?:kernel )?memory|NV_ERR_NO_MEMORY|Not enough memory)",
    re.IGNORECASE,
)
# One of these stands in every line that begins something; nearly all lines of a log have none, and cost one look.
_HINT = re.compile(
    rf"{OOM_HINT}|{FAULT_HINT}|{STACK_HINT}|NVRM|nvidia|amdgpu|i915|xe |\[TTM\]|\[drm\]|No space left|ENOSPC|"
    rf"errno=-28|error -28|out-of-data|microsoft-standard|WSL ?2|zram|{DAEMON_HINT}"
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
    stack: StackReader = field(default_factory=StackReader)
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
        elif _HINT.search(line.text) and (fault := _fault_of_program(line)) is not None:
            self._add_fault(fault)
        elif _FULL_DISK.match(line.text) is not None:
            self._add(DiskFull(line.t, line.who, line.text[:MOST_DETAIL_CHARACTERS]))

    def finish(self) -> LogEvents:
        self._add_complete(self.stack.close())
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
        if not self.stack.is_waiting() and not self.oom.is_reading and _HINT.search(text) is None:
            if self.pod_limit is None and (limit := _POD_LIMIT.match(text)) is not None:
                self.pod_limit = limit["limit"]
            return
        self._add_complete(self.stack.take(text))
        self.stack.begin_cut(t, text)
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
        if (hung := read_hung(t, text)) is not None:
            self._add_complete(self.stack.begin(hung))
        elif (match := _XID.search(text)) is not None:
            name = None if match["name"] in (None, "<unknown>") else match["name"]
            detail = match["detail"][:MOST_DETAIL_CHARACTERS]
            self._add(GpuError(t, int(match["code"]), match["device"], name, detail))
        elif _FALLEN.match(text) is not None:
            self._add(GpuError(t, 79, "", None, "GPU has fallen off the bus"))
        elif _GSP.match(text) is not None:
            self._add(GpuError(t, 119, "", None, "the GSP timed out"))
        elif _NOT_STARTED.match(text) is not None:
            self._add(GpuError(t, None, "", None, text[:MOST_DETAIL_CHARACTERS]))
        elif _GPU_FULL.match(text) is not None:
            self._add(GpuFull(t, text[:MOST_DETAIL_CHARACTERS]))
        elif (kill := self.daemons.read(LogLine(t, KERNEL, text))) is not None:
            self._add(kill)
        elif _FULL_DISK.match(text) is not None:
            self._add(DiskFull(t, KERNEL, text[:MOST_DETAIL_CHARACTERS]))
        elif (fault := read_fault(t, text)) is not None:
            self._add_fault(fault)

    def _add_fault(self, fault: Fault) -> None:
        """What has a stack is held until the stack was read. One oops is announced in several lines."""
        held = self.stack.report
        if isinstance(fault, ManagedKill):
            self._add_managed(fault)
        elif isinstance(fault, KernelBug) and isinstance(held, KernelBug) and _is_soon(held.t, fault.t):
            self.stack.report = replace(held, is_panic=held.is_panic or fault.is_panic)
        elif isinstance(fault, Lockup | KernelBug):
            self._add_complete(self.stack.begin(fault))
        else:
            self._add(fault)

    def _add_complete(self, report: LogEvent | None) -> None:
        if report is not None:
            self._add(report)

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

    def _add(self, event: LogEvent) -> None:
        self.count += 1
        self.found.setdefault(type(event), deque(maxlen=MOST_EVENTS)).append(event)


def _fault_of_program(line: LogLine) -> Fault | None:
    fault = read_fault(line.t, line.text)
    return fault if isinstance(fault, _OF_PROGRAM.get(line.who, ManagedKill | GpuHang)) else None


def _is_soon(before_t: float | None, t: float | None) -> bool:
    return before_t is None or t is None or abs(t - before_t) <= ONE_OOPS_S
