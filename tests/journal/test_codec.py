"""A Sample that is written is read as an equal one."""

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.journal.codec import sample_from_json, sample_to_json
from memwatch.journal.events import encode, sample_event
from memwatch.journal.reader import parse_event
from memwatch.model.sample import Gpu, JobCounters, Limit, Memory, Paging, Pressure, Process, Rest, Sample
from tests.journal.examples import sample

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
# Whatever the kernel hands out, also names that are not UTF-8.
st.register_type_strategy(str, st.text(st.characters(), max_size=20))

SAMPLES = st.builds(
    Sample,
    memory=st.none() | st.builds(Memory),
    limits=st.lists(st.builds(Limit), max_size=2).map(tuple),
    pressure=st.none() | st.builds(Pressure),
    paging=st.none() | st.builds(Paging),
    job=st.lists(st.builds(Process), max_size=2).map(tuple),
    gpus=st.none() | st.lists(st.builds(Gpu), max_size=2).map(tuple),
    job_counters=st.none() | st.builds(JobCounters),
    others=st.none() | st.lists(st.builds(Process), max_size=2).map(tuple),
)


@given(SAMPLES)
def test_what_is_written_is_read_as_an_equal_sample(original: Sample) -> None:
    event = parse_event(encode(sample_event(original)))
    assert event is not None
    assert sample_from_json(event) == original


def test_every_field_of_a_sample_is_written() -> None:
    """A field added to Sample later must not be forgotten here."""
    process = Process(1, 2, 3, "R", 4, 5, 6.0, 7, 8, "x", 9, 10, "n")
    full = Sample(
        1.0, 2.0, Memory(1, 2, 3, 4, 5, 6, 7), (Limit("/a", 1, 2, 3, 4, 5, 6),), Pressure(1, 2, 3, 4),
        Paging(1, 2, 3, 4, 5),
        (process,), 9, (Gpu(0, "g", 0.1, 1, 2, 3.0, 4.0, 5.0, 6, True),), (process,), 11, JobCounters(1, 2, 3, 4, 5),
        Rest(1, 2, 3, 4), 12,
    )  # fmt: skip
    written = json.loads(encode(sample_event(full)))
    assert {field.name for field in fields(Sample)} <= written.keys()
    for name, kind in (("memory", Memory), ("pressure", Pressure), ("paging", Paging), ("job_counters", JobCounters)):
        assert written[name].keys() == {field.name for field in fields(kind)}
    lists: tuple[tuple[str, type], ...] = (("limits", Limit), ("job", Process), ("gpus", Gpu), ("others", Process))
    for name, listed in lists:
        assert written[name][0].keys() == {field.name for field in fields(listed)}


def test_unknown_is_left_out() -> None:
    assert sample_to_json(Sample(1.0, 2.0, None)) == {"clock_s": 2.0}


def test_no_card_is_not_the_same_as_an_unknown_card() -> None:
    assert sample_to_json(Sample(1.0, 2.0, None, gpus=()))["gpus"] == []


def test_keys_of_a_newer_memwatch_are_passed_over() -> None:
    event = sample_event(sample())
    event["moon"] = "full"
    event["memory"]["colour"] = 7  # type: ignore[index]
    assert sample_from_json(event) == sample()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"memory": 3}, id="a number for an object"),
        pytest.param({"memory": {"total_bytes": 1}}, id="half of an object"),
        pytest.param({"job": {}}, id="an object for a list"),
        pytest.param({"job": [1]}, id="a list of numbers"),
        pytest.param({"clock_s": "soon"}, id="a word for a number"),
        pytest.param({"clock_s": None}, id="nothing for a number"),
        pytest.param({"disk_free_bytes": 1.5}, id="half a byte"),
    ],
)
def test_what_is_no_sample_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        sample_from_json(sample_event(sample()) | change)
