"""How much memory a run takes: the limit of its workers, and what memory mode leaves to the tokens."""

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.probe.cgroups import memory_sample
from memwatch.tokenize.plan import Plan, ReadingMemory, cores_here, least_bytes, plan, usual_limit_bytes
from memwatch.tokenize.settings import Resources


class RunMemory:
    """`plan` has the workers; `held_limit_bytes` is what tokens may take in memory mode, None without a limit.

    The machine's memory is read once, and again by `has_room`.
    """

    def __init__(self, resources: Resources, token_bytes: int, reading: ReadingMemory, is_memory_mode: bool) -> None:
        asked_bytes, workers = resources.max_memory_bytes, resources.workers
        if asked_bytes is None:
            limit_bytes = usual_limit_bytes(memory_sample(), workers, cores_here(), token_bytes, reading)
        elif is_memory_mode:
            # Half of it is for the tokens and half for the workers, which need more of a small one.
            limit_bytes = min(max(asked_bytes // 2, least_bytes(token_bytes, reading, workers)), asked_bytes)
        else:
            limit_bytes = asked_bytes
        self._limit_bytes = limit_bytes
        self.held_limit_bytes = asked_bytes - limit_bytes if asked_bytes is not None and is_memory_mode else None
        self.plan: Plan = plan(limit_bytes, workers, cores_here(), token_bytes, reading)

    def has_room(self) -> bool:
        """After a switch to shards: whether the memory for all workers is there again, beside the reserve."""
        machine = memory_sample()
        if machine.available_bytes is None or machine.capacity is None:
            return False
        return machine.available_bytes > default_reserve_bytes(machine.capacity[0]) + 2 * self._limit_bytes
