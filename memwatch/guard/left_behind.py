"""Resets oom_score_adj, nice and I/O priority of processes that the job leaves behind, such as a daemon it started.

Only what still has exactly the value that the guard set is changed. To lower a nice value needs root or RLIMIT_NICE;
where it is refused, it stays.
"""

import os
from collections.abc import Iterable
from contextlib import suppress

from memwatch.guard import system
from memwatch.guard.spawn import IO_PRIORITY, NICENESS, OOM_SCORE


def restore_rank(pids: Iterable[int], lowers_priority: bool) -> None:
    """Called by the guard at the job's end. The guard itself still has what memwatch was started with."""
    for pid in pids:
        usual_score = system.oom_score()
        if usual_score is not None and system.oom_score(pid) == OOM_SCORE:
            system.set_oom_score(usual_score, pid)
        for thread_id in _threads(pid) if lowers_priority else ():
            _restore_priority(thread_id)


def _restore_priority(thread_id: int) -> None:
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):  # Gone, or not permitted.
        if os.getpriority(os.PRIO_PROCESS, thread_id) == niceness + NICENESS:
            os.setpriority(os.PRIO_PROCESS, thread_id, niceness)
    usual = system.get_io_priority(0)
    if usual is not None and system.get_io_priority(thread_id) == system.io_priority(IO_PRIORITY):
        system.set_io_priority(usual, thread_id)


def _threads(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    return []
