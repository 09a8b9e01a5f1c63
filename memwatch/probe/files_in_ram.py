"""Files in RAM: tmpfs and memfd files that the job wrote and that none of its processes has mapped.

No process shows them, and only a cgroup that holds nothing but the job counts them exactly. Without one this is an
estimate: shared memory of the room that has come since the job started, as far as the job can be its author.

The job can have made what it wrote with write() to something that is no disk, and what it has mapped. So a neighbour's
files are not blamed on a job that writes nothing. The estimate is too high where a job writes much to pipes or sockets
while a neighbour fills tmpfs; it is never higher than either. It is too low where the job fills tmpfs with fallocate(),
or beside as many bytes written to disk through a mapping, and where a neighbour gives tmpfs memory back meanwhile.
"""

from memwatch.model.sample import Limit, Memory

_HOST = ""


class FilesInRam:
    """`host_before_bytes`: the host's shared memory before the job started; None is as of the first sample."""

    def __init__(self, host_before_bytes: int | None = None) -> None:
        self._host_before_bytes = host_before_bytes
        self._before: dict[str, int] | None = None

    def estimate(
        self, memory: Memory | None, limits: tuple[Limit, ...], touched_bytes: int | None, counted_bytes: int
    ) -> int | None:
        """To be called with every sample of the job, from the first on.

        `touched_bytes`: what the job can have made; None is unknown. `counted_bytes`: of that, what its processes
        account for.
        """
        rooms = {limit.path: limit.shmem_bytes for limit in limits if limit.shmem_bytes is not None}
        if memory is not None and memory.shmem_bytes is not None:
            rooms[_HOST] = memory.shmem_bytes
        if self._before is None:
            self._before = self._first(rooms)
        # The nearest room that was there from the beginning: fewer neighbours are in it than in those above.
        room = next((name for name in rooms if name in self._before), None)
        if room is None or touched_bytes is None:
            return None
        growth = max(rooms[room] - self._before[room], 0)
        return max(min(growth, touched_bytes) - counted_bytes, 0)

    def _first(self, rooms: dict[str, int]) -> dict[str, int]:
        """What has come to the host between the start of the job and the first sample counts as growth of any room."""
        if self._host_before_bytes is None or _HOST not in rooms:
            return rooms
        early = max(rooms[_HOST] - self._host_before_bytes, 0)
        return {name: max(shmem - early, 0) for name, shmem in rooms.items()}
