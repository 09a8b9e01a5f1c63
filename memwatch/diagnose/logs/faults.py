"""Single lines that report a fault: of a disk, a core, a card, the hardware, an allocation, or a managed kill.

Disks, cards and managers have modules of their own (disk_lines.py, graphics_lines.py, managed_lines.py).
"""

import re
from collections.abc import Callable

from memwatch.diagnose.logs.disk_lines import HINT as DISK_HINT
from memwatch.diagnose.logs.disk_lines import read_disk_line
from memwatch.diagnose.logs.fault_values import (
    MOST_DETAIL_CHARACTERS,
    AllocationFailure,
    Fault,
    HardwareError,
    Lockup,
    Overheating,
    Part,
    Stuck,
)
from memwatch.diagnose.logs.graphics_lines import HINT as GRAPHICS_HINT
from memwatch.diagnose.logs.graphics_lines import read_graphics_line
from memwatch.diagnose.logs.managed_lines import HINT as MANAGED_HINT
from memwatch.diagnose.logs.managed_lines import read_managed_line

_SOFT = re.compile(
    r"(?:NMI )?(?:watchdog: )?BUG: soft lockup\.? - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! "
    r"-?\[(?P<name>.*):(?P<pid>\d+)\]"
)
_HARD = re.compile(
    r"(?:NMI )?watchdog: (?:BUG: )?(?:Watchdog detected |CPU \d+ (?:self-)?detected )?hard LOCKUP"
    r"(?: on (?:cpu|other CPUs) (?P<cpu>\d+))?|Kernel panic - not syncing: .*hard LOCKUP"
)
_RCU = re.compile(
    r"(?:rcu: )?INFO: \w+ ?(?:self-)?detected (?:expedited )?stalls? on (?:tasks|CPU)(?:s/tasks| (?P<cpu>\d+))?"
)
_WORKQUEUE = re.compile(r"BUG: workqueue lockup - pool(?: cpus=(?P<cpu>\d+))?.* stuck for (?P<seconds>\d+)s!")
_MEMORY_ERROR = re.compile(
    r"EDAC .*(?:MEMORY ERROR|\d+ [CU]E\b|\b[CU]E\b .*memory|memory .*error)|Memory failure: |"
    r".*\[Hardware Error\]:.*(?:memory error|[Mm]emory [Cc]ontroller)"
)
_MACHINE_CHECK = re.compile(
    r"(?:mce: )?(?:\{\d+\})?\[Hardware Error\]: (?:CPU \d+: |CPU:\d+ )?(?:Machine Check|Hardware error from APEI|MC\d)|"
    r"(?:mce: )?\[Hardware Error\]: (?:Uncorrected|Deferred|Corrected) error|"
    r".*(?:Uncorrected hardware memory error|Fatal machine check)"
)
_PCIE = re.compile(r".*AER: (?:Multiple )?Uncorrect(?:ed|able) |.*PCIe Bus Error: severity=Uncorrected")
_POWER = re.compile(r".*(?:Under-?voltage detected|power supply .*(?:fail|lost)|over-current condition)", re.IGNORECASE)
_HOT = re.compile(
    r"(?:mce: )?CPU\d+: (?:(?:Core|Package) )?[Tt]emperature (?:is )?above threshold.*?"
    r"(?:\(total events = (?P<times>\d+)\)|$)"
)
_TOO_HOT = re.compile(r".*critical temperature reached", re.IGNORECASE)
_ALLOCATION = re.compile(r"(?P<name>.{1,32}?): page allocation failure[:.] order:(?P<order>\d\d?)\b")
_ALLOCATION_2_4 = re.compile(r"(?P<name>__alloc_pages): (?P<order>\d\d?)-order allocation failed")

# One of these stands in every line that reports a fault; nearly all lines of a log have none, and cost one look.
HINT = (
    rf"{DISK_HINT}|{GRAPHICS_HINT}|{MANAGED_HINT}|lockup|LOCKUP|stall|EDAC|Hardware Error|Memory failure|temperature|"
    r"Temperature|allocation fail|machine check|AER: |PCIe Bus|[Vv]oltage|power supply|over-current"
)


def read_fault(t: float | None, text: str) -> Fault | None:
    """The fault that a line of the kernel, or of a job's output, reports; None if it reports none."""
    for read in _READERS:
        fault = read(t, text)
        if fault is not None:
            return fault
    return None


def _core(t: float | None, text: str) -> Fault | None:
    if (match := _SOFT.match(text)) is not None:
        return Lockup(t, int(match["cpu"]), int(match["seconds"]), match["name"])
    if (match := _WORKQUEUE.match(text)) is not None:
        return Lockup(t, _number(match["cpu"]), int(match["seconds"]), None, Stuck.WORKQUEUE)
    if (match := _HARD.match(text)) is not None:
        return Lockup(t, _number(match["cpu"]), None, None, Stuck.HARD)
    if (match := _RCU.match(text)) is not None:
        return Lockup(t, _number(match["cpu"]), None, None, Stuck.RCU)
    return None


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


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
    return Overheating(t, 1, is_shutdown=True) if _TOO_HOT.match(text) is not None else None


def _allocation(t: float | None, text: str) -> Fault | None:
    match = _ALLOCATION.match(text) or _ALLOCATION_2_4.match(text)
    return None if match is None else AllocationFailure(t, match["name"], int(match["order"]))


_READERS: tuple[Callable[[float | None, str], Fault | None], ...] = (
    _allocation, read_disk_line, _core, read_graphics_line, _hardware, read_managed_line,
)  # fmt: skip
