"""A Sample as JSON and back: what is read equals what was written.

Fields go under their own names; what is None is left out. Keys are added, never renamed: unknown ones are passed over,
so that an older memwatch reads a newer journal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType

from memwatch.model.sample import Gpu, JobCounters, Limit, Memory, Paging, Pressure, Process, Rest, Sample

_PARTS: dict[str, type] = {
    "memory": Memory,
    "pressure": Pressure,
    "paging": Paging,
    "job_counters": JobCounters,
    "job_rest": Rest,
}
_LISTS: dict[str, type] = {"limits": Limit, "job": Process, "gpus": Gpu, "others": Process}


def sample_to_json(sample: Sample) -> dict[str, object]:
    # Written out, because this is done ten times a second by a process that has half a percent of a core.
    line: dict[str, object] = {"clock_s": sample.clock_s}
    for name in _PARTS:
        if (part := getattr(sample, name)) is not None:
            line[name] = _known(part)
    if sample.limits:
        line["limits"] = [_known(limit) for limit in sample.limits]
    if sample.job:
        line["job"] = [_known(process) for process in sample.job]
    if sample.disk_free_bytes is not None:
        line["disk_free_bytes"] = sample.disk_free_bytes
    if sample.job_files_bytes is not None:
        line["job_files_bytes"] = sample.job_files_bytes
    if sample.job_untouched_bytes is not None:
        line["job_untouched_bytes"] = sample.job_untouched_bytes
    if sample.gpus is not None:  # () is "there is none", None is "unknown".
        line["gpus"] = [_known(gpu) for gpu in sample.gpus]
    if sample.others is not None:
        line["others"] = [_known(process) for process in sample.others]
    return line


def sample_from_json(line: Mapping[str, object]) -> Sample:
    """The sample that an event holds. Raises ValueError if it holds none."""
    values = dict(line)
    for name, kind in _PARTS.items():
        if values.get(name) is not None:
            values[name] = _made(kind, values[name])
    for name, kind in _LISTS.items():
        if values.get(name) is not None:
            values[name] = tuple(_made(kind, item) for item in _items(values[name]))
    sample = _made(Sample, values)
    assert isinstance(sample, Sample)
    return sample


def _known(part: Memory | Limit | Pressure | Paging | Process | Gpu | JobCounters | Rest) -> dict[str, object]:
    return {name: value for name in part.__slots__ if (value := getattr(part, name)) is not None}


def _items(value: object) -> Iterable[object]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value


def _made(kind: type, line: object) -> object:
    """An object of a dataclass, from what is known. A field that is nowhere stays at its default, or is unknown."""
    if not isinstance(line, Mapping):
        raise ValueError(f"no {kind.__name__}: {line!r:.80}")
    values = {}
    for name, types, is_needed in _fields_of(kind):
        if name in line:
            values[name] = line[name]
        elif is_needed:
            values[name] = None
        else:
            continue
        if type(values[name]) not in types:
            raise ValueError(f"{kind.__name__}.{name} cannot be {values[name]!r:.80}")
    return kind(**values)


@cache
def _fields_of(kind: type) -> list[tuple[str, frozenset[type], bool]]:
    """(name, the types that fit, whether there is no default) of each: a week's record has a million processes."""
    return [(field.name, frozenset(_types(field.type)), field.default is MISSING) for field in fields(kind)]


def _types(kind: object) -> Iterable[type]:
    """`kind` is one that occurs in a Sample: int, str | None, tuple[Limit, ...]."""
    if isinstance(kind, UnionType):
        return [each for option in kind.__args__ for each in _types(option)]
    if kind is float:
        return [int, float]
    plain = getattr(kind, "__origin__", kind)
    assert isinstance(plain, type)
    return [plain]


BEYOND = 1 << 63  # what the kernel counts with, signed
LATEST_T = 1e11  # the year 5138


def plausible_sample(event: Mapping[str, object]) -> Sample | None:
    """A sample that a machine could have made, out of a journal that anybody could have written; otherwise None.

    For readers that draw or add up: no number has four hundred digits, none is negative or NaN.
    """
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
        if isinstance(value, int | float) and not 0 <= value < BEYOND:
            return False
    return True
