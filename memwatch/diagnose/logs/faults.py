"""Single lines that report a fault: of a core, the hardware or an allocation; and of a disk, a card or a managed kill,
which have modules of their own (disk_lines.py, graphics_lines.py, daemon_lines.py)."""

import re
from collections.abc import Callable

from memwatch.diagnose.logs.daemon_lines import MANAGED_HINT, read_managed_line
from memwatch.diagnose.logs.disk_lines import HINT as DISK_HINT
from memwatch.diagnose.logs.disk_lines import read_disk_line
from memwatch.diagnose.logs.fault_values import (
    MOST_DETAIL_CHARACTERS,
    AllocationFailure,
    Fault,
    HardwareError,
    KernelBug,
    Lockup,
    Overheating,
    Part,
    Refusal,
    Stuck,
)
from memwatch.diagnose.logs.graphics_lines import HINT as GRAPHICS_HINT
from memwatch.diagnose.logs.graphics_lines import read_graphics_line

_PANIC = r"Kernel panic(?: -|:) not syncing: "
_WATCHDOG = r"(?:NMI )?(?:watchdog: )?"
# What the kernel prints, with the way in which a core is stuck; the first that matches counts.
_LOCKUPS = tuple(
    (stuck, re.compile(pattern))
    for stuck, pattern in (
        (
            Stuck.SOFT,
            rf"{_WATCHDOG}BUG: soft lockup\.? - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s!"
            r"(?: -?\[(?P<name>.*):\d+\])?",
        ),
        (Stuck.SOFT, r"BUG: soft lockup detected on CPU#(?P<cpu>\d+)"),
        (Stuck.SOFT, rf"{_PANIC}softlockup: hung tasks"),
        (Stuck.WORKQUEUE, r"BUG: workqueue lockup - pool(?: cpus=(?P<cpu>\d+))?.* stuck for (?P<seconds>\d+)s!"),
        (Stuck.SPINLOCK, r"BUG: spinlock lockup(?: suspected)? on CPU#(?P<cpu>\d+), (?P<name>[^,]+)/\d+"),
        (
            Stuck.HARD,
            rf"(?:{_PANIC})?(?:BUG: )?(?:NMI )?(?:[Ww]atchdog:? )?(?:BUG: )?(?:CPU ?\d+:? )?(?:Watchdog )?(?:self-)?"
            r"(?:detected (?:[Hh]ard )?|[Hh]ard )LOCKUP(?: on (?:cpu|CPU|other CPUs) ?(?P<cpu>\d+))?",
        ),
        (
            Stuck.RCU,
            r"(?:rcu: )?INFO: \w+ ?(?:self-)?detected (?:expedited )?stalls? on (?:tasks|CPU)(?:s/tasks|"
            r" (?P<cpu>\d+))?",
        ),
        (Stuck.RCU, r"(?:rcu: )?(?:INFO: )?rcu_\w+ kthread (?:starved for|timer wakeup didn't happen for)"),
    )
)
# "traps: python3[3456] general protection fault" is a program's own: the kernel's stands at the beginning.
_BUG = re.compile(
    rf"(?P<panic>{_PANIC})|BUG: (?:unable to handle|[Kk]ernel NULL pointer|Bad page|Bad rss-counter|scheduling while|"
    r"sleeping function|KASAN|KFENCE|stack guard page|Dentry)|Unable to handle kernel |"
    r"Internal error: |(?:Oops: )?(?:general protection fault|invalid opcode|divide error|stack segment|double fault)"
    r"(?:, |: |:? \d)|Oops: |PANIC: double fault|kernel BUG at |list_(?:add|del) corruption|"
    r"kernel tried to execute NX-protected page"
)
# What other readers report in more detail, and what a hung task ends in.
_OF_OTHERS = re.compile(rf"{_PANIC}(?:[Oo]ut of memory|System is deadlocked|Fatal .*machine check|hung_task: )")

CORE_HINT = (
    r"lockup|LOCKUP|stall|kthread (?:starved|timer)|BUG: |Kernel panic|nable to handle kernel|Oops|"
    r"general protection fault|invalid opcode|divide error|stack segment|double fault|kernel BUG|corruption"
)


def read_core_line(t: float | None, text: str) -> Lockup | KernelBug | None:
    for stuck, pattern in _LOCKUPS:
        if (match := pattern.match(text)) is not None:
            found = match.groupdict()
            return Lockup(t, _number(found.get("cpu")), _number(found.get("seconds")), found.get("name"), stuck)
    if (bug := _BUG.match(text)) is None or _OF_OTHERS.match(text) is not None:
        return None
    return KernelBug(t, text[:MOST_DETAIL_CHARACTERS], is_panic=bug["panic"] is not None)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


_MEMORY_ERROR = re.compile(
    r"EDAC .*(?:MEMORY ERROR|\d+ [CU]E\b|\b[CU]E\b (?:page|.*memory)|memory .*error)|Memory failure: |"
    r"MCE 0x[0-9a-f]+: |.*\[Hardware Error\]:.*(?:memory error|[Mm]emory [Cc]ontroller)|"
    r".*Uncorrected hardware memory error"
)
_MACHINE_CHECK = re.compile(
    r"(?:mce: )?(?:\{\d+\})?\[Hardware Error\]: (?:CPU \d+: |CPU:\d+ .*)?(?:Machine [Cc]heck|Hardware error from APEI|"
    r"MC\d|event severity|System Fatal|(?:Uncorrected|Deferred|Corrected)(?: error|, ))|"
    r"Hardware event\. This is not a software error|CPU \d+: Machine Check Exception|"
    r".*Fatal (?:local )?machine check|NMI: (?:IOCK|PCI system) error"
)
_PCIE = re.compile(
    r".*AER: (?:Multiple )?Uncorrect(?:ed|able) |.*PCIe Bus Error: severity=Uncorrect|.*DPC: containment event"
)
_POWER = re.compile(r".*(?:Under-?voltage detected|power supply .*(?:fail|lost)|over-current condition)", re.IGNORECASE)
_HOT = re.compile(
    r"(?:mce: )?CPU\d+: (?:(?:Core|Package) )?[Tt]emperature (?:is )?above threshold.*?"
    r"(?:\(total events = (?P<times>\d+)\)|$)"
)
_TOO_HOT = re.compile(r".*critical temperature reached|.*HARDWARE PROTECTION shutdown \(Temperature", re.IGNORECASE)
_HOT_CARD = re.compile(r"amdgpu .*GPU over temperature")
_ALLOCATION = re.compile(r"(?P<name>.{1,32}?): page allocation failure[:.] order:(?P<order>\d\d?)\b")
_ALLOCATION_2_4 = re.compile(r"(?P<name>__alloc_pages): (?P<order>\d\d?)-order allocation failed")
_VMALLOC = re.compile(
    r"(?P<name>.{1,32}?): vmalloc(?: error: size (?P<size>\d+)|: allocation failure(?:: (?P<bytes>\d+) bytes|,"
    r" allocated"
    r" \d+ of (?P<whole>\d+) bytes))"
)
_SLAB = re.compile(r"(?P<name>SL[UA]B): Unable to allocate memory on")
# XFS asks for a large piece again and again, and everything that writes waits for it.
_XFS = re.compile(r"(?P<name>XFS): .*possible memory allocation deadlock(?: size (?P<size>\d+))?")
_OVERCOMMIT = re.compile(
    r"__vm_enough_memory: pid: \d+, comm: (?P<name>.*?), (?:bytes: (?P<size>\d+) not|no) enough memory"
)

# One of these stands in every line that reports a fault; nearly all lines of a log have none, and cost one look.
HINT = (
    rf"{DISK_HINT}|{CORE_HINT}|{GRAPHICS_HINT}|{MANAGED_HINT}|EDAC|Hardware Error|Memory failure|MCE 0x|temperature|"
    r"Temperature|allocation fail|allocation deadlock|vmalloc|Unable to allocate|_enough_memory|[Mm]achine [Cc]heck|"
    r"hardware memory error|Hardware event|AER: |PCIe Bus|DPC: |NMI: |[Vv]oltage|power supply|over-current"
)


def read_fault(t: float | None, text: str) -> Fault | None:
    """The fault that a line of the kernel, or of a job's output, reports; None if it reports none."""
    for read in _READERS:
        fault = read(t, text)
        if fault is not None:
            return fault
    return None


def _hardware(t: float | None, text: str) -> Fault | None:
    detail = text[:MOST_DETAIL_CHARACTERS]
    if _MEMORY_ERROR.match(text) is not None:
        return HardwareError(t, detail, Part.MEMORY)
    if _POWER.match(text) is not None:
        return HardwareError(t, detail, Part.POWER)
    if _MACHINE_CHECK.match(text) is not None:
        return HardwareError(t, detail, Part.MEMORY if "memory" in text else Part.OTHER)
    if _PCIE.match(text) is not None:
        return HardwareError(t, detail, Part.PCIE)
    if (match := _HOT.match(text)) is not None:
        return Overheating(t, int(match["times"] or 1))
    if _HOT_CARD.match(text) is not None:
        return Overheating(t, 1, is_card=True)
    return Overheating(t, 1, is_shutdown=True) if _TOO_HOT.match(text) is not None else None


def _allocation(t: float | None, text: str) -> Fault | None:
    if (match := _ALLOCATION.match(text) or _ALLOCATION_2_4.match(text)) is not None:
        return AllocationFailure(t, match["name"], int(match["order"]))
    if (match := _VMALLOC.match(text)) is not None:
        size = match["size"] or match["bytes"] or match["whole"]
        return AllocationFailure(t, match["name"], 0, Refusal.VMALLOC, int(size))
    if (match := _SLAB.match(text)) is not None:
        return AllocationFailure(t, match["name"], 0)
    if (match := _XFS.match(text)) is not None:
        return AllocationFailure(
            t, match["name"], 0, Refusal.LARGE_PIECE, int(match["size"]) if match["size"] else None
        )
    if (match := _OVERCOMMIT.match(text)) is not None:
        return AllocationFailure(t, match["name"], 0, Refusal.OVERCOMMIT, int(match["size"]) if match["size"] else None)
    return None


_READERS: tuple[Callable[[float | None, str], Fault | None], ...] = (
    _allocation, read_disk_line, _hardware, read_core_line, read_graphics_line, read_managed_line,
)  # fmt: skip
