"""What single lines of a log report: a fault of a disk, a core, a card, the hardware, an allocation, or a kill that is
only told by another program (systemd, Slurm, Kubernetes)."""

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
    WORKQUEUE = "workqueue lockup"
    SPINLOCK = "spinlock lockup"


@dataclass(frozen=True, slots=True)
class Lockup:
    t: float | None
    cpu: int | None
    seconds: int | None
    name: str | None
    stuck: Stuck = Stuck.SOFT
    place: str | None = None  # the function of the kernel, with its module in brackets


@dataclass(frozen=True, slots=True)
class KernelBug:
    """An oops, a BUG, or a panic that memory did not cause."""

    t: float | None
    detail: str
    name: str | None = None  # of the process that ran
    place: str | None = None  # the function, with its module in brackets
    is_panic: bool = False


@dataclass(frozen=True, slots=True)
class GpuHang:
    t: float | None
    driver: str  # amdgpu, radeon, i915, xe, nouveau, ...
    name: str | None  # of the process that the driver names
    pid: int | None
    detail: str


class Part(StrEnum):
    MEMORY = "memory module"
    POWER = "power supply"
    PCIE = "PCIe link"
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
    is_card: bool = False
    is_shutdown: bool = False  # so hot that the machine shut itself down


class Refusal(StrEnum):
    PAGES = "pages"
    LARGE_PIECE = "large piece"  # of XFS, which asks again until it gets it
    VMALLOC = "vmalloc"  # of the kernel's own address space
    OVERCOMMIT = "overcommit"  # vm.overcommit_memory=2, or a request that no machine of this size could meet


@dataclass(frozen=True, slots=True)
class AllocationFailure:
    """A request for 2**order pages in one piece failed; nobody is killed for it."""

    t: float | None
    name: str
    order: int
    refusal: Refusal = Refusal.PAGES
    size_bytes: int | None = None  # where it was not asked for in one piece


class Manager(StrEnum):
    SYSTEMD = "systemd"
    SLURM = "Slurm"
    KUBERNETES = "Kubernetes"
    DOCKER = "Docker"
    KUBELET = "the kubelet"
    CONTAINERD = "containerd"
    FLUX = "Flux"
    PBS = "PBS"
    LSF = "LSF"
    CONDOR = "HTCondor"
    YARN = "YARN"
    ECS = "Amazon ECS"
    TALOS = "Talos"
    SHELL = "the shell, or the job itself"


@dataclass(frozen=True, slots=True)
class ManagedKill:
    """An OOM kill in the words of who runs the job; the kernel's own are elsewhere."""

    t: float | None
    manager: Manager
    what: str  # the unit, the job step; empty where it is not named
    victim: str | None = None
    size: str | None = None  # what it took, as the manager writes it
    is_eviction: bool = False  # the manager ended it because the node was short of memory; no OOM kill


Fault = (
    DiskFault | UsbDisconnect | Lockup | KernelBug | GpuHang | HardwareError | Overheating | AllocationFailure
    | ManagedKill
)  # fmt: skip
