"""A Sample as JSON and back: what is read equals what was written.

Fields go under their own names; what is None is left out. Keys are added, never renamed: unknown ones are passed over,
so that an older memwatch reads a newer journal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from types import UnionType

from memwatch.core.sample import Gpu, Limit, Memory, Paging, Pressure, Process, Sample

_PARTS: dict[str, type] = {"memory": Memory, "pressure": Pressure, "paging": Paging}
_LISTS: dict[str, type] = {"limits": Limit, "job": Process, "gpus": Gpu, "others": Process}

_Plan = tuple[tuple[str, bool, frozenset[object]], ...]  # a field's name, whether it has a default, what it may be
_plans: dict[type, _Plan] = {}


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
    if sample.gpus is not None:  # () is "there is none", and None is "nobody knows".
        line["gpus"] = [_known(gpu) for gpu in sample.gpus]
    if sample.others is not None:
        line["others"] = [_known(process) for process in sample.others]
    return line


def sample_from_json(line: Mapping[str, object]) -> Sample:
    """Raises ValueError if it is not one."""
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


def _known(part: Memory | Limit | Pressure | Paging | Process | Gpu) -> dict[str, object]:
    return {name: value for name in part.__slots__ if (value := getattr(part, name)) is not None}


def _items(value: object) -> Iterable[object]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value


def _made(kind: type, line: object) -> object:
    """An object of a dataclass, from what is known. A field that is nowhere stays at its default, or is unknown."""
    if not isinstance(line, dict):
        raise ValueError(f"no {kind.__name__}: {line!r:.80}")
    values = {}
    for name, has_default, types in _plan(kind):
        if name in line:
            value = values[name] = line[name]
        elif has_default:
            continue
        else:
            value = values[name] = None
        if type(value) not in types:
            raise ValueError(f"{kind.__name__}.{name} cannot be {value!r:.80}")
    return kind(**values)


def _plan(kind: type) -> _Plan:
    """Kept, because a week of samples is a million processes to read."""
    if kind not in _plans:
        _plans[kind] = tuple((each.name, each.default is not MISSING, _types(each.type)) for each in fields(kind))
    return _plans[kind]


def _types(kind: object) -> frozenset[object]:
    """`kind` is one that occurs in a Sample: int, str | None, tuple[Limit, ...]."""
    if isinstance(kind, UnionType):
        return frozenset().union(*map(_types, kind.__args__))
    return frozenset({int, float} if kind is float else {getattr(kind, "__origin__", kind)})
