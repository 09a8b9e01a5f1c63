from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.tokenize.split import LARGEST_UNIT_BYTES, SMALLEST_UNIT_BYTES, Splitter


def _val_ranges(ratio: str, total: int, delays: list[int]) -> list[tuple[int, int]]:
    """Split a text in which each change of sides is late by some bytes, as words and documents make it."""
    splitter = Splitter(Fraction(ratio))
    ranges, start, changes = [], 0, 0
    while splitter.change_at is not None and (at := splitter.change_at + delays[changes % len(delays)]) < total:
        if splitter.in_val:
            ranges.append((start, at))
        splitter.change_sides(at)
        start, changes = at, changes + 1
    return ranges


@given(
    ratio=st.sampled_from(["0.0005", "0.001", "0.01", "0.1", "1/3"]),
    megabytes=st.integers(100, 5000),
    delays=st.lists(st.integers(0, 300), min_size=1, max_size=7),
)
def test_the_share_is_within_a_tenth_of_the_ratio(ratio: str, megabytes: int, delays: list[int]) -> None:
    total = megabytes * 1_000_000
    val = sum(end - start for start, end in _val_ranges(ratio, total, delays))
    assert val / total == pytest.approx(float(Fraction(ratio)), rel=0.1)


def test_validation_is_spread_over_the_whole_input() -> None:
    total = 1_000_000_000
    ranges = _val_ranges("0.001", total, [17])
    tenths = {10 * start // total for start, _ in ranges}
    assert tenths == set(range(10))
    assert ranges[0][0] > 0


def test_units_grow_with_the_input_and_stay_small() -> None:
    sizes = [end - start for start, end in _val_ranges("0.0005", 400_000_000_000, [0])]
    assert sizes[0] == SMALLEST_UNIT_BYTES
    assert sizes[-1] == LARGEST_UNIT_BYTES
    assert sizes == sorted(sizes)


def test_a_ratio_of_zero_splits_nothing() -> None:
    assert Splitter(Fraction(0)).change_at is None


@given(stop_after=st.integers(0, 40))
def test_a_resumed_split_goes_on_as_if_it_had_never_stopped(stop_after: int) -> None:
    def changes(splitter: Splitter, count: int) -> list[int]:
        found = []
        for _ in range(count):
            assert splitter.change_at is not None
            found.append(splitter.change_at)
            splitter.change_sides(splitter.change_at)
        return found

    whole = changes(Splitter(Fraction("0.01")), 60)
    first = Splitter(Fraction("0.01"))
    before = changes(first, stop_after)
    resumed = Splitter(Fraction("0.01"), first.val_bytes, first.unit_start)
    assert before + changes(resumed, 60 - stop_after) == whole
