"""An hour of honest work as it was recorded (tests/benchmarks/benign_hour.py): nobody is warned, nothing is done."""

import json
import lzma
from dataclasses import dataclass
from pathlib import Path

import pytest

from memwatch.decide.actions import LadderSettings, OnPressure
from memwatch.decide.monitor import Monitor
from memwatch.decide.thresholds import Level
from memwatch.model.sample import Limit, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, KIB
from tests.decide.machine import Climber

RECORDED = Path(__file__).parent / "benign_hour.csv.xz"


@dataclass(frozen=True, slots=True)
class Recorded:
    reserve_bytes: int
    samples: list[Sample]


@pytest.fixture(scope="module")
def hour() -> Recorded:
    with lzma.open(RECORDED, "rt") as file:
        facts = json.loads(next(file))
        samples = [sample_in([float(value) for value in line.split(",")], facts) for line in file]
    return Recorded(facts["reserve_bytes"], samples)


def sample_in(row: list[float], facts: dict[str, int]) -> Sample:
    clock_s, *rest = row
    available_kib, used_kib, job_kib, some_us, full_us, *paging = map(int, rest)
    return Sample(
        t=clock_s,
        clock_s=clock_s,
        memory=Memory(facts["total_bytes"], available_kib * KIB, 0, 0),
        limits=(Limit("/work", facts["limit_bytes"], used_kib * KIB, 0),),
        pressure=Pressure(some_us, full_us),
        paging=Paging(*paging),
        job=(Process(2, 1, 1, "R", job_kib * KIB, 0, 0.0, None, None, "the whole job"),),
    )


def test_it_is_an_hour_in_which_much_was_going_on(hour: Recorded) -> None:
    samples = hour.samples
    assert samples[-1].clock_s - samples[0].clock_s >= 3600
    available = [sample.available_bytes or 0 for sample in samples]
    assert max(available) - min(available) > GIB
    assert max(sample.job_bytes for sample in samples) > GIB / 2


@pytest.mark.parametrize("on_pressure", OnPressure)
def test_there_is_no_false_alarm_whatever_was_asked_for(hour: Recorded, on_pressure: OnPressure) -> None:
    monitor = Monitor(lambda _: hour.reserve_bytes)
    ladder = Climber(LadderSettings(on_pressure, can_shard=on_pressure == OnPressure.AUTO))
    alarms = []
    for sample in hour.samples:
        outlook, verdict = monitor.observe(sample)
        if verdict.level > Level.WATCH:
            alarms.append((sample.clock_s, verdict.reason))
        if (action := ladder.step(verdict, outlook)) is not None:
            alarms.append((sample.clock_s, f"{action.step}: {action.reason}"))
    assert alarms == []
