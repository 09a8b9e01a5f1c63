"""Before the job starts: how the machine stands, and what the job must leave of it."""

import os
import time

from memwatch.core.reserve import check_reserve, default_reserve_bytes
from memwatch.core.sample import Sample
from memwatch.guard.config import GuardConfig
from memwatch.probe.cgroups import Limits
from memwatch.probe.procfs import HostMemory


def look(proc_root: str = "/proc", sys_root: str = "/sys", pid: int | None = None) -> Sample:
    """Memory and limits alone: the job waits for this, and the rest of the probe is slower to load."""
    memory, limits = HostMemory(proc_root), Limits(proc_root, sys_root)
    above = os.getpid() if pid is None else pid
    sample = Sample(time.time(), time.monotonic(), memory.read(), limits.read([above]))
    memory.close()
    limits.close()
    return sample


def reserve_bytes(config: GuardConfig, sample: Sample) -> int:
    """Raises ReserveTooLarge if what was asked for cannot be kept."""
    sizes = [(limit.limit_bytes, limit.path) for limit in sample.limits]
    if sample.memory is not None:
        sizes.append((sample.memory.total_bytes, ""))
    if not sizes:
        return config.reserve_bytes or 0
    in_force, path = min(sizes)
    if config.reserve_bytes is None:
        return default_reserve_bytes(in_force)
    check_reserve(config.reserve_bytes, in_force, path or None)
    return config.reserve_bytes
