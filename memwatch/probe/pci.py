"""Graphics cards on the PCI bus, from /sys. Nothing here wakes a sleeping one: only its own registers would."""

import os
from dataclasses import dataclass

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import read_file, read_number

NVIDIA, AMD = "0x10de", "0x1002"

_DISPLAY_CLASS = "0x03"


@dataclass(frozen=True, slots=True)
class Card:
    """A graphics card on the PCI bus."""

    bus_id: str
    folder: str

    @property
    def asleep(self) -> bool:
        return read_text(f"{self.folder}/power/runtime_status") in ("suspended", "suspending")

    @property
    def driver(self) -> str | None:
        try:
            return os.path.basename(os.readlink(f"{self.folder}/driver"))
        except OSError:
            return None


def cards(sys_root: str, vendor: str) -> list[Card]:
    """The vendor's graphics cards in the order of the bus, which is NVML's order too."""
    if not IS_LINUX:
        return []
    bus = f"{sys_root}/bus/pci/devices"
    try:
        found = [Card(name, f"{bus}/{name}") for name in sorted(os.listdir(bus))]
    except OSError:
        return []
    return [card for card in found if _is_display(card) and read_text(f"{card.folder}/vendor") == vendor]


def may_have_nvidia(proc_root: str, sys_root: str) -> bool:
    """Some NVIDIA graphics are on no PCI bus that can be seen (WSL, Jetson), but leave other signs."""
    signs = (f"{proc_root}/driver/nvidia/version", f"{sys_root}/class/misc/dxg")
    return IS_LINUX and (bool(cards(sys_root, NVIDIA)) or any(map(os.path.exists, signs)))


def read_text(path: str) -> str | None:
    """A short file of /sys without its line end; None if it cannot be read."""
    text = read_file(path)
    return None if text is None else text.decode(errors="replace").strip()


def scaled(path: str, factor: float) -> float | None:
    """The number in a file, times `factor`: converts the kernel's unit into ours."""
    value = read_number(path)
    return None if value is None else value * factor


def _is_display(card: Card) -> bool:
    return (read_text(f"{card.folder}/class") or "").startswith(_DISPLAY_CLASS)
