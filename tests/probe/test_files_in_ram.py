"""Files in RAM that the job can have written, of what has come into its room."""

from memwatch.model.sample import Limit, Memory
from memwatch.probe.files_in_ram import FilesInRam


def memory(shmem: int | None) -> Memory:
    return Memory(10_000, 5_000, 0, 0, shmem_bytes=shmem)


def limit(shmem: int | None) -> Limit:
    return Limit("/job", 1_000, 100, shmem_bytes=shmem)


def test_growth_that_the_job_can_have_written_is_its_own() -> None:
    files = FilesInRam()
    assert files.estimate(memory(100), (), touched_bytes=0, counted_bytes=0) == 0
    assert files.estimate(memory(700), (), touched_bytes=1000, counted_bytes=0) == 600


def test_a_neighbours_files_are_not_blamed_on_a_job_that_writes_nothing() -> None:
    files = FilesInRam()
    files.estimate(memory(100), (), 0, 0)
    assert files.estimate(memory(5000), (), touched_bytes=20, counted_bytes=0) == 20


def test_what_processes_account_for_is_not_counted_twice() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (), 0, 0)
    assert files.estimate(memory(500), (), touched_bytes=900, counted_bytes=300) == 200
    assert files.estimate(memory(100), (), touched_bytes=900, counted_bytes=300) == 0


def test_the_nearest_room_counts() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (limit(0),), 0, 0)
    assert files.estimate(memory(500), (limit(50),), touched_bytes=900, counted_bytes=0) == 50


def test_a_room_that_was_not_there_at_first_says_nothing_of_growth() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (), 0, 0)
    assert files.estimate(memory(500), (limit(50),), touched_bytes=900, counted_bytes=0) == 500


def test_what_was_written_before_the_first_sample_counts() -> None:
    files = FilesInRam(host_before_bytes=100)
    assert files.estimate(memory(400), (limit(350),), touched_bytes=300, counted_bytes=0) == 300
    assert files.estimate(memory(400), (limit(0),), touched_bytes=300, counted_bytes=0) == 0


def test_growth_counts_from_the_first_sample_on_also_where_the_job_could_not_be_read_then() -> None:
    files = FilesInRam()
    assert files.estimate(memory(100), (), touched_bytes=None, counted_bytes=0) is None
    assert files.estimate(memory(700), (), touched_bytes=1000, counted_bytes=0) == 600


def test_where_nothing_can_be_read_nothing_is_known() -> None:
    assert FilesInRam().estimate(memory(None), (limit(None),), 0, 0) is None
    assert FilesInRam().estimate(None, (), 0, 0) is None
