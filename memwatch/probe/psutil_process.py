"""One process through psutil. None for whatever psutil cannot read."""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import psutil

from memwatch.errors import printable
from memwatch.model.sample import Process
from memwatch.probe.slow_files import shortened
from memwatch.probe.stat import Stat

_T = TypeVar("_T")
TICKS_PER_S = 100
_STATES = {
    psutil.STATUS_RUNNING: "R",
    psutil.STATUS_SLEEPING: "S",
    psutil.STATUS_DISK_SLEEP: "D",
    psutil.STATUS_STOPPED: "T",
    psutil.STATUS_TRACING_STOP: "t",
    psutil.STATUS_ZOMBIE: "Z",
    psutil.STATUS_DEAD: "X",
    psutil.STATUS_IDLE: "I",
}


def portable_stat(pid: int) -> Stat | None:
    """None if there is no such process, or it is not shown to this user."""
    process = opened(pid)
    if process is None:
        return None
    with process.oneshot():
        return _stat(process)


def owner_of(pid: int) -> int | None:
    """The user id of a process; None if it cannot be read."""
    process = opened(pid)
    ids = None if process is None else known(process.uids)
    return None if ids is None else int(ids.effective)


def rss_bytes(pid: int) -> int | None:
    """The resident memory of a process; None if it cannot be read."""
    process = opened(pid)
    info = None if process is None else known(process.memory_info)
    return None if info is None else int(info.rss)


def _stat(process: psutil.Process) -> Stat | None:
    started_t, state = known(process.create_time), known(process.status)
    parent_pid = known(process.ppid)
    if started_t is None or state is None or parent_pid is None:
        return None
    group, session = group_and_session(process.pid) or (0, 0)
    times = known(process.cpu_times)
    return Stat(
        pid=process.pid,
        comm=(known(process.name) or "?").encode(errors="replace"),
        state=_STATES.get(state, "S"),
        parent_pid=int(parent_pid),
        group=group,
        session=session,
        cpu_s=0.0 if times is None else float(times.user + times.system),
        threads=1,
        # Since boot, as Linux counts it: a change of the clock moves both times.
        start_ticks=round((float(started_t) - float(psutil.boot_time())) * TICKS_PER_S),
    )


def read_process(process: psutil.Process) -> Process | None:
    """A process as a sample has it; None if it has ended."""
    with process.oneshot():
        return _read_process(process)


def _read_process(process: psutil.Process) -> Process | None:
    stat = _stat(process)
    if stat is None:
        return None
    info, transfers = known(process.memory_info), _known_transfers(process)
    command = known(process.cmdline)
    return Process(
        pid=stat.pid,
        start_ticks=stat.start_ticks,
        parent_pid=stat.parent_pid,
        state=stat.state,
        rss_bytes=0 if info is None else int(info.rss),
        swap_bytes=0,
        cpu_s=stat.cpu_s,
        read_bytes=None if transfers is None else int(transfers.read_bytes),
        written_bytes=None if transfers is None else int(transfers.write_bytes),
        command=shortened(printable(" ".join(command) if command else stat.comm.decode(errors="replace")).strip()),
    )


def _known_transfers(process: psutil.Process) -> Any:
    return known(process.io_counters) if hasattr(process, "io_counters") else None  # macOS has none.


def opened(pid: int) -> psutil.Process | None:
    """psutil's object for a process; None if there is no such process."""
    return known(lambda: psutil.Process(pid))


def known(read: Callable[[], _T]) -> _T | None:
    """None for what psutil cannot read: the process has ended, is another user's, or the system does not say."""
    with suppress(psutil.Error, OSError, NotImplementedError, ValueError):
        return read()
    return None


def group_and_session(pid: int) -> tuple[int, ...]:
    """The process group and session of a process; empty if it has ended."""
    with suppress(OSError):
        return os.getpgid(pid), os.getsid(pid)
    return ()


def with_descendants(pids: Collection[int]) -> list[int]:
    """These processes and all below them."""
    below = [known(partial(start.children, recursive=True)) for pid in pids if (start := opened(pid))]
    return [*pids, *(process.pid for found in below for process in found or ())]
