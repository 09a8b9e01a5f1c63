"""What a paged-out job will need again when it runs on: its pages that left RAM, and no others. Nothing real here."""

from dataclasses import replace

import pytest

from memwatch.decide.reserve import reserve_for
from memwatch.guard.decisions import Decisions
from memwatch.guard.order import GuardConfig
from memwatch.guard.page_out import PageOut
from memwatch.guard.scope.reclaim import Reclaimer
from memwatch.model.sample import Limit, Memory, Paging, Process, Sample
from memwatch.model.units import GIB, MIB

BEFORE_IN_SWAP = 200 * MIB  # other programs' pages, and 10 MiB of the job


def sample(resident: int, swap: int, cached: int, clock_s: float = 0.0) -> Sample:
    """A job of 1 GiB on a machine of 8 and in a container of 2, with so many bytes in swap and in both."""
    taken, used = BEFORE_IN_SWAP + swap, resident + cached
    return Sample(
        clock_s,
        clock_s,
        Memory(8 * GIB, 4 * GIB - used, 4 * GIB, 4 * GIB - taken, swap_cached_bytes=cached),
        (
            Limit("/box", 2 * GIB, used, taken, swap_cached_bytes=cached),
            Limit("/box (with swap)", 3 * GIB, used + taken - cached, 0),
        ),
        paging=Paging(0, 0, 0),
        job=(Process(7, 7, 1, "t", resident, 10 * MIB + swap, 1.0, None, None, "job"),),
    )


def paused() -> PageOut:
    made = PageOut(Reclaimer(None, in_background=False), in_background=False)
    made._may_advise = False
    made.begin(sample(GIB, 0, 0), 0.0)
    return made


@pytest.mark.parametrize("cached_mib", [0, 200, 600])
def test_pages_that_are_still_in_ram_are_no_debt(cached_mib: int) -> None:
    page_out = paused()
    out = sample(GIB - 600 * MIB, 600 * MIB, cached_mib * MIB, clock_s=3.0)
    page_out.follow(out, is_wanted=True)
    owed = (600 - cached_mib) * MIB
    assert page_out.debts(out) == {"/box": owed, "/box (with swap)": 0, "": owed}


def test_pages_that_are_back_are_no_debt_though_they_keep_their_place_in_swap() -> None:
    page_out = paused()
    page_out.follow(sample(GIB - 600 * MIB, 600 * MIB, 0, clock_s=3.0), is_wanted=True)
    page_out.end()
    back = sample(GIB, 600 * MIB, 600 * MIB, clock_s=4.0)
    mapped = replace(back, job=(replace(back.job[0], swap_bytes=10 * MIB),))
    assert set(page_out.debts(mapped).values()) == {0}


def test_what_other_programs_swap_meanwhile_is_not_the_jobs_debt() -> None:
    page_out = paused()
    out = sample(GIB - 600 * MIB, 600 * MIB, 0, clock_s=3.0)
    page_out.follow(out, is_wanted=True)
    assert out.memory is not None
    more = replace(out, memory=replace(out.memory, swap_free_bytes=out.memory.swap_free_bytes - GIB))
    assert page_out.debts(more)[""] == 600 * MIB


def test_in_a_limit_that_came_later_all_of_it_counts() -> None:
    page_out = paused()
    out = sample(GIB - 600 * MIB, 600 * MIB, 600 * MIB, clock_s=3.0)
    page_out.follow(out, is_wanted=True)
    moved = replace(out, limits=(Limit("/new", 2 * GIB, GIB, 600 * MIB, swap_cached_bytes=600 * MIB),))
    assert page_out.debts(moved)["/new"] == 600 * MIB


def test_the_tightest_room_is_the_one_with_least_left_after_what_the_job_will_need_again() -> None:
    """The room where the job was paged out looks wider than one that owes nothing."""
    boxes = (Limit("/box", 2 * GIB, GIB), Limit("/box (with swap)", 2 * GIB, 1100 * MIB))
    before = Sample(0.0, 0.0, Memory(16 * GIB, 8 * GIB, 0, 0))
    config = GuardConfig(reserve_bytes=100 * MIB)
    decisions = Decisions(config, reserve_for(config.reserve_bytes, config.reserve_fraction, before), before)
    later = Sample(1.0, 1.0, Memory(16 * GIB, 8 * GIB, 0, 0), limits=boxes)
    outlook, _ = decisions.observe(later, None, {"/box": 600 * MIB, "/box (with swap)": 0, "": 600 * MIB})
    assert outlook.room == "/box"
    assert outlook.headroom_bytes == (1024 - 100 - 600) * MIB
