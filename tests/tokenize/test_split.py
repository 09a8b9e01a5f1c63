"""The split: a function of position alone, with the right share, spread over the whole input."""

import random
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.tokenize.split import LARGEST_UNIT_BYTES, SMALLEST_UNIT_BYTES, SplitWalk, Units, val_rows


class Documents:
    """A text that is nothing but the ends of its documents."""

    reach_bytes = 0

    def __init__(self, ends: list[int]) -> None:
        self._ends = [0, *ends]

    def at_or_after(self, offset: int) -> int | None:
        return self._ends[min(bisect_left(self._ends, offset), len(self._ends) - 1)]

    def around(self, start: int, goal: int) -> tuple[int, int | None]:
        return max(self._ends[bisect_right(self._ends, goal) - 1], start), self.at_or_after(goal)


def _ends(total: int, mean_bytes: int, seed: int) -> list[int]:
    chance, ends, at = random.Random(seed), [], 0
    while at < total:
        at += int(chance.expovariate(1 / mean_bytes)) + 1
        ends.append(at)
    return ends


def _val_ranges(walk: SplitWalk, documents: Documents, total: int) -> list[tuple[int, int]]:
    ranges = []
    while (known := walk.known_to()) is not None and known < total:
        before = walk.val_end
        walk.find_next(documents)
        if walk.val_end != before:
            ranges.append((walk.val_start, walk.val_end))
    return ranges


@pytest.mark.parametrize("ratio", ["0.0005", "0.001", "0.01", "0.1", "1/3"])
@pytest.mark.parametrize("megabytes", [100, 137])
@pytest.mark.parametrize("document_bytes", [300, 3000])
def test_the_share_is_within_a_tenth_of_the_ratio(ratio: str, megabytes: int, document_bytes: int) -> None:
    total = megabytes * 1_000_000
    ends = _ends(total, document_bytes, seed=megabytes)
    val = _val_ranges(SplitWalk(Units(Fraction(ratio)), 0), Documents(ends), ends[-1])
    assert sum(end - start for start, end in val) / ends[-1] == pytest.approx(float(Fraction(ratio)), rel=0.1)
    assert all(a[1] <= b[0] for a, b in pairwise(val))


@given(ratio=st.sampled_from(["0.001", "0.02", "0.3"]), data=st.data())
def test_a_walk_that_starts_anywhere_finds_the_same_ranges(ratio: str, data: st.DataObject) -> None:
    units, before, total = Units(Fraction(ratio)), data.draw(st.integers(0, 10**9)), 30_000_000
    documents = Documents(_ends(total, 20_000, seed=5))
    whole = _val_ranges(SplitWalk(units, before), documents, total)
    offset = data.draw(st.integers(0, total))
    walk = SplitWalk.at(units, before, offset)
    found = _val_ranges(walk, documents, total)
    # It begins with its group, so it knows all that reaches beyond the offset.
    assert [each for each in found if each[1] > offset] == [each for each in whole if each[1] > offset]


def test_many_small_inputs_have_the_ratio_together() -> None:
    units, size, val = Units(Fraction("0.0005")), 50_000, 0
    inputs = 4000
    for i in range(inputs):
        ends = _ends(size, 200, seed=i)
        val += sum(end - start for start, end in _val_ranges(SplitWalk(units, i * size), Documents(ends), size))
    assert val / (inputs * size) == pytest.approx(0.0005, rel=0.1)


def test_documents_larger_than_a_group_of_units_have_the_ratio_too() -> None:
    total = 200_000_000_000
    ends = _ends(total, 12_000_000, seed=1)
    val = _val_ranges(SplitWalk(Units(Fraction("0.0005")), 0), Documents(ends), total)
    assert sum(end - start for start, end in val) / total == pytest.approx(0.0005, rel=0.5)


def test_validation_is_spread_over_the_whole_input() -> None:
    total = 1_000_000_000
    ranges = _val_ranges(SplitWalk(Units(Fraction("0.001")), 0), Documents(_ends(total, 5000, 1)), total)
    assert {10 * start // total for start, _ in ranges} == set(range(10))
    assert ranges[0][0] > 0


def test_units_grow_with_the_input_and_stay_small() -> None:
    units = Units(Fraction("0.0005"))
    sizes = [units.unit(number).length for number in range(1000)]
    assert sizes[0] == SMALLEST_UNIT_BYTES
    assert sizes[-1] == LARGEST_UNIT_BYTES
    assert sizes == sorted(sizes)
    starts = [units.unit(number).start for number in range(1000)]
    assert starts == sorted(starts)


@given(position=st.integers(0, 10**13), ratio=st.sampled_from(["0.0005", "0.1", "1/3"]))
def test_a_position_lies_in_its_group(position: int, ratio: str) -> None:
    units = Units(Fraction(ratio))
    first = units.first_of_group_at(position)
    assert first.begins_group
    assert position < first.group_end
    assert first.number == 0 or units.unit(first.number - 1).group_end <= position


@pytest.mark.parametrize("rows", [100, 1000, 100_000])
def test_rows_are_chosen_by_the_footer_alone(rows: int) -> None:
    units, groups, size = Units(Fraction("0.01")), 500, 3_000_000
    chosen = sum(last - first for i in range(groups) for first, last in val_rows(units, i * size, size, rows))
    assert chosen / (groups * rows) == pytest.approx(0.01, rel=0.1)
