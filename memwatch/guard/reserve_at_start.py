"""Before the job starts: what it must leave to others."""

from memwatch.decide.reserve import Reserve, check_reserve
from memwatch.guard.order import GuardConfig
from memwatch.model.sample import Sample


def reserve_for(config: GuardConfig, sample: Sample) -> Reserve:
    """What --reserve asks for on this machine. Raises ReserveTooLarge if it cannot be kept."""
    if config.reserve_fraction is not None:
        return Reserve(asked_fraction=config.reserve_fraction)
    if config.reserve_bytes is None or sample.capacity is None:
        return Reserve(asked_bytes=config.reserve_bytes)
    in_force, path = sample.capacity
    check_reserve(config.reserve_bytes, in_force, path or None)
    return Reserve(config.reserve_bytes, asked_from_bytes=in_force)


def reserve_bytes(reserve: Reserve, sample: Sample) -> int:
    """What is kept free in the smallest room that the job is in; 0 where no room can be read."""
    return 0 if sample.capacity is None else reserve.of(sample.capacity[0])
