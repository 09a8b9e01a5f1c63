"""What each way takes, and what that means on a machine: calm where it fits, plain where it does not."""

import sys

import pytest

from memwatch.estimate.counter import warm_speed
from memwatch.estimate.needs import (
    Conclusion,
    Fit,
    JobMemory,
    JobSpeed,
    OutputDisk,
    conclude,
    output_size,
)
from memwatch.model import python_list
from memwatch.model.python_list import ListScript
from memwatch.model.ranges import Range
from memwatch.model.sample import Limit, Memory, Sample
from memwatch.model.units import GIB, MIB

DESKTOP = JobMemory(total_bytes=63 * GIB, available_bytes=41 * GIB, swap_total_bytes=8 * GIB, swap_free_bytes=8 * GIB,
                    limit_bytes=None)  # fmt: skip
SCRIPT = ListScript(30.0, 2, 2e6)
PLENTY = OutputDisk("data", 500 * GIB)


def concluded(output_bytes: Range, disk: OutputDisk, memory: JobMemory) -> Conclusion:
    return conclude(output_bytes, disk, 532 * MIB, 164 * MIB, memory)


def fate(tokens: float, memory: JobMemory) -> tuple[Fit, float | None, float | None]:
    """What becomes of the list script: whether it fits, where it swaps, where it is killed."""
    fit = memory.fit(SCRIPT.peak_bytes(tokens))
    return fit, *memory.list_ends(SCRIPT, tokens)


def test_a_list_takes_a_pointer_a_token_and_an_object_but_for_small_numbers() -> None:
    assert python_list.bytes_per_token(shared_fraction=1) == 8
    own = python_list.bytes_per_token(shared_fraction=0)
    # An int has 28 bytes; the allocator hands out 32.
    assert 8 + sys.getsizeof(50256) < own < 8 + 33


def test_a_small_text_fits() -> None:
    assert fate(10e6, DESKTOP) == (Fit.SAFE, None, None)


def test_a_large_text_first_swaps_and_then_dies() -> None:
    fit, swaps_at, dies_at = fate(10e9, DESKTOP)
    assert fit == Fit.SWAPS
    assert swaps_at == pytest.approx((41 * GIB - 70 * MIB) / 30)
    assert dies_at == pytest.approx((49 * GIB - 70 * MIB) / 30)


def test_a_text_that_swap_can_hold_freezes_and_lives() -> None:
    fit, swaps_at, dies_at = fate(1.45e9, DESKTOP)
    assert fit == Fit.SWAPS
    assert swaps_at is not None
    assert dies_at is None


def test_the_final_array_can_be_too_much() -> None:
    tokens = (41 * GIB - 70 * MIB) / 31  # the list alone fits
    assert fate(tokens, DESKTOP)[1] == tokens


def test_without_swap_it_dies_at_once() -> None:
    fit, swaps_at, dies_at = fate(10e9, JobMemory(24 * GIB, 20 * GIB, 0, 0, None))
    assert (fit, swaps_at) == (Fit.DIES, None)
    assert dies_at == pytest.approx(20 * GIB / 30, rel=0.01)


def test_what_leaves_too_little_to_others_is_tight() -> None:
    assert DESKTOP.fit(40 * GIB) == Fit.TIGHT
    assert DESKTOP.fit(30 * GIB) == Fit.SAFE


def test_a_container_counts_more_than_the_machine() -> None:
    host = Memory(64 * GIB, 60 * GIB, 0, 0)
    memory = JobMemory.of(Sample(0.0, 0.0, host, limits=(Limit("/job", 2 * GIB, 1 * GIB),)))
    assert (memory.limit_bytes, memory.available_bytes) == (2 * GIB, 1 * GIB)
    assert memory.fit(3 * GIB) == Fit.DIES


def test_what_the_question_itself_takes_is_given_back() -> None:
    sample = Sample(0.0, 0.0, Memory(64 * GIB, 60 * GIB, 0, 0))
    assert JobMemory.of(sample, own_bytes=GIB).available_bytes == 61 * GIB


def test_a_machine_that_does_not_tell_is_unknown() -> None:
    memory = JobMemory.of(Sample(0.0, 0.0, None))
    assert memory.fit(1) == Fit.UNKNOWN
    assert fate(1e9, memory)[1:] == (None, None)
    assert concluded(Range.exactly(1), PLENTY, memory).verdict == "safe"


def test_output_has_a_header_for_each_file() -> None:
    assert output_size(250, 2, 0, None) == 500
    assert output_size(250, 2, 1024, 100) == 500 + 4 * 1024


def test_a_disk_that_is_too_small_is_said_before_the_start() -> None:
    found = concluded(Range.around(20 * GIB, GIB), OutputDisk("data", 10 * GIB), DESKTOP)
    assert found.verdict == "disk too small"
    assert found.remedy == "free 11.0 GiB in data, or choose another folder with --out"


def test_what_a_partial_run_has_written_need_not_be_written_again() -> None:
    size = Range.around(20 * GIB, GIB)
    assert OutputDisk("data", 10 * GIB).fit(size) == Fit.TOO_LARGE
    assert OutputDisk("data", 10 * GIB, partial_bytes=12 * GIB).fit(size) == Fit.SAFE
    assert OutputDisk("data", int(20.5 * GIB)).fit(size) == Fit.TIGHT
    assert OutputDisk("data", None).fit(size) == Fit.UNKNOWN


def test_where_memory_is_short_less_of_it_is_advised() -> None:
    memory = JobMemory(1 * GIB, 600 * MIB, 0, 0, None)
    found = concluded(Range.exactly(1), PLENTY, memory)
    assert found.verdict == "safe"
    assert found.max_memory_bytes is not None
    assert found.max_memory_bytes + memory.reserve_bytes <= 600 * MIB


def test_what_only_just_fits_is_not_called_safe() -> None:
    memory = JobMemory(1 * GIB, 300 * MIB, 0, 0, None)
    found = concluded(Range.exactly(1), PLENTY, memory)
    assert (found.verdict, found.max_memory_bytes) == ("tight", 176 * MIB)
    disk = OutputDisk("data", 20 * GIB)
    assert concluded(Range.around(20 * GIB, GIB), disk, DESKTOP).verdict == "tight"


def test_where_nothing_fits_that_is_said() -> None:
    found = concluded(Range.exactly(1), PLENTY, JobMemory(1 * GIB, 100 * MIB, 0, 0, None))
    assert found.verdict == "memory too small"
    assert "64.0 MiB more memory" in found.remedy


def speed(handle_s: float, workers: int, cores: int, busy_others: float = 0) -> JobSpeed:
    return JobSpeed(1e-8, handle_s, start_s=0, workers=workers, cores=cores, busy_others=busy_others)


def test_time_follows_the_slowest_part() -> None:
    text = Range.exactly(1e9)
    assert speed(1e-9, workers=4, cores=8).seconds(text).estimate == pytest.approx(2.5)
    assert speed(5e-9, workers=4, cores=8).seconds(text).estimate == pytest.approx(5)
    few_cores = speed(1e-9, workers=2, cores=2).seconds(text)
    assert few_cores.estimate == pytest.approx(5.5)
    assert few_cores.low < few_cores.estimate < few_cores.high
    busy = speed(1e-9, workers=2, cores=2, busy_others=4).seconds(text)
    assert busy.estimate == few_cores.estimate
    assert busy.high == pytest.approx(3 * few_cores.high)


def test_speed_is_that_of_the_warm_half() -> None:
    assert warm_speed([(100, 10.0), (100, 10.0), (100, 1.0), (100, 1.0)]) == 100
