"""What the graphics cards did over a time."""

from collections.abc import Iterable

from memwatch.diagnose.timeline.model import GpuUse
from memwatch.model.sample import Gpu


class GpuSums:
    """Adds up what the cards did."""

    def __init__(self) -> None:
        self._uses: dict[int, list[float]] = {}
        self._last: dict[int, Gpu] = {}
        self._memory: dict[int, tuple[int, float]] = {}
        self._awake: set[int] = set()
        self.known = False

    def see(self, gpus: Iterable[Gpu] | None, t: float) -> None:
        if gpus is None:
            return
        self.known = True
        for gpu in gpus:
            self._last[gpu.index] = gpu
            if not gpu.asleep:
                self._awake.add(gpu.index)
            if gpu.used_fraction is not None:
                use = self._uses.setdefault(gpu.index, [0.0, 0.0])  # sum, count
                use[0] += gpu.used_fraction
                use[1] += 1
            if gpu.memory_used_bytes is not None:
                self._memory[gpu.index] = max(self._memory.get(gpu.index, (-1, t)), (gpu.memory_used_bytes, t))

    def uses(self) -> tuple[GpuUse, ...] | None:
        return tuple(self._use(index) for index in sorted(self._last)) if self.known else None

    def _use(self, index: int) -> GpuUse:
        last, use, memory = self._last[index], self._uses.get(index), self._memory.get(index)
        return GpuUse(
            name=last.name,
            mean_used_fraction=None if use is None else use[0] / use[1],
            most_memory_bytes=None if memory is None else memory[0],
            memory_total_bytes=last.memory_total_bytes,
            most_memory_t=None if memory is None else memory[1],
            asleep=index not in self._awake,
        )
