"""What each way takes, and what that means on a machine: calm where it fits, plain where it does not."""

import sys

import pytest

from memwatch.core.cells import Range
from memwatch.core.estimate import Budget, Disk, DiskFit, Verdict, conclude, known_text, output_size
from memwatch.core.sample import Limit, Memory, Sample
from memwatch.core.units import GIB, MIB
from memwatch.core.ways import Costs, Fit, ListScript, Room, fate, job_seconds, list_bytes_per_token, speed_range

DESKTOP = Room(total_bytes=63 * GIB, available_bytes=41 * GIB, swap_total_bytes=8 * GIB, swap_free_bytes=8 * GIB,
               limit_bytes=None)  # fmt: skip
SCRIPT = ListScript(30.0, 70 * MIB, 2, Range(2e6, 1.8e6, 2.2e6))
BUDGET = Budget(usual_bytes=532 * MIB, least_bytes=164 * MIB)
PLENTY = Disk("data", 500 * GIB)


def test_a_list_takes_a_pointer_a_token_and_an_object_but_for_small_numbers() -> None:
    assert list_bytes_per_token(1000, 1000) == 8
    own = list_bytes_per_token(1000, 0)
    # An int has 28 bytes; the allocator hands out 32.
    assert 8 + sys.getsizeof(50256) < own < 8 + 33


def test_a_small_text_frightens_nobody() -> None:
    found = fate(SCRIPT, 10e6, DESKTOP)
    assert (found.fit, found.swaps_at_tokens, found.dies_at_tokens) == (Fit.SAFE, None, None)


def test_a_large_text_first_swaps_and_then_dies() -> None:
    found = fate(SCRIPT, 10e9, DESKTOP)
    assert found.fit == Fit.SWAPS
    assert found.swaps_at_tokens == pytest.approx((41 * GIB - 70 * MIB) / 30)
    assert found.dies_at_tokens == pytest.approx((49 * GIB - 70 * MIB) / 30)


def test_a_text_that_swap_can_hold_freezes_and_lives() -> None:
    found = fate(SCRIPT, 1.45e9, DESKTOP)
    assert found.fit == Fit.SWAPS
    assert found.swaps_at_tokens is not None
    assert found.dies_at_tokens is None


def test_the_final_array_can_be_the_last_straw() -> None:
    tokens = (41 * GIB - 70 * MIB) / 31  # the list alone fits
    found = fate(SCRIPT, tokens, DESKTOP)
    assert found.swaps_at_tokens == tokens


def test_without_swap_it_dies_at_once() -> None:
    room = Room(24 * GIB, 20 * GIB, 0, 0, None)
    found = fate(SCRIPT, 10e9, room)
    assert (found.fit, found.swaps_at_tokens) == (Fit.DIES, None)
    assert found.dies_at_tokens == pytest.approx(20 * GIB / 30, rel=0.01)


def test_what_leaves_too_little_to_others_is_tight() -> None:
    assert DESKTOP.fit(40 * GIB) == Fit.TIGHT
    assert DESKTOP.fit(30 * GIB) == Fit.SAFE


def test_a_container_counts_more_than_the_machine() -> None:
    memory = Memory(64 * GIB, 60 * GIB, 0, 0)
    room = Room.of(Sample(0.0, 0.0, memory, limits=(Limit("/job", 2 * GIB, 1 * GIB),)))
    assert (room.limit_bytes, room.available_bytes, room.in_force_bytes) == (2 * GIB, 1 * GIB, 2 * GIB)
    assert room.fit(3 * GIB) == Fit.DIES


def test_what_the_question_itself_takes_is_given_back() -> None:
    sample = Sample(0.0, 0.0, Memory(64 * GIB, 60 * GIB, 0, 0))
    assert Room.of(sample, ours_bytes=GIB).available_bytes == 61 * GIB


def test_a_machine_that_does_not_tell_is_unknown() -> None:
    room = Room.of(Sample(0.0, 0.0, None))
    assert room.fit(1) == Fit.UNKNOWN
    assert fate(SCRIPT, 1e9, room).dies_at_tokens is None
    assert conclude(Range.exactly(1), PLENTY, BUDGET, room).verdict == Verdict.SAFE


def test_output_has_a_header_for_each_file() -> None:
    assert output_size(Range.exactly(250), 2, 0, None).estimate == 500
    assert output_size(Range.exactly(250), 2, 1024, 100).estimate == 500 + 4 * 1024


def test_a_disk_that_is_too_small_is_said_before_the_start() -> None:
    found = conclude(Range.around(20 * GIB, GIB), Disk("data", 10 * GIB), BUDGET, DESKTOP)
    assert found.verdict == Verdict.DISK
    assert "11.0 GiB of room in data" in found.reason


def test_what_a_partial_run_has_written_need_not_be_written_again() -> None:
    size = Range.around(20 * GIB, GIB)
    assert Disk("data", 10 * GIB).fit(size) == DiskFit.TOO_SMALL
    assert Disk("data", 10 * GIB, partial_bytes=12 * GIB).fit(size) == DiskFit.FITS
    assert Disk("data", int(20.5 * GIB)).fit(size) == DiskFit.TIGHT
    assert Disk("data", None).fit(size) == DiskFit.UNKNOWN


def test_where_memory_is_short_less_of_it_is_advised() -> None:
    room = Room(1 * GIB, 600 * MIB, 0, 0, None)
    found = conclude(Range.exactly(1), PLENTY, BUDGET, room)
    assert found.verdict == Verdict.SAFE
    assert found.max_memory_bytes is not None
    assert found.max_memory_bytes + room.reserve_bytes <= 600 * MIB


def test_what_only_just_fits_is_not_called_safe() -> None:
    room = Room(1 * GIB, 300 * MIB, 0, 0, None)
    found = conclude(Range.exactly(1), PLENTY, BUDGET, room)
    assert (found.verdict, found.max_memory_bytes) == (Verdict.TIGHT, 176 * MIB)
    disk = Disk("data", 20 * GIB)
    assert conclude(Range.around(20 * GIB, GIB), disk, BUDGET, DESKTOP).verdict == Verdict.TIGHT


def test_where_nothing_fits_that_is_said() -> None:
    found = conclude(Range.exactly(1), PLENTY, BUDGET, Room(1 * GIB, 100 * MIB, 0, 0, None))
    assert found.verdict == Verdict.MEMORY
    assert "64.0 MiB more memory" in found.reason


@pytest.mark.parametrize(
    ("size", "hint"), [(46e9, "10BT"), (48e9, "10BT"), (460e9, "100BT"), (30e9, None), (0, None), (1e12, None)]
)
def test_known_sizes_are_recognised(size: float, hint: str | None) -> None:
    found = known_text(size)
    assert (found is None) if hint is None else (found is not None and hint in found)


def test_time_follows_the_slowest_part() -> None:
    text = Range.exactly(1e9)
    quick_reader = Costs(Range.exactly(1e-8), handle_s=1e-9, start_s=0)
    assert job_seconds(text, quick_reader, workers=4, cores=8, others=0).estimate == pytest.approx(2.5)
    slow_reader = Costs(Range.exactly(1e-8), handle_s=5e-9, start_s=0)
    assert job_seconds(text, slow_reader, workers=4, cores=8, others=0).estimate == pytest.approx(5)
    few_cores = job_seconds(text, quick_reader, workers=2, cores=2, others=0)
    assert few_cores.estimate == pytest.approx(5.5)
    busy = job_seconds(text, quick_reader, workers=2, cores=2, others=4)
    assert busy.estimate == few_cores.estimate
    assert busy.high == pytest.approx(3 * few_cores.high)


def test_speed_is_that_of_the_warm_half() -> None:
    found = speed_range([(100, 10.0), (100, 10.0), (100, 1.0), (100, 1.0)])
    assert (found.estimate, found.low, found.high) == (100, 100, 100)
    wide = speed_range([(100, 1.0), (100, 1.0), (100, 0.5), (100, 1.5)])
    assert wide.low < 100 < wide.high
