"""NVIDIA GPUs, through NVML.

The binding takes 5 MiB and the driver's library more, so both are loaded when the first card is found awake, and not
before. A card that sleeps is not read: every reading would wake it.
"""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from memwatch.model.sample import Gpu
from memwatch.probe.pci import NVIDIA, Card, cards

LIBRARY = "libnvidia-ml.so.1"


class NvidiaGpus:
    """For a machine that has NVIDIA GPUs, according to `pci.may_have_nvidia`."""

    def __init__(self, proc_root: str, sys_root: str) -> None:
        self._proc_root = proc_root
        self._cards = cards(sys_root, NVIDIA)
        self._off_bus = not self._cards
        self._names: dict[int, str] = {}
        self._nvml: Any = None
        self.reason: str | None = None

    def read(self, job_pids: Collection[int]) -> tuple[Gpu, ...] | None:
        """None if the driver is broken; `reason` then says how."""
        awake = [card for card in self._cards if not card.asleep]
        if (awake or self._off_bus) and self._nvml is None and not self._start():
            return () if self._off_bus else None
        try:
            return self._read_off_bus(job_pids) if self._off_bus else self._read_cards(awake, job_pids)
        except self._errors() as error:
            self.reason = f"the NVIDIA driver returns an error: {error}"
            self._stop()  # Started again next time: the driver may have been replaced.
            return None

    def close(self) -> None:
        if self._nvml is not None:
            self._stop()

    def _start(self) -> bool:
        self.reason = _library_trouble()
        if self.reason is not None:
            drivers = sorted({card.driver or "no driver" for card in self._cards})
            self.reason += f" (the GPU's driver: {', '.join(drivers)}); install NVIDIA's driver"
            return False
        try:
            import pynvml
        except ImportError:
            self.reason = "the Python package nvidia-ml-py is not installed"
            return False
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            self.reason = f"the NVIDIA driver cannot be used: {error}"
            return False
        self._nvml = pynvml
        return True

    def _stop(self) -> None:
        with suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()
        self._nvml = None

    def _errors(self) -> tuple[type[Exception], ...]:
        return () if self._nvml is None else (self._nvml.NVMLError,)

    def _read_cards(self, awake: list[Card], job_pids: Collection[int]) -> tuple[Gpu, ...]:
        gpus = []
        for index, card in enumerate(self._cards):
            if card in awake:
                handle = self._nvml.nvmlDeviceGetHandleByPciBusId(card.bus_id.encode())
                gpus.append(self._read_one(index, handle, job_pids))
            else:
                gpus.append(Gpu(index, self._names.get(index, f"NVIDIA GPU at {card.bus_id}"), asleep=True))
        return tuple(gpus)

    def _read_off_bus(self, job_pids: Collection[int]) -> tuple[Gpu, ...]:
        handles = map(self._nvml.nvmlDeviceGetHandleByIndex, range(self._nvml.nvmlDeviceGetCount()))
        return tuple(self._read_one(index, handle, job_pids) for index, handle in enumerate(handles))

    def _read_one(self, index: int, handle: Any, job_pids: Collection[int]) -> Gpu:
        nvml = self._nvml
        if index not in self._names:
            self._names[index] = self._ask(nvml.nvmlDeviceGetName, handle) or "NVIDIA GPU"
        load = self._ask(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._ask(nvml.nvmlDeviceGetMemoryInfo, handle)
        return Gpu(
            index,
            self._names[index],
            used_fraction=None if load is None else load.gpu / 100,
            memory_used_bytes=None if memory is None else memory.used,
            memory_total_bytes=None if memory is None else memory.total,
            temperature_c=_scaled(self._ask(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU), 1.0),
            power_w=_scaled(self._ask(nvml.nvmlDeviceGetPowerUsage, handle), 0.001),
            power_limit_w=_scaled(self._ask(nvml.nvmlDeviceGetEnforcedPowerLimit, handle), 0.001),
            job_memory_bytes=self._job_memory_bytes(handle, job_pids),
        )

    def _ask(self, question: Callable[..., Any], *about: Any) -> Any:
        """None where this card has no such reading; other errors are the driver's."""
        nvml = self._nvml
        try:
            return question(*about)
        except (nvml.NVMLError_NotSupported, nvml.NVMLError_FunctionNotFound, nvml.NVMLError_NoPermission):
            return None

    def _job_memory_bytes(self, handle: Any, job_pids: Collection[int]) -> int | None:
        compute = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        graphics = self._ask(self._nvml.nvmlDeviceGetGraphicsRunningProcesses, handle)
        if compute is None and graphics is None:
            return None
        # A process that both computes and draws is listed twice, with the same memory.
        used = {process.pid: process.usedGpuMemory for process in (*(graphics or ()), *(compute or ()))}
        own: list[int | None] = [used[pid] for pid in job_pids if pid in used]
        if not own and (not job_pids or self._lists_other_pids(used)):
            return None
        known = [size for size in own if size is not None]
        return sum(known) if len(known) == len(own) else None

    def _lists_other_pids(self, pids: Collection[int]) -> bool:
        """In a container NVML may give the host's pids, so the job's processes cannot be identified."""
        return any(not os.path.exists(f"{self._proc_root}/{pid}") for pid in pids)


def _library_trouble() -> str | None:
    import ctypes

    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return f"{LIBRARY}, which comes with NVIDIA's driver, cannot be loaded"
    return None


def _scaled(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor
