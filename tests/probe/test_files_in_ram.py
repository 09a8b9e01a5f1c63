"""Files in RAM that the job can have written, of what has come into its room."""

from memwatch.model.sample import Limit, Memory
from memwatch.model.units import MIB
from memwatch.probe.files_in_ram import FilesInRam
from memwatch.probe.members import JobTotals


def memory(shmem: int | None) -> Memory:
    return Memory(10_000, 5_000, 0, 0, shmem_bytes=shmem)


def limit(shmem: int | None) -> Limit:
    return Limit("/job", 1_000, 100, shmem_bytes=shmem)


def job(written: int | None, counted: int = 0, mapped: int = 0, faults: int = 0, held: int = 0) -> JobTotals:
    return JobTotals(None, written, mapped, counted, minor_faults=faults, held_bytes=held)


def test_growth_that_the_job_can_have_written_is_its_own() -> None:
    files = FilesInRam()
    assert files.estimate(memory(100), (), job(0, 0)) == 0
    assert files.estimate(memory(700), (), job(1000, 0)) == 600


def test_a_neighbours_files_are_not_blamed_on_a_job_that_writes_nothing() -> None:
    files = FilesInRam()
    files.estimate(memory(100), (), job(0))
    assert files.estimate(memory(5000), (), job(20, 0)) == 20


def test_what_processes_account_for_is_not_counted_twice() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (), job(0))
    assert files.estimate(memory(500), (), job(900, 300)) == 200
    assert files.estimate(memory(100), (), job(900, 300)) == 0


def test_the_nearest_room_counts() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (limit(0),), job(0))
    assert files.estimate(memory(500), (limit(50),), job(900, 0)) == 50


def test_a_room_that_was_not_there_at_first_says_nothing_of_growth() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (), job(0))
    assert files.estimate(memory(500), (limit(50),), job(900, 0)) == 500


def test_what_was_written_before_the_first_sample_counts() -> None:
    files = FilesInRam(host_before_bytes=100)
    assert files.estimate(memory(400), (limit(350),), job(300, 0)) == 300
    assert files.estimate(memory(400), (limit(0),), job(300, 0)) == 0


def test_growth_counts_from_the_first_sample_on_also_where_the_job_could_not_be_read_then() -> None:
    files = FilesInRam()
    assert files.estimate(memory(100), (), job(None, 0)) is None
    assert files.estimate(memory(700), (), job(1000, 0)) == 600


def test_where_nothing_can_be_read_nothing_is_known() -> None:
    assert FilesInRam().estimate(memory(None), (limit(None),), job(0)) is None
    assert FilesInRam().estimate(None, (), job(0)) is None


PAGES = 25_600  # of 100 MiB


def fill_by_turns(rounds: int, *, maps: bool = True, faults: int = PAGES, held: int = 0) -> int:
    """The room gets 100 MiB in every turn; what is estimated of a job that has 20 MiB of it mapped whenever it is read,
    and so many faults and bytes of its own in every turn."""
    files, estimate = FilesInRam(), None
    for turn in range(rounds + 1):
        mapped = 20 * MIB if maps and turn else 0
        seen = job(0, mapped, mapped, faults=turn * faults, held=turn * held)
        for shmem in (turn * 100 * MIB, turn * 100 * MIB + MIB):  # The room is read more often than the job.
            estimate = files.estimate(memory(shmem), (), seen)
    assert estimate is not None
    return estimate // MIB


def test_what_was_filled_through_mappings_that_are_gone_is_the_jobs() -> None:
    assert fill_by_turns(8) >= 770


def test_a_neighbours_files_are_not_blamed_on_a_job_that_only_faults() -> None:
    assert fill_by_turns(8, maps=False) == 0
    assert fill_by_turns(8, faults=0) == 0
    assert fill_by_turns(8, held=100 * MIB) == 0


def test_a_job_that_keeps_what_it_has_mapped_is_not_blamed_for_a_neighbours_files() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (), job(0))
    own = 500 * MIB
    assert files.estimate(memory(own), (), job(0, own, own, faults=5 * PAGES)) == 0
    assert files.estimate(memory(2 * own), (), job(0, own, own, faults=5 * PAGES)) == 0


def test_what_was_removed_is_nobodys() -> None:
    files = FilesInRam()
    files.estimate(memory(0), (), job(0))
    files.estimate(memory(100 * MIB), (), job(0, 0, 100 * MIB, faults=PAGES))
    assert files.estimate(memory(100 * MIB), (), job(0, faults=PAGES)) == 100 * MIB
    assert files.estimate(memory(0), (), job(0, faults=PAGES)) == 0
    assert files.estimate(memory(90 * MIB), (), job(0, faults=PAGES)) == 0
