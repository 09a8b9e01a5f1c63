"""Memory and limits alone: for whoever cannot wait for the rest of the probe to be loaded."""

import os
import time

from memwatch.model.sample import Sample
from memwatch.probe.cgroups import Limits
from memwatch.probe.procfs import HostMemory


def glance(proc_root: str = "/proc", sys_root: str = "/sys", pid: int | None = None) -> Sample:
    """How a process stands, or this one."""
    memory, limits = HostMemory(proc_root), Limits(proc_root, sys_root)
    above = os.getpid() if pid is None else pid
    sample = Sample(time.time(), time.monotonic(), memory.read(), limits.read([above]))
    memory.close()
    limits.close()
    return sample
