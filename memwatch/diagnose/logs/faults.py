"""Single lines that report a fault: of a disk, a core, a card, the hardware, an allocation, or a kill that is only told
by another program (systemd, Slurm, Kubernetes)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

MOST_DETAIL_CHARACTERS = 200


class DiskTrouble(StrEnum):
    """The worse first."""

    GONE = "gone"  # the controller or the device does not answer any more
    READ_ONLY = "read-only"
    JOURNAL = "journal"
    ERROR = "error"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class DiskFault:
    t: float | None
    device: str
    trouble: DiskTrouble
    detail: str
    parameters: str | None = None  # for the kernel's command line, as the kernel itself advises


@dataclass(frozen=True, slots=True)
class UsbDisconnect:
    """Alone it only says that something was unplugged; before errors of a disk it is their reason."""

    t: float | None
    port: str


class Stuck(StrEnum):
    SOFT = "soft lockup"
    HARD = "hard LOCKUP"
    RCU = "RCU stall"


@dataclass(frozen=True, slots=True)
class Lockup:
    t: float | None
    cpu: int | None
    seconds: int | None
    name: str | None
    stuck: Stuck = Stuck.SOFT


@dataclass(frozen=True, slots=True)
class GpuHang:
    t: float | None
    driver: str  # amdgpu, i915, xe, nouveau
    name: str | None  # of the process that the driver names
    pid: int | None
    detail: str


class Part(StrEnum):
    MEMORY = "memory module"
    POWER = "power supply"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class HardwareError:
    t: float | None
    detail: str
    part: Part


@dataclass(frozen=True, slots=True)
class Overheating:
    t: float | None
    times: int  # since boot


@dataclass(frozen=True, slots=True)
class AllocationFailure:
    """A request for 2**order pages in one piece failed; nobody is killed for it."""

    t: float | None
    name: str
    order: int


class Manager(StrEnum):
    SYSTEMD = "systemd"
    SLURM = "Slurm"
    KUBERNETES = "Kubernetes"
    DOCKER = "Docker"


@dataclass(frozen=True, slots=True)
class ManagedKill:
    """An OOM kill in the words of who runs the job; the kernel's own are elsewhere."""

    t: float | None
    manager: Manager
    what: str  # the unit, the job step; empty where it is not named
    victim: str | None = None


Fault = DiskFault | UsbDisconnect | Lockup | GpuHang | HardwareError | Overheating | AllocationFailure | ManagedKill

_NVME_ADVICE = re.compile(r"nvme (?P<device>nvme\d+): Try \"(?P<parameters>[^\"]+)\"")
_USB_GONE = re.compile(r"usb (?P<port>[\d.-]+): USB disconnect")
_NVME, _ATA, _BLOCK = r"nvme (?P<device>nvme\d+): ", r"(?P<device>ata\d+)(?:\.\d+)?: ", r"(?P<device>[\w-]+)"
# What the kernel prints, with the trouble it means; the first that matches counts.
_DISKS = tuple(
    (trouble, re.compile(pattern))
    for trouble, pattern in (
        (DiskTrouble.GONE, rf"{_NVME}(?:controller is down|Device not ready|Removing after|Disabling device after)"),
        (DiskTrouble.TIMEOUT, rf"{_NVME}(?:I/O (?:tag )?\d.*timeout|.*\btimeout, (?:abort|reset))"),
        (DiskTrouble.READ_ONLY, rf"\S+ \({_BLOCK}\): [Rr]emounting filesystem read-only"),
        (DiskTrouble.READ_ONLY, rf"BTRFS.*\(device {_BLOCK}.*forced readonly"),
        (DiskTrouble.READ_ONLY, rf"XFS \({_BLOCK}\): .*(?:shut ?down|Shutting down)"),
        (DiskTrouble.JOURNAL, r"Aborting journal on device (?P<device>[\w-]+?)(?:-\d+)?\.?$"),
        (DiskTrouble.JOURNAL, rf"EXT[34]-fs.*\(device {_BLOCK}\).*(?:aborted journal|Journal has aborted)"),
        (DiskTrouble.JOURNAL, r"JBD2: Error -\d+ detected when updating journal superblock for (?P<device>\w+)"),
        (DiskTrouble.ERROR, rf"(?:\w+: )?(?:I/O|critical (?:medium|target)) error, (?:dev )?{_BLOCK}, sector"),
        (DiskTrouble.ERROR, rf"XFS \({_BLOCK}\): .*(?:I/O error|error -?5\b|Metadata (?:CRC error|corruption))"),
        (DiskTrouble.ERROR, rf"sd \S+ \[{_BLOCK}\].*FAILED Result: hostbyte=(?!DID_OK|0x00)"),
        (DiskTrouble.TIMEOUT, r"sd (?P<device>[\d:]+): (?:attempting task abort|task abort|abort scheduled)"),
        (DiskTrouble.ERROR, rf"Buffer I/O error on dev(?:ice)? {_BLOCK}"),
        (DiskTrouble.ERROR, rf"EXT[34]-fs (?:error|warning) \(device {_BLOCK}\).*(?:I/O error|Error -5)"),
        (DiskTrouble.ERROR, r"BTRFS error.* bdev (?:/dev/)?(?P<device>\S+) errs: (?!wr 0, rd 0, flush 0, corrupt 0)"),
        (DiskTrouble.ERROR, rf"sd \S+ \[{_BLOCK}\].*Sense Key : (?:Medium|Hardware) Error"),
        (DiskTrouble.ERROR, rf"{_ATA}error: \{{.*\bUNC\b"),
        (DiskTrouble.TIMEOUT, rf"{_ATA}(?:exception Emask|failed command: (?:READ|WRITE|FLUSH))"),
        (DiskTrouble.GONE, rf"{_ATA}(?:disabled$|disable device)"),
        (DiskTrouble.GONE, r"sd (?P<device>[\d:]+): rejecting I/O to offline device"),
        (DiskTrouble.GONE, rf"sd \S+ \[{_BLOCK}\].*(?:offline|DID_NO_CONNECT|DID_BAD_TARGET)"),
        (DiskTrouble.ERROR, rf"BTRFS.*\(device {_BLOCK}.*errno=-5 IO failure"),
        (DiskTrouble.TIMEOUT, rf"sd \S+ \[{_BLOCK}\].*(?:uas_eh_abort_handler|timing out command|DID_TIME_OUT)"),
        (DiskTrouble.TIMEOUT, r"(?P<device>mmc\d+): (?:Timeout waiting for hardware|.*error -110)"),
        (DiskTrouble.TIMEOUT, r"(?:nfs|NFS): server (?P<device>\S+) not responding"),
    )
)
_SOFT = re.compile(
    r"(?:NMI )?(?:watchdog: )?BUG: soft lockup\.? - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! "
    r"-?\[(?P<name>.*):(?P<pid>\d+)\]"
)
_HARD = re.compile(r"(?:NMI )?watchdog: (?:BUG: )?(?:Watchdog detected )?hard LOCKUP on cpu (?P<cpu>\d+)|"
                   r"Kernel panic - not syncing: .*hard LOCKUP")  # fmt: skip
_RCU = re.compile(
    r"(?:rcu: )?INFO: \w+(?: self-)? ?(?:self-)?detected (?:expedited )?stalls? on CPU(?:s/tasks| (?P<cpu>\d+))?"
)
_AMD = re.compile(r".*\bring (?P<ring>\S+) timeout")
_AMD_PROCESS = re.compile(r".*amdgpu.*Process information: process (?P<name>.*?) ?pid (?P<pid>\d+)")
_AMD_RESET = re.compile(r"amdgpu .*GPU reset begin")
_AMD_FAULT = re.compile(r"amdgpu .*?(?:page fault(?!.*for process)|\bfor process (?P<name>.*?) pid (?P<pid>\d+))")
_I915 = re.compile(r"(?:\[drm\] |i915 ).*GPU HANG: ecode [^,]*(?:, in (?P<name>.+?) \[(?P<pid>\d+)\])?")
_I915_RESET = re.compile(
    r"i915 .*(?:(?P<name>\S+?)\[(?P<pid>\d+)\] context reset due to GPU hang|Resetting (?:chip|\w+) for)"
)
_XE = re.compile(r"xe \S+: \[drm\].*(?:Timedout job: .*?(?: in (?P<name>\S.*?) \[(?P<pid>\d+)\]|$)|Engine reset: )")
_NOUVEAU = re.compile(
    r"nouveau \S+: (?:\w+: )?(?:fault .*\[\w+ (?P<name>\S+?)\[(?P<pid>\d+)\]\]|SCHED_ERROR|.*killed|timeout|"
    r"(?:gr|fifo): .*(?:ERROR|TRAP)|Xorg|DRM: .*(?:failed to idle|GPU lockup))"
)
_MEMORY_ERROR = re.compile(r"EDAC .*(?:MEMORY ERROR|\b[CU]E\b .*memory|memory .*error)|Memory failure: ")
_MACHINE_CHECK = re.compile(r"(?:mce: )?\[Hardware Error\]: (?:CPU \d+: )?Machine Check.*|"
                            r".*(?:Uncorrected hardware memory error|Fatal machine check)")  # fmt: skip
_POWER = re.compile(r".*(?:Under-?voltage detected|power supply .*(?:fail|lost))", re.IGNORECASE)
_HOT = re.compile(r"(?:mce: )?CPU\d+: (?:Core|Package) temperature above threshold.*\(total events = (?P<times>\d+)\)|"
                  r".*critical temperature reached")  # fmt: skip
_ALLOCATION = re.compile(r"(?P<name>.{1,32}?): page allocation failure[:.] order:(?P<order>\d+)")
_UNIT = re.compile(
    r"(?P<what>\S+): (?:A process of this unit has been killed by the OOM killer|Failed with result 'oom-kill')"
)
_STEP = re.compile(r".*Detected \d+ oom[-_]kill events?(?:\(s\))? in (?:StepId=|step )(?P<what>[\w.+]+?)\.?(?: |$)")
_POD = re.compile(r'\s*"?[Rr]eason"?:\s+"?OOM ?Killed"?,?$')
_CONTAINER = re.compile(r'\s*"OOMKilled": true')
_SYSTEM_OOM = re.compile(r".*System ?OOM encountered, victim process: (?P<victim>[^,]+), pid: \d+")

# One of these stands in every line that reports a fault; nearly all lines of a log have none, and cost one look.
HINT = (
    r"nvme|ata\d|journal|read-?only|I/O error|medium error|Sense Key|lockup|LOCKUP|stall|timeout|GPU HANG|GPU hang|"
    r"GPU reset|Process information|Timedout|Engine reset|nouveau|EDAC|Hardware Error|Memory failure|temperature|"
    r"page allocation failure|USB disconnect|error: \{|OOM|oom[-_]kill|XFS|BTRFS|Buffer I/O|"
    r"target error|machine check|page fault|offline|DID_|task abort|uas_eh|mmc\d|"
    r"not responding|[Vv]oltage|power supply|IO failure"
)


def read_fault(t: float | None, text: str) -> Fault | None:
    """The fault that a line of the kernel, or of a job's output, reports; None if it reports none."""
    for read in _READERS:
        fault = read(t, text)
        if fault is not None:
            return fault
    return None


def _disk(t: float | None, text: str) -> Fault | None:
    detail = text[:MOST_DETAIL_CHARACTERS]
    if (match := _NVME_ADVICE.match(text)) is not None:
        return DiskFault(t, match["device"], DiskTrouble.GONE, detail, match["parameters"])
    if (match := _USB_GONE.match(text)) is not None:
        return UsbDisconnect(t, match["port"])
    for trouble, pattern in _DISKS:
        if (match := pattern.match(text)) is not None:
            return DiskFault(t, match["device"], trouble, detail)
    return None


def _core(t: float | None, text: str) -> Fault | None:
    if (match := _SOFT.match(text)) is not None:
        return Lockup(t, int(match["cpu"]), int(match["seconds"]), match["name"])
    if (match := _HARD.match(text)) is not None:
        return Lockup(t, None if match["cpu"] is None else int(match["cpu"]), None, None, Stuck.HARD)
    if (match := _RCU.match(text)) is not None:
        return Lockup(t, None if match["cpu"] is None else int(match["cpu"]), None, None, Stuck.RCU)
    return None


def _card(t: float | None, text: str) -> Fault | None:
    detail = text[:MOST_DETAIL_CHARACTERS]
    for driver, patterns in _DRIVERS:
        if driver not in text and driver != "i915":
            continue
        for pattern in patterns:
            if (match := pattern.match(text)) is not None:
                found = match.groupdict()
                name, pid = found.get("name"), found.get("pid")
                return GpuHang(t, driver, name or None, int(pid) if pid and name else None, detail)
    return None


_DRIVERS = (
    ("amdgpu", (_AMD_PROCESS, _AMD_FAULT, _AMD, _AMD_RESET)),
    ("i915", (_I915, _I915_RESET)),
    ("xe", (_XE,)),
    ("nouveau", (_NOUVEAU,)),
)


def _hardware(t: float | None, text: str) -> Fault | None:
    detail = text[:MOST_DETAIL_CHARACTERS]
    if _MEMORY_ERROR.match(text) is not None:
        return HardwareError(t, detail, Part.MEMORY)
    if _POWER.match(text) is not None:
        return HardwareError(t, detail, Part.POWER)
    if _MACHINE_CHECK.match(text) is not None:
        return HardwareError(t, detail, Part.MEMORY if "memory" in text else Part.OTHER)
    if (match := _HOT.match(text)) is not None:
        return Overheating(t, int(match["times"] or 1))
    return None


def _allocation(t: float | None, text: str) -> Fault | None:
    match = _ALLOCATION.match(text)
    return None if match is None else AllocationFailure(t, match["name"], int(match["order"]))


def _managed(t: float | None, text: str) -> Fault | None:
    if (match := _UNIT.match(text)) is not None:
        return ManagedKill(t, Manager.SYSTEMD, match["what"])
    if (match := _STEP.match(text)) is not None:
        return ManagedKill(t, Manager.SLURM, match["what"])
    if (match := _SYSTEM_OOM.match(text)) is not None:
        return ManagedKill(t, Manager.KUBERNETES, "", match["victim"])
    if _POD.match(text) is not None:
        return ManagedKill(t, Manager.KUBERNETES, "")
    return ManagedKill(t, Manager.DOCKER, "") if _CONTAINER.match(text) is not None else None


_READERS: tuple[Callable[[float | None, str], Fault | None], ...] = (
    _allocation, _disk, _core, _card, _hardware, _managed,
)  # fmt: skip
