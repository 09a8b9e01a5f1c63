"""Samples that a machine could have made, out of a journal that anybody could have written.

Whoever draws or adds up what others wrote asks here, and need not fear a number with four hundred digits.
"""

from memwatch.journal.codec import sample_from_json
from memwatch.journal.events import Event
from memwatch.model.sample import Sample

_BEYOND = 2.0**63  # what the kernel counts with, signed
LATEST_T = 1e11  # the year 5138


def plausible_sample(event: Event) -> Sample | None:
    """None if it is none, or from a memwatch that knows another kind."""
    try:
        sample = sample_from_json(event)
    except ValueError:
        return None
    parts = (sample, sample.memory, sample.pressure, sample.paging, sample.job_counters, sample.job_rest)
    lists = (sample.limits, sample.job, sample.gpus or (), sample.others or ())
    is_plausible = all(map(_has_sense, parts)) and all(_has_sense(part) for each in lists for part in each)
    return sample if is_plausible and is_plausible_time(sample.t) else None


def is_plausible_time(t: float) -> bool:
    return 0 <= t <= LATEST_T


def _has_sense(part: object) -> bool:
    for name in getattr(part, "__slots__", ()):
        value = getattr(part, name)
        if isinstance(value, int | float) and not 0 <= value < _BEYOND:
            return False
    return True
