"""No peak is lost, none is made up, and a gap stays a gap, however long the record."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from memwatch.report.columns import Columns

readings = st.lists(
    st.tuples(st.floats(0, 1e6), st.one_of(st.none(), st.floats(-1e9, 1e9))), min_size=1, max_size=300
).map(lambda pairs: sorted(pairs, key=lambda pair: pair[0]))


@given(readings, st.integers(2, 64))
def test_the_extremes_are_kept_exactly(pairs: list[tuple[float, float | None]], most: int) -> None:
    columns = Columns(most=most)
    for x, value in pairs:
        columns.add(x, {"a": value})
    known = [value for _, value in pairs if value is not None]
    points = [point for run in columns.runs("a") for point in run]
    assert len(points) <= most
    assert columns.knows("a") == bool(known)
    if known:
        assert max(point.high for point in points) == columns.highest("a") == max(known)
        assert min(point.low for point in points) == min(known)
    assert [point.x for point in points] == sorted(point.x for point in points)


def test_short_records_are_drawn_point_by_point() -> None:
    columns = Columns()
    for second in range(5):
        columns.add(float(second), {"a": float(second * second)})
    (run,) = columns.runs("a")
    assert [(point.x, point.low, point.high) for point in run] == [
        (float(n), float(n * n), float(n * n)) for n in range(5)
    ]


def test_a_line_is_broken_where_nobody_looked() -> None:
    columns = Columns()
    for second in (0, 1, 2):
        columns.add(second, {"a": 1.0})
    columns.break_all()
    for second in (100, 101):
        columns.add(second, {"a": 1.0})
    assert [[point.x for point in run] for run in columns.runs("a")] == [[0, 1, 2], [100, 101]]


def test_a_line_is_broken_where_its_value_was_unknown_and_others_are_not() -> None:
    columns = Columns()
    for second in range(6):
        columns.add(second, {"a": None if second == 3 else 1.0, "b": 1.0})
    assert [len(run) for run in columns.runs("a")] == [3, 2]
    assert [len(run) for run in columns.runs("b")] == [6]


def test_a_gap_survives_when_columns_become_wider() -> None:
    columns = Columns(most=16)
    for second in range(1000):
        if second == 400:
            columns.break_all()
        if not 300 <= second < 600:
            columns.add(second, {"a": 1.0})
    assert len(list(columns.runs("a"))) == 2


def test_a_span_is_a_step_and_not_a_slope() -> None:
    columns = Columns()
    columns.add_span(0, 10, {"a": 0.0})
    columns.add_span(10, 20, {"a": 1.0})
    (run,) = columns.runs("a")
    assert all(point.high == 0.0 for point in run if point.x < 9.9)
    assert all(point.low == 1.0 for point in run if point.x > 10.1)


def test_a_million_readings_take_no_more_space_than_a_thousand() -> None:
    columns = Columns()
    for second in range(5000):
        columns.add(second, {"a": 1.0})
    tracemalloc.start()
    for second in range(5000, 100_000):
        columns.add(second, {"a": float(second)})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
