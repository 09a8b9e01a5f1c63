"""Estimates from pieces: exact where everything was read, and honest about the rest."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.core.cells import (
    Cell,
    Range,
    added,
    expected_tokens,
    like_the_others,
    quantile,
    token_range,
    token_ranges,
    with_unseen,
)
from memwatch.core.halving import Span, evenly, one_of_each


def cells_of(densities: list[float], length: int = 1_000_000, read: int = 1000) -> list[Cell]:
    return [Cell(i * length, (i + 1) * length, read, round(d * read)) for i, d in enumerate(densities)]


def test_what_was_read_to_the_last_byte_is_exact() -> None:
    found = token_range([Cell(0, 500, 500, 100), Cell(500, 800, 300, 150)])
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
    cells = cells_of([0.2, 0.4, 0.2])
    ranges = token_ranges(cells, [[0], [1], [2], []])
    assert all(not each.is_exact for each in ranges[:3])
    assert ranges[3].estimate == 0


@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=40))
def test_the_estimate_lies_in_its_range(densities: list[float]) -> None:
    cells = cells_of(densities)
    found = token_range(cells)
    assert found.low <= found.estimate <= found.high
    assert found.estimate == pytest.approx(expected_tokens(cells))


@pytest.mark.parametrize(("degrees", "exact"), [(2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (1e9, 1.960)])
def test_the_quantile_is_students(degrees: float, exact: float) -> None:
    assert quantile(degrees) == pytest.approx(exact, rel=0.035)


def test_what_was_not_seen_widens_the_range_as_far_as_it_is_large() -> None:
    seen = Range.around(1000, 10)
    half = with_unseen(seen, 0.5, spread=0.01)
    little = with_unseen(seen, 0.01, spread=0.01)
    assert half.estimate == 2000
    assert half.off_by / half.estimate > 0.1
    assert little.off_by / little.estimate > half.off_by / half.estimate
    assert with_unseen(seen, 1.0, spread=0.5) == seen


def test_what_was_not_looked_at_shares_the_error_of_the_mean() -> None:
    seen = [0.2, 0.3, 0.25, 0.35] * 4
    one = like_the_others(0.275, seen, 1)
    one_of_many = like_the_others(0.275, seen, 100)
    assert one_of_many.off_by > 2 * one.off_by
    assert one.estimate == one_of_many.estimate == 0.275


def test_independent_errors_do_not_simply_add_up() -> None:
    total = added([Range.around(100, 3), Range.around(100, 4), Range.exactly(5)])
    assert total == Range(205, 200, 210)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(1, 64), st.integers(0, 9))
def test_halving_covers_every_place_once_and_keeps_what_was_looked_at(sizes: list[int], count: int, seed: int) -> None:
    rng = random.Random(seed)
    bounds = [0]
    for size in sizes:
        bounds.append(bounds[-1] + size)
    stretches = list(itertools.pairwise(bounds))
    spans = one_of_each(stretches, count, rng)
    assert {stretch for stretch in stretches for span in spans if stretch[0] <= span.first and span.end <= stretch[1]}
    while True:
        assert [span.first for span in spans] == [0, *(span.end for span in spans[:-1])]
        assert spans[-1].end == bounds[-1]
        assert all(span.first <= span.chosen < span.end for span in spans)
        if all(span.end - span.first == 1 for span in spans):
            break
        chosen = {span.chosen for span in spans}
        spans = [half for span in spans for half in (span.halves(rng) if span.end - span.first > 1 else (span,))]
        assert chosen <= {span.chosen for span in spans}


def test_evenly_loses_nothing() -> None:
    assert list(evenly(3, 13, 3)) == [(3, 6), (6, 9), (9, 13)]
    assert Span(0, 1, 0).end == 1
