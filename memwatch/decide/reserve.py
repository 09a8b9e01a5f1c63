"""The reserve: memory that the job must leave to the rest of a room (the machine, or a cgroup with a memory limit)."""

from dataclasses import dataclass

from memwatch.model.sample import Sample
from memwatch.model.units import GIB, MIB, format_size

SHARE = 0.1
SMALLEST_BYTES = 256 * MIB
LARGEST_BYTES = 4 * GIB
# One part in so many is the most that is kept free in a room for which no size was asked.
SMALL_ROOM_SHARE = 4


class ReserveTooLarge(ValueError):
    """The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """What `--reserve` asks for, for rooms of any size. `Reserve()` is the default.

    A job can move into a smaller cgroup, or start a child in one, while it runs. So the reserve is no number but a
    function of the room: `of(capacity_bytes)`. The forecast subtracts it from what is available in each room.

    `asked_from_bytes` is the capacity of the tightest room when the size was asked for and checked. In rooms that are
    smaller, and unknown at the time, the size counts only as far as it leaves the job three quarters: otherwise
    `--reserve 2G` would stop every job that enters a container of 2 GiB.
    """

    asked_bytes: int | None = None
    asked_fraction: float | None = None
    asked_from_bytes: int = 0

    def of(self, capacity_bytes: int) -> int:
        if self.asked_fraction is not None:
            return int(capacity_bytes * self.asked_fraction)
        if self.asked_bytes is None:
            return default_reserve_bytes(capacity_bytes)
        if capacity_bytes >= self.asked_from_bytes:
            return self.asked_bytes
        return min(self.asked_bytes, capacity_bytes // SMALL_ROOM_SHARE)


def default_reserve_bytes(total_bytes: int) -> int:
    """10 % of RAM, or of the limit in force, between 256 MiB and 4 GiB; of something tiny never more than a quarter."""
    return min(max(int(total_bytes * SHARE), SMALLEST_BYTES), LARGEST_BYTES, total_bytes // SMALL_ROOM_SHARE)


def reserve_for(asked_bytes: int | None, asked_fraction: float | None, sample: Sample) -> Reserve:
    """What --reserve asks for on this machine; the guard calls it before the job starts. Raises ReserveTooLarge if it
    cannot be kept."""
    if asked_fraction is not None:
        return Reserve(asked_fraction=asked_fraction)
    if asked_bytes is None or sample.capacity is None:
        return Reserve(asked_bytes=asked_bytes)
    in_force_bytes, path = sample.capacity
    check_reserve(asked_bytes, in_force_bytes, path or None)
    return Reserve(asked_bytes, asked_from_bytes=in_force_bytes)


def check_reserve(reserve_bytes: int, in_force_bytes: int, limit_path: str | None = None) -> None:
    """`in_force_bytes` is the smallest of RAM and every limit above the job."""
    if reserve_bytes < in_force_bytes:
        return
    what = "the machine's RAM" if limit_path is None else f"the memory limit of {limit_path}"
    raise ReserveTooLarge(
        f"a reserve of {format_size(reserve_bytes)} leaves nothing to the job, because {what} is "
        f"{format_size(in_force_bytes)}; choose a --reserve below that, for example "
        f"{format_size(default_reserve_bytes(in_force_bytes))}"
    )
