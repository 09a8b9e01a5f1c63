"""Own memory: what each process of a job alone accounts for, between two readings of what is exact.

Processes that forked from each other share pages until one of them writes, and every one's RSS counts them. Only the
kernel knows the share of each (PSS), and reading that walks all page tables and waits for the memory map lock. So it is
read rarely, and in between this arithmetic holds:

- A process without living relatives by fork shares no anonymous memory: all that it holds is its own.
- A forked process starts with nothing of its own; what its memory grows by is its own. So is what it holds at first
  sight beyond what its parent holds: a pool of workers may take a machine's memory before any of them is seen twice.
- After a reading, growth and shrinkage since are its own.
- Where only some of a family could be read, the others own as little of what they hold as the least of those.

`held_bytes` is anonymous memory in RAM and in swap together, because a page that moves to swap stays held.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareReading:
    """One process, exact at one instant (/proc/PID/smaps_rollup)."""

    held_bytes: int
    own_held_bytes: int
    own_shmem_bytes: int


class OwnMemory:
    """Splits the memory of one process, since its last exec, into its own and what it shares."""

    __slots__ = ("_held_bytes", "_inherited_bytes", "_own_shmem_bytes", "_shared_bytes")

    def __init__(self, is_forked: bool, inherited_bytes: int | None = None) -> None:
        """`inherited_bytes` is the most that its parent can have passed on to it; None if that is not known."""
        self._held_bytes = 0
        self._inherited_bytes = inherited_bytes
        self._shared_bytes: int | None = None if is_forked else 0  # None: all that it holds at first sight
        self._own_shmem_bytes = 0

    def hold(self, held_bytes: int, shmem_bytes: int, is_alone: bool) -> None:
        """What a sample reads. `shmem_bytes` is shared memory that it has mapped; others may have mapped it too."""
        shared = self._most_shared(held_bytes) if self._shared_bytes is None else self._shared_bytes
        # What a process has given back of the shared part, it shares no longer.
        self._shared_bytes = 0 if is_alone else min(shared, held_bytes)
        self._held_bytes = held_bytes
        self._own_shmem_bytes = min(self._own_shmem_bytes, shmem_bytes)

    def correct(self, reading: ShareReading) -> None:
        self._shared_bytes = max(reading.held_bytes - reading.own_held_bytes, 0)
        self._own_shmem_bytes = reading.own_shmem_bytes

    def assume(self, own_share: float) -> None:
        """For a process that was not read itself: the least share that a relative owns of what it holds."""
        self._shared_bytes = self._most_shared(self._held_bytes - int(self._held_bytes * min(own_share, 1.0)))

    def _most_shared(self, shared_bytes: int) -> int:
        return shared_bytes if self._inherited_bytes is None else min(shared_bytes, self._inherited_bytes)

    @property
    def own_held_bytes(self) -> int:
        return max(self._held_bytes - (self._shared_bytes or 0), 0)

    @property
    def own_shmem_bytes(self) -> int:
        return self._own_shmem_bytes

    def split(self, swap_bytes: int) -> tuple[int, int]:
        """(in RAM with shared memory, in swap): its own, in the ratio of all that it holds."""
        own = self.own_held_bytes
        in_swap = own * min(swap_bytes, self._held_bytes) // self._held_bytes if self._held_bytes else 0
        return own - in_swap + self._own_shmem_bytes, in_swap
