"""Ticks such as a person would draw them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memwatch.model.units import GIB, MIB
from memwatch.report.axes import TIME_TICKS, nice_step, size_ticks, time_ticks


@pytest.mark.parametrize(
    ("top", "labels"),
    [
        (int(62.6 * GIB), ["0", "20 GiB", "40 GiB", "62.6 GiB"]),
        (24 * GIB, ["0", "10 GiB", "20 GiB", "24 GiB"]),
        (16 * GIB, ["0", "5 GiB", "10 GiB", "16 GiB"]),
        (512 * MIB, ["0", "200 MiB", "400 MiB", "512 MiB"]),
    ],
)
def test_sizes_end_at_what_the_machine_has(top: int, labels: list[str]) -> None:
    assert [tick.label for tick in size_ticks(top)] == labels


def test_steps_are_one_two_or_five() -> None:
    assert [nice_step(value) for value in (0.3, 1, 1.1, 4, 7, 30, 0)] == [0.5, 1, 2, 5, 10, 50, 1]


def unix(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()  # type: ignore[arg-type,misc]


def test_times_are_round_and_few() -> None:
    begin = unix(2026, 11, 16, 14, 20, 7)
    assert [tick.label for tick in time_ticks(begin, begin + 720, UTC)][:3] == ["14:22", "14:24", "14:26"]
    assert [tick.label for tick in time_ticks(begin, begin + 26, UTC)][:2] == ["14:20:10", "14:20:15"]
    assert [tick.label for tick in time_ticks(begin, begin + 2, UTC)][:2] == ["14:20:07.0", "14:20:07.5"]
    for span_s in (0.1, 1, 59, 3601, 86400, 7 * 86400, 400 * 86400):
        ticks = time_ticks(begin, begin + span_s, UTC)
        assert len(ticks) <= TIME_TICKS + 1
        assert all(begin <= tick.value <= begin + span_s for tick in ticks)


def test_a_new_day_has_its_date() -> None:
    begin = unix(2026, 11, 16, 20)
    assert "Tue 17 Nov" in [tick.label for tick in time_ticks(begin, begin + 12 * 3600, UTC)]


def test_times_are_those_of_the_readers_clock() -> None:
    begin = unix(2026, 11, 16, 14, 20, 0)
    zone = ZoneInfo("Asia/Kolkata")
    assert time_ticks(begin, begin + 3600, zone)[0].label == "19:50"


def test_a_time_no_clock_shows_has_no_ticks() -> None:
    assert time_ticks(1e300, 1.1e300, UTC) == []
