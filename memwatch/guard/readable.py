"""Is there anything to guard a job by? The guard asks before it starts the job.

It loads nothing that the guard has not loaded by then, because the job waits for the answer.
"""

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import number_after, read_file

_WHY, _REMEDY = (
    ("there is neither /proc/meminfo nor a cgroup limit", "mount /proc")
    if IS_LINUX
    else ("psutil does not read it", "reinstall psutil")
)
NOTHING_TO_GUARD_BY = (
    f"memory cannot be read here ({_WHY}), so memwatch would guard nothing; "
    f"{_REMEDY}, or run the job without protection: memwatch run --unguarded -- COMMAND"
)


def memory_can_be_read(proc_root: str = "/proc", sys_root: str = "/sys") -> bool:
    """The host's memory, or at least one memory limit above this process."""
    if IS_LINUX and number_after(read_file(f"{proc_root}/meminfo") or b"", b"MemAvailable:") is not None:
        return True
    from memwatch.probe.cgroups import memory_sample  # Only here: it takes as long to load as the guard itself.

    return memory_sample(proc_root, sys_root).available_bytes is not None
