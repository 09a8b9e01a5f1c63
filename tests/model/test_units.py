import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.model.units import (
    GIB,
    MIB,
    format_count,
    format_duration,
    format_number,
    format_range,
    format_size,
    parse_count,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512M", 512 * MIB),
        ("2GiB", 2 * GIB),
        ("1.5G", 3 * GIB // 2),
        ("4096", 4096),
        ("1 kB", 1024),
        ("0.5m", MIB // 2),
    ],
)
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "count"), [("500M", 500_000_000), ("1.5G", 1_500_000_000), ("10B", 10**10), ("100_000", 100_000)]
)
def test_counts_are_decimal(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "M", "12Q", "-1", "1e3", "0x10", "1..5", "5 %", "NaN"])
@pytest.mark.parametrize("parse", [parse_size, parse_count])
def test_nonsense_is_refused_with_an_example(parse: object, text: str) -> None:
    with pytest.raises(ValueError, match="write it as"):
        parse(text)  # type: ignore[operator]


@given(st.integers(0, 10**15))
def test_a_printed_size_is_near_the_size(size: int) -> None:
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.06)


@given(st.integers(0, 10**14))
def test_a_printed_count_is_near_the_count(count: int) -> None:
    assert parse_count(format_count(count)) == pytest.approx(count, rel=0.006)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.41, "0.4 s"), (9.97, "10 s"), (38.2, "38 s"), (372, "6 min 12 s"), (11100, "3 h 05 min")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_one_is_not_many() -> None:
    assert [format_number(count, "line") for count in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]


def test_a_range_whose_ends_look_the_same_is_one_number() -> None:
    assert format_range(2.0e9, 2.01e9, format_size) == "1.9 GiB"
    assert format_range(2.0e9, 3.3e9, format_size) == "1.9 GiB to 3.1 GiB"
