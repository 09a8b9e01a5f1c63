import pytest

from memwatch.decide.reserve import Reserve, ReserveTooLarge, check_reserve, default_reserve_bytes
from memwatch.model.units import GIB, MIB


@pytest.mark.parametrize(
    ("total", "reserve"),
    [
        pytest.param(64 * GIB, 4 * GIB, id="at-most-4-GiB"),
        pytest.param(20 * GIB, 2 * GIB, id="a-tenth"),
        pytest.param(GIB, 256 * MIB, id="at-least-256-MiB"),
        pytest.param(400 * MIB, 100 * MIB, id="of-a-tiny-limit-a-quarter"),
    ],
)
def test_the_default_reserve_is_a_tenth_within_limits(total: int, reserve: int) -> None:
    assert default_reserve_bytes(total) == reserve
    check_reserve(reserve, total)


def test_a_reserve_larger_than_the_limit_is_refused_in_one_sentence() -> None:
    with pytest.raises(ReserveTooLarge) as refused:
        check_reserve(2 * GIB, GIB, "/user.slice/job")
    assert str(refused.value) == (
        "a reserve of 2.0 GiB leaves nothing to the job, because the memory limit of /user.slice/job is 1.0 GiB; "
        "choose a --reserve below that, for example 256.0 MiB"
    )


@pytest.mark.parametrize("capacity", [512 * MIB, 2 * GIB, 24 * GIB])
def test_the_default_reserve_is_of_the_room_that_counts(capacity: int) -> None:
    assert Reserve().of(capacity) == default_reserve_bytes(capacity)


def test_a_reserve_in_percent_is_of_the_room_that_counts() -> None:
    reserve = Reserve(asked_fraction=0.25)
    assert [reserve.of(capacity) for capacity in (GIB, 16 * GIB)] == [256 * MIB, 4 * GIB]


def test_a_reserve_that_was_asked_for_is_kept_in_every_room_it_was_checked_against() -> None:
    reserve = Reserve(3 * GIB, asked_from_bytes=4 * GIB)
    assert [reserve.of(capacity) for capacity in (4 * GIB, 64 * GIB)] == [3 * GIB, 3 * GIB]


def test_in_a_smaller_room_that_comes_later_it_leaves_the_job_three_quarters() -> None:
    reserve = Reserve(2 * GIB, asked_from_bytes=16 * GIB)
    assert [reserve.of(capacity) for capacity in (GIB, 4 * GIB, 12 * GIB)] == [256 * MIB, GIB, 2 * GIB]
