"""Read before the job starts: whether there is anything to guard it by, and counters that a quick job moves at once.

The guard calls both while the job waits, so next to nothing is imported here.
"""

from typing import NamedTuple

from memwatch.on_linux import IS_LINUX
from memwatch.probe.files import number_after, read_file
from memwatch.probe.stat import shows_own_processes

_WHY, _REMEDY = (
    ("there is neither /proc/meminfo nor a cgroup limit", "mount /proc")
    if IS_LINUX
    else ("psutil does not read it", "reinstall psutil")
)
_OR = "or run the job without protection: memwatch run --unguarded -- COMMAND"
NOTHING_TO_GUARD_BY = f"memory cannot be read here ({_WHY}), so memwatch would guard nothing; {_REMEDY}, {_OR}"
FOREIGN_PROC = (
    "/proc shows the processes of another PID namespace, so memwatch could not tell its job from strangers and would "
    f"guard nothing; mount the namespace's own (unshare --mount-proc, mount -t proc proc /proc), {_OR}"
)
# Without a view or a GPU the guard has 28 open, 3 more for every cgroup with a limit, and opens up to 6 in passing.
FEWEST_FILES = 64


class BeforeStart(NamedTuple):
    """Counters of the machine just before the job starts. Unknown is None."""

    shmem_bytes: int | None = None  # shared memory of the host: what grows is files in RAM
    oom_kills: int | None = None  # by the kernel, on the whole machine


def obstacle(most_files: int) -> str | None:
    """Why the guard would be blind here, in a sentence for the user. `most_files` is how many it may open."""
    if not memory_can_be_read():
        return NOTHING_TO_GUARD_BY
    if IS_LINUX and not shows_own_processes():
        return FOREIGN_PROC
    if most_files < FEWEST_FILES:
        return (
            f"only {most_files} files may be open here (ulimit -n), so memwatch could not read its job's processes and "
            f"would guard nothing; allow {FEWEST_FILES}, {_OR}"
        )
    return None


def memory_can_be_read(proc_root: str = "/proc", sys_root: str = "/sys") -> bool:
    """Whether the host's memory or at least one memory limit above this process can be read."""
    if IS_LINUX and number_after(read_file(f"{proc_root}/meminfo") or b"", b"MemAvailable:") is not None:
        return True
    from memwatch.probe.cgroups import memory_sample  # Only here: it takes as long to load as the guard itself.

    return memory_sample(proc_root, sys_root).available_bytes is not None


def read_before_start(proc_root: str = "/proc") -> BeforeStart:
    """Counters of the machine, for what the first sample cannot show any more."""
    if not IS_LINUX:
        return BeforeStart()
    shmem_kib = number_after(read_file(f"{proc_root}/meminfo") or b"", b"Shmem:")
    oom_kills = number_after(read_file(f"{proc_root}/vmstat") or b"", b"oom_kill ")
    return BeforeStart(None if shmem_kib is None else shmem_kib * 1024, oom_kills)
