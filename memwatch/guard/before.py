"""Before the job starts: what it must leave to others."""

from memwatch.core.reserve import check_reserve, default_reserve_bytes
from memwatch.core.sample import Sample
from memwatch.guard.config import GuardConfig


def reserve_bytes(config: GuardConfig, sample: Sample) -> int:
    """Raises ReserveTooLarge if what was asked for cannot be kept."""
    capacity = sample.capacity
    if capacity is None:
        return config.reserve_bytes or 0
    in_force, path = capacity
    if config.reserve_bytes is None:
        return default_reserve_bytes(in_force)
    check_reserve(config.reserve_bytes, in_force, path or None)
    return config.reserve_bytes
