"""Which rank a process has, and which segments it takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.cluster.ranks import Rank, next_segment, rank_of
from memwatch.errors import UsageError


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, Rank(3, 8), id="srun"),
        pytest.param({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "4"}, Rank(2, 4), id="array"),
        pytest.param(
            {"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "4"},
            Rank(1, 4),
            id="array that starts at 4",
        ),
        pytest.param(
            {"SLURM_ARRAY_TASK_ID": "20", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_STEP": "10"},
            Rank(2, 3),
            id="array with a step",
        ),
        pytest.param(
            {
                "SLURM_ARRAY_TASK_ID": "1",
                "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_PROCID": "2",
                "SLURM_NTASKS": "3",
            },
            Rank(5, 12),
            id="srun inside an array",
        ),
        pytest.param({"JOB_COMPLETION_INDEX": "3"}, None, id="Kubernetes without a world size"),
        pytest.param({"SLURM_PROCID": "x", "SLURM_NTASKS": ""}, Rank(0, 1), id="nonsense"),
    ],
)
def test_the_rank_comes_from_the_environment(environment: dict[str, str], rank: Rank | None) -> None:
    assert rank_of(None, None, environment) == rank


def test_the_command_line_comes_first() -> None:
    assert rank_of(1, 2, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}) == Rank(1, 2)
    assert rank_of(None, 6, {"JOB_COMPLETION_INDEX": "4"}) == Rank(4, 6)
    assert rank_of(None, 16, {"SLURM_PROCID": "3", "SLURM_NTASKS": "8"}) == Rank(3, 16)


@pytest.mark.parametrize(("number", "world_size"), [(2, 2), (-1, 2), (1, None), (None, 3), (0, 0)])
def test_a_rank_that_cannot_be_is_a_usage_error(number: int | None, world_size: int | None) -> None:
    with pytest.raises(UsageError):
        rank_of(number, world_size, {})


@given(st.integers(1, 20), st.integers(0, 60))
def test_stripes_cover_every_segment_once(world_size: int, segments: int) -> None:
    taken: list[int] = []
    for turn in range(segments):
        left = set(range(segments)).difference(taken)
        number = next_segment(Rank(turn % world_size, world_size), left, set())
        assert number is not None
        assert number % world_size == turn % world_size
        taken.append(number)
    assert sorted(taken) == list(range(segments))


def test_a_rank_takes_its_stripe_first_and_then_what_is_left() -> None:
    assert next_segment(Rank(1, 3), {0, 1, 2, 3, 4}, set()) == 1
    assert next_segment(Rank(1, 3), {0, 2, 3, 4}, set()) == 4
    assert next_segment(Rank(1, 3), {0, 2, 3}, set()) in {0, 2, 3}
    assert next_segment(Rank(1, 3), {0, 2, 3}, {0, 2}) == 3
    assert next_segment(Rank(1, 3), {0, 2}, {0, 2}) is None
    assert next_segment(Rank(1, 3), set(), set()) is None


def test_ranks_without_work_do_not_all_choose_the_same_segment() -> None:
    left = set(range(0, 80, 8))  # the stripe of rank 0, which is lost
    chosen = {next_segment(Rank(rank, 8), left, set()) for rank in range(1, 8)}
    assert len(chosen) > 3
