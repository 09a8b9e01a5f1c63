"""The reserve: memory that the job must leave to the rest of the machine."""

from memwatch.core.units import GIB, MIB, format_size

SHARE = 0.1
LEAST_BYTES = 256 * MIB
MOST_BYTES = 4 * GIB


class ReserveTooLarge(ValueError):
    """The message is one sentence for the user."""


def default_reserve_bytes(total_bytes: int) -> int:
    """10 % of RAM, or of the limit in force, between 256 MiB and 4 GiB; of something tiny never more than a quarter."""
    return min(max(int(total_bytes * SHARE), LEAST_BYTES), MOST_BYTES, total_bytes // 4)


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
