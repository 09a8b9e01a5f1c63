"""Files in RAM: tmpfs and memfd files that the job wrote and that none of its processes has mapped.

No process shows them, and only a cgroup that holds nothing but the job counts them exactly. Without one this is an
estimate: shared memory of the room that has come since the job started, as far as the job can be its author.

The job can have made what it wrote with write() to something that is no disk, and what it has mapped. So a neighbour's
files are not blamed on a job that writes nothing. The estimate is too high where a job writes much to pipes or sockets
while a neighbour fills tmpfs; it is never higher than either. It is too low where the job fills tmpfs with fallocate(),
or beside as many bytes written to disk through a mapping, and where a neighbour gives tmpfs memory back meanwhile.
"""

from memwatch.core.sample import Limit, Memory

_HOST = ""


class FilesInRam:
    """`host_before_bytes`: the host's shared memory before the job started; None is as of the first estimate."""

    def __init__(self, host_before_bytes: int | None = None) -> None:
        self._host_before_bytes = host_before_bytes
        self._before: dict[str, int] | None = None

    def estimate(
        self, memory: Memory | None, limits: tuple[Limit, ...], touched_bytes: int, counted_bytes: int
    ) -> int | None:
        """`touched_bytes`: what the job can have made. `counted_bytes`: of that, what its processes account for."""
        rooms = {limit.path: limit.shmem_bytes for limit in limits if limit.shmem_bytes is not None}
        if memory is not None and memory.shmem_bytes is not None:
            rooms[_HOST] = memory.shmem_bytes
        if self._before is None:
            self._before = self._first(rooms, touched_bytes)
        # The nearest room that was there from the beginning: fewer neighbours are in it than in those above.
        room = next((name for name in rooms if name in self._before), None)
        if room is None:
            return None
        growth = max(rooms[room] - self._before[room], 0)
        return max(min(growth, touched_bytes) - counted_bytes, 0)

    def _first(self, rooms: dict[str, int], touched_bytes: int) -> dict[str, int]:
        """What came before the first sample counts as growth as well, if the host had it not before the job."""
        if self._host_before_bytes is None or _HOST not in rooms:
            return rooms
        early = min(max(rooms[_HOST] - self._host_before_bytes, 0), touched_bytes)
        return {name: max(shmem - early, 0) for name, shmem in rooms.items()}
