"""The scope's limit: never before the guard, never so late that nothing is left, never by surprise."""

from hypothesis import given
from hypothesis import strategies as st

from memwatch.decide.reserve import default_reserve_bytes
from memwatch.decide.thresholds import USUAL
from memwatch.guard.scope.limit import LEAST_BYTES, kept_bytes, memory_max_bytes, new_limit_bytes, swap_max_bytes
from memwatch.model.sample import Limit, Memory
from memwatch.model.units import GIB, MIB

TOTAL = st.integers(512 * MIB, 1024 * GIB)
SHARE = st.floats(0, 1)


@given(TOTAL, SHARE, SHARE)
def test_the_guard_acts_before_the_kernel_and_half_of_the_reserve_is_left(total: int, free: float, job: float) -> None:
    reserve = default_reserve_bytes(total)
    room = int(total * free)  # for the job and what is still available
    has = int(room * job)
    limit = memory_max_bytes(has, room - has, reserve, total)
    if room - reserve // 2 < LEAST_BYTES:
        return  # Too little for anything; the guard sees that, and the limit stands where ordinary programs start.
    left_at_limit = room - limit
    assert left_at_limit == reserve // 2
    assert left_at_limit - reserve <= -int(reserve * USUAL.lost_share)


@given(TOTAL, SHARE)
def test_it_is_never_above_what_there_is_and_never_too_small_to_work_with(total: int, free: float) -> None:
    reserve = default_reserve_bytes(total)
    limit = memory_max_bytes(0, int(total * free), reserve, total)
    assert limit <= total - reserve // 2
    assert limit >= min(LEAST_BYTES, total - reserve // 2) > 0


def test_the_growth_of_the_job_alone_does_not_move_it() -> None:
    limits = {memory_max_bytes(job, 10 * GIB - job, 2 * GIB, 16 * GIB) for job in range(0, 9 * GIB, GIB // 3)}
    assert limits == {9 * GIB}


def test_the_reserve_is_not_kept_twice() -> None:
    reserve, available, job = 2 * GIB, 5 * GIB, 4 * GIB
    limit = memory_max_bytes(job, available, reserve, 16 * GIB)
    own = Limit("/a/memwatch-1.scope", limit, job, kept_bytes=kept_bytes(reserve))
    # The machine's own memory stays the tighter room, also while the limit lags a little behind.
    assert available <= own.available_bytes <= available + reserve // 4
    assert Limit("/a", limit, job).available_bytes < available


def test_a_limit_that_does_not_follow_is_seen_by_the_guard_in_time() -> None:
    reserve, limit = 2 * GIB, 4 * GIB
    used = limit - reserve // 4
    own = Limit("/a/memwatch-1.scope", limit, used, kept_bytes=kept_bytes(reserve))
    assert own.available_bytes < reserve


class TestMoving:
    RESERVE = 1024 * MIB

    def _new(self, in_force: int, wanted: int, charged: int = 0, is_short: bool = False) -> int | None:
        return new_limit_bytes(in_force, wanted, charged, self.RESERVE, is_short)

    def test_small_differences_are_left_alone(self) -> None:
        assert self._new(8 * GIB, 8 * GIB) is None
        assert self._new(8 * GIB, 8 * GIB + 63 * MIB) is None
        assert self._new(8 * GIB, 8 * GIB - 255 * MIB) is None

    def test_without_a_reserve_it_is_not_changed_for_nothing_either(self) -> None:
        assert new_limit_bytes(8 * GIB, 8 * GIB + MIB, 0, 0, False) is None
        assert new_limit_bytes(8 * GIB, 8 * GIB - MIB, 0, 0, False) is None

    def test_it_is_raised_soon_and_lowered_late(self) -> None:
        assert self._new(8 * GIB, 8 * GIB + 64 * MIB) == 8 * GIB + 64 * MIB
        assert self._new(8 * GIB, 8 * GIB - 256 * MIB) == 8 * GIB - 256 * MIB

    def test_it_is_raised_but_never_lowered_while_memory_is_short(self) -> None:
        assert self._new(8 * GIB, 4 * GIB, is_short=True) is None
        assert self._new(8 * GIB, 9 * GIB, is_short=True) == 9 * GIB

    def test_it_is_never_lowered_into_what_the_job_holds(self) -> None:
        assert self._new(8 * GIB, 4 * GIB, charged=6 * GIB) == 6 * GIB + 256 * MIB
        assert self._new(8 * GIB, 4 * GIB, charged=8 * GIB) is None


def test_half_of_the_free_swap_is_for_the_others() -> None:
    assert swap_max_bytes(Memory(GIB, GIB, swap_total_bytes=9 * GIB, swap_free_bytes=8 * GIB)) == 4 * GIB
    assert swap_max_bytes(Memory(GIB, GIB, swap_total_bytes=9 * GIB, swap_free_bytes=0)) == 0
    assert swap_max_bytes(Memory(GIB, GIB, swap_total_bytes=0, swap_free_bytes=0)) is None
