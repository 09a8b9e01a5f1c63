"""Which segments a rank takes, and in which order. Pure functions."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from memwatch.errors import UsageError


@dataclass(frozen=True, slots=True)
class Rank:
    """One of `world_size` processes. The number is a hint for who starts where: a run ends complete even if ranks are
    missing, or if others had another world size."""

    number: int = 0
    world_size: int = 1

    def __str__(self) -> str:
        return f"rank {self.number} of {self.world_size}"


def rank_of(number: int | None, world_size: int | None, environment: Mapping[str, str]) -> Rank | None:
    """The rank given on the command line, else the one that Slurm or Kubernetes gives; None without either."""
    if number is not None and world_size is not None:
        return _checked(Rank(number, world_size))
    if number is not None:
        raise UsageError("--rank needs --world-size, the number of ranks")
    index = _number(environment, "JOB_COMPLETION_INDEX")
    if world_size is not None and index is not None:
        # Kubernetes gives the index of an Indexed Job, but not the number of completions.
        return _checked(Rank(index, world_size))
    slurm = _slurm_rank(environment)
    if world_size is not None:
        if slurm is None:
            raise UsageError("--world-size needs --rank, or a rank from Slurm or a Kubernetes Indexed Job")
        return _checked(Rank(slurm.number, world_size))
    return slurm


def _slurm_rank(environment: Mapping[str, str]) -> Rank | None:
    """Array tasks times the processes that srun starts in each of them."""
    process = _number(environment, "SLURM_PROCID") or 0
    processes = _number(environment, "SLURM_NTASKS") or 1
    task = _number(environment, "SLURM_ARRAY_TASK_ID")
    if task is None:
        return Rank(process, processes) if "SLURM_PROCID" in environment and process < processes else None
    tasks = _number(environment, "SLURM_ARRAY_TASK_COUNT") or 1
    first = _number(environment, "SLURM_ARRAY_TASK_MIN") or 0
    step = _number(environment, "SLURM_ARRAY_TASK_STEP") or 1
    # An array such as 1,5,7 has no regular step: what matters is that tasks differ.
    index = (task - first) // step % tasks
    return Rank(index * processes + min(process, processes - 1), tasks * processes)


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _checked(rank: Rank) -> Rank:
    if rank.world_size < 1 or not 0 <= rank.number < rank.world_size:
        raise UsageError(f"--rank {rank.number} is not between 0 and {rank.world_size - 1} (--world-size minus 1)")
    return rank


def next_segment(rank: Rank, unfinished: Collection[int], taken_by_others: Collection[int]) -> int | None:
    """The first unfinished segment of the own stripe, else one that no living process works on, else None.

    A stripe is every world_size-th segment: neighbours go to different ranks, so that all finish at about the same
    time.
    Ranks look for others' segments from different starting points, so that they seldom choose the same one. A segment
    of the own stripe that another process took meanwhile is left to it.
    """
    free = [number for number in unfinished if number not in taken_by_others]
    own = [number for number in free if number % rank.world_size == rank.number]
    if own:
        return min(own)
    if not free:
        return None
    free.sort()
    return free[len(free) * rank.number // rank.world_size]
