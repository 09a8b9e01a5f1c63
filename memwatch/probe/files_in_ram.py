"""Files in RAM: tmpfs and memfd files that the job wrote and that none of its processes has mapped.

No process shows them, and only a cgroup that holds nothing but the job counts them exactly. Without one this is an
estimate: shared memory of the room that has come since the job started, as far as the job can be its author.

The job can have made what it wrote with write() to something that is no disk, and what it has mapped or had mapped. Of
mappings that are gone only page faults are left: each page that is filled through one takes a fault. So if a job was
seen with shared memory mapped, what has come into the room counts as its own as far as it had faults in the same time
that did not make it larger than ever. A neighbour's files are not blamed on a job that writes nothing and maps nothing.

The estimate is too high where a job writes much to pipes or sockets, or maps shared memory and takes and frees much of
its own, while a neighbour fills tmpfs; it is never higher than either. It is too low where the job fills tmpfs with
fallocate() or by small mappings that no reading has met, or beside as many bytes written to disk through a mapping, and
where a neighbour gives tmpfs memory back meanwhile.
"""

from memwatch.model.sample import Limit, Memory
from memwatch.model.units import MIB
from memwatch.probe.files import PAGE_BYTES
from memwatch.probe.members import JobTotals

_HOST = ""
# Every Python program with a lock for processes has some pages mapped.
_MAPS_BYTES = 4 * MIB


class FilesInRam:
    """`host_before_bytes`: the host's shared memory before the job started; None is as of the first sample."""

    def __init__(self, host_before_bytes: int | None = None) -> None:
        self._host_before_bytes = host_before_bytes
        self._before: dict[str, int] | None = None
        self._last: tuple[JobTotals, str | None, int] = JobTotals(None, None, 0, 0), None, 0  # with a room's growth
        self._most_held_bytes = 0
        self._faulted_bytes = 0
        self._maps = False

    def estimate(self, memory: Memory | None, limits: tuple[Limit, ...], totals: JobTotals) -> int | None:
        """To be called with every sample of the job, from the first on. `totals` is the same object until the job is
        read again."""
        rooms = {limit.path: limit.shmem_bytes for limit in limits if limit.shmem_bytes is not None}
        if memory is not None and memory.shmem_bytes is not None:
            rooms[_HOST] = memory.shmem_bytes
        if self._before is None:
            self._before = self._first(rooms)
        # The nearest room that was there from the beginning: fewer neighbours are in it than in those above.
        room = next((name for name in rooms if name in self._before), None)
        if room is None:
            return None
        growth = max(rooms[room] - self._before[room], 0)
        mapped_bytes = max(totals.mapped_shmem_bytes, self._once_mapped_bytes(totals, room, growth))
        if totals.off_disk_bytes is None:
            return None
        return max(min(growth, totals.off_disk_bytes + mapped_bytes) - totals.own_shmem_bytes, 0)

    def _once_mapped_bytes(self, totals: JobTotals, room: str, growth: int) -> int:
        """The most that the job can have filled through mappings, gone or not."""
        last, last_room, last_growth = self._last
        if totals is not last:
            faults_bytes = (totals.minor_faults - last.minor_faults) * PAGE_BYTES
            own_bytes = max(totals.held_bytes - self._most_held_bytes, 0)
            came_bytes = growth - last_growth if last_room in (room, None) else 0
            self._faulted_bytes += max(min(came_bytes, faults_bytes - own_bytes), 0)
            self._maps = self._maps or totals.mapped_shmem_bytes >= _MAPS_BYTES
            self._most_held_bytes = max(self._most_held_bytes, totals.held_bytes)
            self._last = totals, room, growth
        self._faulted_bytes = min(self._faulted_bytes, growth)
        return self._faulted_bytes if self._maps else 0

    def _first(self, rooms: dict[str, int]) -> dict[str, int]:
        """What has come to the host between the start of the job and the first sample counts as growth of any room."""
        if self._host_before_bytes is None or _HOST not in rooms:
            return rooms
        early = max(rooms[_HOST] - self._host_before_bytes, 0)
        return {name: max(shmem - early, 0) for name, shmem in rooms.items()}
