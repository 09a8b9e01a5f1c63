"""Memory and limits alone: for whoever cannot wait for the rest of the probe to be loaded."""

import os
import time

from memwatch.model.sample import Sample
from memwatch.probe.cgroups import Limits
from memwatch.probe.procfs import HostMemory


def memory_sample(proc_root: str = "/proc", sys_root: str = "/sys", pid: int | None = None) -> Sample:
    """The machine's memory, and the limits above a process (this one where `pid` is None)."""
    memory, limits = HostMemory(proc_root), Limits(proc_root, sys_root)
    above = os.getpid() if pid is None else pid
    sample = Sample(time.time(), time.monotonic(), memory.read(), limits.read([above]))
    memory.close()
    limits.close()
    return sample
