"""Trends: how the memory of each process went over the last minute, in a few steps."""

from collections import deque
from collections.abc import Iterable

from memwatch.model.sample import Process

STEPS = 8
STEP_S = 60 / STEPS

_Key = tuple[int, int]


class Trends:
    def __init__(self) -> None:
        self._step = 0
        self._seen: dict[_Key, deque[int]] = {}

    def add(self, t: float, processes: Iterable[Process]) -> None:
        """The highest in each step counts. Whoever is gone is forgotten."""
        step = int(t // STEP_S)
        passed = min(max(step - self._step, 0), STEPS)
        self._step = step
        before, self._seen = self._seen, {}
        for process in processes:
            key, taken = (process.pid, process.start_ticks), process.rss_bytes + process.swap_bytes
            steps = before.get(key)
            if steps is None:
                steps = deque([taken], maxlen=STEPS)
            elif passed:
                steps.extend([steps[-1]] * (passed - 1) + [taken])  # Nobody looked in between: as it was.
            else:
                steps[-1] = max(steps[-1], taken)
            self._seen[key] = steps

    def of(self, process: Process) -> tuple[int, ...]:
        """The newest last; fewer than STEPS of one that is young."""
        return tuple(self._seen.get((process.pid, process.start_ticks), ()))
