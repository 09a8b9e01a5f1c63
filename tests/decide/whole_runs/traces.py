"""Traces: what a job took and how far it was, from its start to its end (record.py makes them)."""

import json
import lzma
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memwatch.model.units import MIB

RECORDED = Path(__file__).with_name("traces.txt.xz")
EARLIER = Path(__file__).with_name("earlier.txt.xz")  # The same jobs on a part of their work.
EARLIER_PART = 1 / 3
UNIT_BYTES = MIB // 16
PARTS = 100_000  # of the whole run


class Moment(NamedTuple):
    """`fraction` is None where nobody knew how far the job was, or it had not moved."""

    running_s: float
    used_bytes: int
    fraction: float | None


@dataclass(frozen=True, slots=True)
class Trace:
    name: str
    is_held_out: bool
    moments: tuple[Moment, ...]

    @property
    def peak_bytes(self) -> int:
        return max(moment.used_bytes for moment in self.moments)

    @property
    def seconds(self) -> float:
        return self.moments[-1].running_s


def save_traces(traces: Iterable[Trace], path: Path = RECORDED) -> None:
    """Two lines a trace: facts in JSON, then a triple a moment (ms, sixteenths of MiB, parts; - for None)."""
    lines = []
    for trace in sorted(traces, key=lambda trace: trace.name):
        facts = {"name": trace.name, "held_out": trace.is_held_out, "peak_mib": round(trace.peak_bytes / MIB)}
        lines += [json.dumps(facts | {"seconds": round(trace.seconds)}), " ".join(_steps(trace.moments))]
    path.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))


def _steps(moments: Iterable[Moment]) -> Iterable[str]:
    before_ms = before_used = before_part = 0
    for moment in moments:
        at_ms, used = round(moment.running_s * 1000), round(moment.used_bytes / UNIT_BYTES)
        step = f"{at_ms - before_ms},{used - before_used},"
        if moment.fraction is None:
            step += "-"
        else:
            part = round(moment.fraction * PARTS)
            step += str(part - before_part)
            before_part = part
        before_ms, before_used = at_ms, used
        yield step


def load_traces(path: Path = RECORDED) -> list[Trace]:
    if not path.exists():
        return []
    with lzma.open(path, "rt") as file:
        return [_trace(json.loads(facts), next(file).split()) for facts in file]


def _trace(facts: dict[str, object], steps: list[str]) -> Trace:
    at_ms = used = part = 0
    moments = []
    for step in steps:
        more_ms, more_used, more_part = step.split(",")
        at_ms, used = at_ms + int(more_ms), used + int(more_used)
        part += 0 if more_part == "-" else int(more_part)
        fraction = None if more_part == "-" else part / PARTS
        moments.append(Moment(at_ms / 1000, used * UNIT_BYTES, fraction))
    return Trace(str(facts["name"]), bool(facts["held_out"]), tuple(moments))
