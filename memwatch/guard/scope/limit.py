"""The memory limit of the job's own scope: the kernel enforces it when the guard cannot act.

The guard acts at the latest when half of the reserve is gone (decide/thresholds.py). There the limit stands, so the
kernel acts next, and a guard that is frozen, stopped or dead still leaves half of the reserve to everybody else:

    limit = what the job has + what is available - half of the reserve

Only the job's own growth leaves that sum as it is. When other programs take or free memory it moves, and the limit
follows, or a job that runs for days would be killed at what was right when it began. It follows up soon, and down late:
never so far that the kernel would have to take pages from the job for it, and not while memory is short, which is the
guard's own business.

The job's page cache counts against the limit, but the kernel drops that before it kills.
"""

from memwatch.model.sample import Memory
from memwatch.model.units import MIB

# Ordinary programs start, even where memory was short before.
LEAST_BYTES = 512 * MIB
RAISE_SHARE = 1 / 16  # of the reserve
LOWER_SHARE = 1 / 4
SMALLEST_STEP_BYTES = 32 * MIB  # less is not worth a call; a desktop at rest moves as much to and fro
LAG_SHARE = 1 / 8  # how far the limit may lie behind while it follows


def memory_max_bytes(job_bytes: int, available_bytes: int, reserve_bytes: int, capacity_bytes: int) -> int:
    """`job_bytes` is what the scope holds, without page cache; the rest is of the room outside the scope."""
    most = capacity_bytes - reserve_bytes // 2
    return max(min(job_bytes + available_bytes - reserve_bytes // 2, most), min(LEAST_BYTES, most))


def swap_max_bytes(memory: Memory) -> int | None:
    """At its limit a job is swapped out before it is killed; half of the free swap remains for the others.

    None where there is no swap: some may be added while the job runs.
    """
    return memory.swap_free_bytes // 2 if memory.swap_total_bytes else None


def kept_bytes(reserve_bytes: int) -> int:
    """How much of the reserve the limit itself keeps, so that the guard does not keep it a second time.

    With what the limit may lag behind: while it follows, the machine's own memory is always the tighter room. Should
    it follow no more, the guard still acts with a quarter of the reserve to go.
    """
    return reserve_bytes // 2 + int(reserve_bytes * LAG_SHARE)


def new_limit_bytes(
    in_force_bytes: int, wanted_bytes: int, charged_bytes: int, reserve_bytes: int, is_short: bool
) -> int | None:
    """What to change the limit to, or None. `charged_bytes` is all that the scope holds, page cache included."""
    if wanted_bytes - in_force_bytes >= max(reserve_bytes * RAISE_SHARE, SMALLEST_STEP_BYTES):
        return wanted_bytes
    lowered = max(wanted_bytes, charged_bytes + reserve_bytes // 4)
    if not is_short and in_force_bytes - lowered >= max(reserve_bytes * LOWER_SHARE, SMALLEST_STEP_BYTES):
        return lowered
    return None
