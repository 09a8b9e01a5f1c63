"""Estimates from pieces: exact where everything was read, and honest about the rest."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.estimate.input_sampler import spread_out
from memwatch.estimate.statistics import Cell, like_the_others, quantile, token_ranges, with_unseen
from memwatch.model.ranges import Range, added


def cells_of(densities: list[float], length: int = 1_000_000, read: int = 1000) -> list[Cell]:
    return [Cell(length, read, round(density * read)) for density in densities]


def token_range(cells: list[Cell]) -> Range:
    return token_ranges([cells])[0]


def test_what_was_read_to_the_last_byte_is_exact() -> None:
    found = token_range([Cell(500, 500, 100), Cell(300, 300, 150)])
    assert (found.low, found.estimate, found.high) == (250, 250, 250)
    assert found.is_exact


def test_pieces_that_are_all_alike_still_leave_room_for_what_was_not_seen() -> None:
    found = token_range(cells_of([0.25] * 100))
    assert found.estimate == 25_000_000
    assert not found.is_exact
    assert 0.005 < found.off_by / found.estimate < 0.05


def test_more_pieces_narrow_the_range() -> None:
    rng = random.Random(1)
    few = token_range(cells_of([rng.uniform(0.2, 0.4) for _ in range(50)]))
    many = token_range(cells_of([rng.uniform(0.2, 0.4) for _ in range(500)], length=100_000))
    assert many.off_by < few.off_by / 2


def test_a_text_that_changes_its_character_once_has_a_wide_range_only_for_the_border() -> None:
    found = token_range(cells_of([0.2] * 50 + [0.5] * 50))
    scattered = token_range(cells_of([0.2, 0.5] * 50))
    assert found.estimate == scattered.estimate
    assert found.off_by < scattered.off_by


def test_a_file_of_one_piece_borrows_its_spread_from_the_files_around_it() -> None:
    ranges = token_ranges([cells_of([0.2]), cells_of([0.4]), cells_of([0.2]), []])
    assert all(not each.is_exact for each in ranges[:3])
    assert all(each.off_by > 0.1 * each.estimate for each in ranges[:3])
    assert ranges[3] == Range.exactly(0)


@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=40))
def test_the_estimate_lies_in_its_range(densities: list[float]) -> None:
    cells = cells_of(densities)
    found = token_range(cells)
    assert found.low <= found.estimate <= found.high
    assert found.estimate == pytest.approx(sum(1000 * cell.tokens for cell in cells))


@pytest.mark.parametrize(("degrees", "exact"), [(2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (1e9, 1.960)])
def test_the_quantile_is_students(degrees: float, exact: float) -> None:
    assert quantile(degrees) == pytest.approx(exact, rel=0.035)


def test_what_was_not_seen_widens_the_range_as_far_as_it_is_large() -> None:
    seen = Range.around(1000, 10)
    alike = cells_of([0.25] * 20)
    half, little = (with_unseen(seen, share, alike) for share in (0.5, 0.01))
    assert half.estimate == 2000
    assert half.off_by / half.estimate > 0.1
    assert little.off_by / little.estimate > half.off_by / half.estimate
    assert with_unseen(seen, 0.5, cells_of([0.1, 0.9] * 2)).off_by > half.off_by
    assert with_unseen(seen, 1.0, alike) == seen


def test_inputs_that_were_not_read_share_the_error_of_the_mean() -> None:
    seen = cells_of([0.2, 0.3, 0.25, 0.35] * 4)
    one, one_of_many = like_the_others(seen, 1), like_the_others(seen, 100)
    assert one_of_many.off_by > 2 * one.off_by
    assert one.estimate == one_of_many.estimate == 0.275


def test_independent_errors_do_not_simply_add_up() -> None:
    total = added([Range.around(100, 3), Range.around(100, 4), Range.exactly(5)])
    assert total == Range(205, 200, 210)


@given(st.integers(0, 600), st.integers(0, 9))
def test_every_beginning_of_the_order_is_spread_over_all_places(count: int, seed: int) -> None:
    order = spread_out(count, random.Random(seed))
    assert sorted(order) == list(range(count))
    for some in (8, 32, 100):
        if count >= 2 * some:
            chosen = sorted(order[:some])
            gaps = [b - a for a, b in zip(chosen, [*chosen[1:], chosen[0] + count], strict=True)]
            assert max(gaps) <= 4 * count / some


def test_every_place_is_first_with_the_same_chance() -> None:
    firsts = [spread_out(10, random.Random(seed))[0] for seed in range(2000)]
    assert all(100 < firsts.count(i) < 320 for i in range(10))
