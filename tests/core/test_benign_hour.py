"""An hour of honest work as it was recorded (tests/benchmarks/benign_hour.py): nobody is warned, nothing is done."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.core.actions import LadderSettings, Wish
from memwatch.core.assess import Level, Policy
from memwatch.core.forecast import forecast
from memwatch.core.history import History
from memwatch.core.ladder import Ladder
from memwatch.core.policy import Decider
from memwatch.core.sample import Process, Sample
from memwatch.core.units import GIB
from memwatch.record.codec import sample_from_json

RECORDED = Path(__file__).parent / "benign_hour.jsonl.gz"


def recorded() -> Iterator[Sample]:
    with gzip.open(RECORDED, "rt") as file:
        next(file)
        for line in file:
            event = json.loads(line)
            job = Process(2, 1, 1, "R", event["job_bytes"], 0, 0.0, None, None, "the whole job")
            known = {key: value for key, value in event.items() if key != "job_bytes"}
            yield sample_from_json(known | {"job": [_as_json(job)]})


def _as_json(process: Process) -> dict[str, object]:
    return {name: getattr(process, name) for name in Process.__slots__}


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return list(recorded())


@pytest.fixture(scope="module")
def reserve_bytes() -> int:
    with gzip.open(RECORDED, "rt") as file:
        return int(json.loads(next(file))["reserve_bytes"])


def test_it_is_an_hour_in_which_much_was_going_on(samples: list[Sample]) -> None:
    assert samples[-1].clock_s - samples[0].clock_s >= 3600
    available = [sample.available_bytes or 0 for sample in samples]
    assert max(available) - min(available) > GIB
    assert max(sample.job_bytes for sample in samples) > GIB / 2


@pytest.mark.parametrize("wish", list(Wish))
def test_there_is_no_false_alarm(samples: list[Sample], reserve_bytes: int, wish: Wish) -> None:
    policy = Policy.keeping(reserve_bytes)
    history, decider = History(), Decider(policy)
    ladder = Ladder(LadderSettings(wish, can_shard=wish == Wish.SHARD), policy)
    levels, actions = set(), []
    for sample in samples:
        history.add(sample)
        outlook = forecast(history, reserve_bytes)
        verdict = decider.decide(outlook)
        levels.add(verdict.level)
        if (action := ladder.next(verdict, outlook)) is not None:
            actions.append(action)
    assert actions == []
    assert levels <= {Level.CALM, Level.WATCH}
