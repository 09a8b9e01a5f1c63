"""Pages that are in swap and in RAM at once are counted once. The kernel leaves a page that it has written in RAM until
somebody needs the room, and a page that was read back keeps its place in swap until it is changed."""

from dataclasses import replace

import pytest

from memwatch.decide.forecast import Forecast, forecast
from memwatch.decide.history import History
from memwatch.model.sample import Limit, Memory, Paging, Sample
from memwatch.model.units import GIB, MIB

CAPACITY = 2 * GIB
RATE = 100 * MIB  # written or read in a second
PAGING = Paging(0, 0, 0)  # which is known


def on_host(used: int, swap: int, cached: int) -> Sample:
    memory = Memory(CAPACITY, CAPACITY - used, 2 * GIB, 2 * GIB - swap, swap_cached_bytes=cached)
    return Sample(0.0, 0.0, memory, paging=PAGING)


def in_limit(used: int, swap: int, cached: int) -> Sample:
    limit = Limit("/box", CAPACITY, used, swap, swap_cached_bytes=cached)
    return Sample(0.0, 0.0, Memory(64 * GIB, 32 * GIB, 0, 0), (limit,), paging=PAGING)


def outlook(room: object, used: int, swap_bytes_s: int, cached_bytes_s: int, used_bytes_s: int = 0) -> Forecast:
    """After three seconds in which nothing but what is said has changed."""
    history = History()
    for tick in range(31):
        sample = room(  # type: ignore[operator]
            used + used_bytes_s * tick // 10,
            700 * MIB + swap_bytes_s * tick // 10,
            300 * MIB + cached_bytes_s * tick // 10,
        )
        history.add(replace(sample, t=tick / 10, clock_s=tick / 10))
    return forecast(history, lambda capacity: capacity // 10)


ROOMS = pytest.mark.parametrize("room", [on_host, in_limit])


@ROOMS
def test_writing_pages_that_stay_in_ram_uses_nothing(room: object) -> None:
    assert outlook(room, GIB, swap_bytes_s=RATE, cached_bytes_s=RATE).seconds_left is None


@ROOMS
def test_dropping_pages_that_were_written_before_gives_nothing(room: object) -> None:
    """What is free afterwards is owed to whoever reads them back."""
    seen = outlook(room, GIB, swap_bytes_s=0, cached_bytes_s=-RATE, used_bytes_s=-RATE)
    assert seen.seconds_left is None


@ROOMS
def test_reading_back_uses_nothing_whether_or_not_the_pages_keep_their_place(room: object) -> None:
    assert outlook(room, GIB, swap_bytes_s=0, cached_bytes_s=RATE, used_bytes_s=RATE).seconds_left is None
    assert outlook(room, GIB, swap_bytes_s=-RATE, cached_bytes_s=0, used_bytes_s=RATE).seconds_left is None


@ROOMS
def test_growth_that_is_swapped_out_is_still_growth(room: object) -> None:
    seen = outlook(room, GIB, swap_bytes_s=RATE, cached_bytes_s=0)
    assert seen.fill_bytes_s == pytest.approx(RATE, rel=0.01)
