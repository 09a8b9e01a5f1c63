"""The GPUs, read at most once a second, and never blocking the guard.

Starting NVML can take seconds, and a wedged driver never answers. So a thread of its own reads the driver, and a sample
has its last answer. No card, no thread.
"""

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from memwatch.model.sample import Gpu
from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import read_number
from memwatch.probe.pci import AMD, Card, cards, may_have_nvidia, read_text, scaled

if TYPE_CHECKING:
    from memwatch.probe.nvidia import NvidiaGpus

INTERVAL_S = 1.0
SILENT_AFTER_S = 10.0
# Small, because a guard that locks its memory pays for the whole stack.
_STACK_BYTES = 512 * 1024

Gpus = tuple[Gpu, ...] | None


class GpuReader:
    """`read` gives () where there is no card, None where nothing is known, and then `reason` says why."""

    def __init__(self, proc_root: str, sys_root: str, in_background: bool = True) -> None:
        self._nvidia: NvidiaGpus | None = None
        if may_have_nvidia(proc_root, sys_root):
            from memwatch.probe import nvidia  # Most machines need not carry it.

            self._nvidia = nvidia.NvidiaGpus(proc_root, sys_root)
        self._amd = AmdGpus(sys_root)
        self._present = self._nvidia is not None or bool(len(self._amd))
        self._thread = _ReaderThread(self) if in_background and self._present else None
        self._latest: Gpus = None if self._present or not IS_LINUX else ()
        self._requested_s = float("-inf")
        self._silent = False

    @property
    def reason(self) -> str | None:
        if not IS_LINUX:
            return "GPUs are read on Linux only"
        reason = None if self._nvidia is None else self._nvidia.reason
        if self._silent or (self._latest is None and reason is None):
            return "the GPU driver does not respond"
        return reason

    def read(self, clock_s: float, job_pids: Collection[int]) -> Gpus:
        if not self._present:
            return self._latest
        if clock_s - self._requested_s < INTERVAL_S:
            return self._latest
        if self._thread is None:
            self._requested_s = clock_s
            self.read_now(job_pids)
        elif self._thread.request(job_pids):
            self._requested_s = clock_s
        # What was read long ago is no longer true.
        self._silent = clock_s - self._requested_s > SILENT_AFTER_S
        return None if self._silent else self._latest

    def read_now(self, job_pids: Collection[int]) -> None:
        """Read the driver and wait for it. Called by the thread, or by `read` where there is none."""
        nvidia = () if self._nvidia is None else self._nvidia.read(job_pids)
        amd = self._amd.read(first_index=len(nvidia or ()))
        self._latest = amd or None if nvidia is None else nvidia + amd

    def close(self) -> None:
        if (self._thread is None or self._thread.stop()) and self._nvidia is not None:
            self._nvidia.close()


class _ReaderThread:
    """A thread that reads the driver on request. It is a daemon: a driver that hangs must not keep the guard alive."""

    def __init__(self, reader: GpuReader) -> None:
        import threading

        self._reader = reader
        self._job_pids: Collection[int] = ()
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._stopping = False
        stack_bytes = threading.stack_size(_STACK_BYTES)
        self._thread = threading.Thread(target=self._run, name="gpu", daemon=True)
        self._thread.start()
        threading.stack_size(stack_bytes)

    def request(self, job_pids: Collection[int]) -> bool:
        """False if the last request has had no answer yet."""
        if not self._idle.is_set():
            return False
        self._idle.clear()
        self._job_pids = job_pids
        self._wanted.set()
        return True

    def stop(self) -> bool:
        """False if the thread hangs in the driver."""
        self._stopping = True
        self._wanted.set()
        self._thread.join(timeout=1.0)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            self._reader.read_now(self._job_pids)
            self._idle.set()


class AmdGpus:
    """AMD cards, read from /sys."""

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
