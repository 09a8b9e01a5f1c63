"""AMD GPUs, from the amdgpu driver's files in /sys."""

import os

from memwatch.model.sample import Gpu
from memwatch.probe.files import read_number
from memwatch.probe.pci import AMD, Card, cards, read_text, scaled


class AmdGpus:
    def __init__(self, sys_root: str) -> None:
        self._cards = [card for card in cards(sys_root, AMD) if card.driver == "amdgpu"]

    def __len__(self) -> int:
        return len(self._cards)

    def read(self, first_index: int) -> tuple[Gpu, ...]:
        return tuple(_read(card, index) for index, card in enumerate(self._cards, first_index))


def _read(card: Card, index: int) -> Gpu:
    name = read_text(f"{card.folder}/product_name") or f"AMD GPU at {card.bus_id}"
    if card.asleep:  # Any reading below would wake it.
        return Gpu(index, name, asleep=True)
    hwmon = _hwmon(card)
    return Gpu(
        index,
        name,
        used_fraction=scaled(f"{card.folder}/gpu_busy_percent", 0.01),
        memory_used_bytes=read_number(f"{card.folder}/mem_info_vram_used"),
        memory_total_bytes=read_number(f"{card.folder}/mem_info_vram_total"),
        temperature_c=scaled(f"{hwmon}/temp1_input", 0.001),
        power_w=_power_w(hwmon),
        power_limit_w=scaled(f"{hwmon}/power1_cap", 1e-6),
    )


def _power_w(hwmon: str) -> float | None:
    average = scaled(f"{hwmon}/power1_average", 1e-6)
    return scaled(f"{hwmon}/power1_input", 1e-6) if average is None else average  # Newer cards have only the latter.


def _hwmon(card: Card) -> str:
    folder = f"{card.folder}/hwmon"
    try:
        return f"{folder}/{min(os.listdir(folder))}"
    except (OSError, ValueError):
        return f"{folder}/none"  # So that every reading in it is unknown.
