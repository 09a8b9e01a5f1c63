"""The forecast for a script's input."""

from pathlib import Path

import pytest

from memwatch.diagnose.collect.input_forecast import forecast_of, measured
from memwatch.errors import MemwatchError
from memwatch.model.units import GIB

ESTIMATE = {
    "schema": 1,
    "tokens": {"estimate": 10.7e9, "low": 10.4e9, "high": 11.0e9},
    "memory": {"total": 64 * GIB, "available": 41 * GIB},
    "list_script": {"bytes_per_token": 32.4, "swaps_at_tokens": 1.2e9, "dies_at_tokens": 1.5e9},
}


def test_what_estimate_measured_is_told() -> None:
    found = measured(ESTIMATE, 48 * GIB)
    assert found is not None
    assert found.sentences() == [
        "48.0 GiB",
        "10.4 G to 11.0 G tokens",
        "333.3 GiB to 352.5 GiB peak memory in a list",
        "that does not fit: 41.0 GiB of memory is available here",
        "memory is full at about 1.20 G tokens",
    ]


@pytest.mark.parametrize("answer", [{}, {"tokens": None}, {"tokens": {"low": "x"}, "list_script": []}])
def test_what_it_does_not_tell_is_not_made_up(answer: dict[str, object]) -> None:
    assert measured(answer, 5) is None


def test_an_input_that_cannot_be_measured_is_judged_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "-odd name.bin"
    path.write_bytes(b"")
    found = forecast_of(str(path))
    assert (found.size_bytes, found.is_measured) == (0, False)


def test_an_input_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(MemwatchError, match="cannot read"):
        forecast_of(str(tmp_path / "gone"))
