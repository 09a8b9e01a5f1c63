"""What a process alone accounts for, between two exact readings."""

from memwatch.model.units import MIB
from memwatch.probe.own_memory import OwnMemory, ShareReading


def own(memory: OwnMemory, held_mib: int, shmem_mib: int = 0, is_alone: bool = False) -> float:
    memory.hold(held_mib * MIB, shmem_mib * MIB, is_alone)
    return memory.split(0)[0] / MIB


def test_a_process_that_forked_from_nobody_owns_what_it_holds() -> None:
    assert own(OwnMemory(is_forked=False), 100) == 100


def test_a_forked_process_owns_what_it_grows_by() -> None:
    memory = OwnMemory(is_forked=True)
    assert [own(memory, held) for held in (100, 130, 90, 120)] == [0, 30, 0, 30]


def test_a_forked_process_owns_at_first_sight_what_its_parent_does_not_hold() -> None:
    memory = OwnMemory(is_forked=True, inherited_bytes=80 * MIB)
    assert [own(memory, held) for held in (100, 130, 60, 100)] == [20, 50, 0, 40]


def test_a_share_that_is_assumed_is_no_more_than_was_inherited() -> None:
    memory = OwnMemory(is_forked=True, inherited_bytes=8 * MIB)
    own(memory, 28)
    memory.assume(0.1)
    assert own(memory, 28) == 20


def test_the_last_of_a_family_owns_all_that_it_holds() -> None:
    memory = OwnMemory(is_forked=True)
    assert own(memory, 100) == 0
    assert own(memory, 100, is_alone=True) == 100


def test_a_reading_is_carried_on_by_growth() -> None:
    memory = OwnMemory(is_forked=True)
    own(memory, 100)
    memory.correct(ShareReading(100 * MIB, 40 * MIB, 5 * MIB))
    assert own(memory, 150, shmem_mib=20) == 95
    assert own(memory, 150, shmem_mib=0) == 90


def test_swap_is_part_of_what_is_held_and_moves_nothing() -> None:
    memory = OwnMemory(is_forked=False)
    memory.hold(100 * MIB, 0, is_alone=True)
    assert memory.split(25 * MIB) == (75 * MIB, 25 * MIB)


def test_who_was_not_read_is_assumed_to_own_as_little_as_its_relatives() -> None:
    memory = OwnMemory(is_forked=True)
    own(memory, 100)
    memory.assume(0.25)
    assert own(memory, 100) == 25
    assert own(memory, 110) == 35
