"""What a record shows."""

import pytest

from memwatch.diagnose.timeline.build import MOST_KEPT, TimelineBuilder
from memwatch.diagnose.timeline.model import Strain, Timeline
from memwatch.model.sample import Limit
from memwatch.model.units import GIB, MIB
from tests.diagnose.timeline.records import START_T, Record, built, freeze, without_processes


def test_a_machine_that_is_well_shows_nothing() -> None:
    timeline = Record().run(3600).timeline()
    assert (timeline.stretches, timeline.gaps, timeline.sleeps, timeline.cuts) == ((), (), (), ())
    assert timeline.samples == 3600


def test_a_freeze_is_one_stretch_and_names_who_grew() -> None:
    (stretch,) = freeze().timeline().stretches
    assert stretch.strain == Strain.SWAP
    assert stretch.start_t == pytest.approx(START_T + 600, abs=3)
    assert stretch.end_t == pytest.approx(START_T + 880, abs=3)
    assert stretch.stalled_fraction == pytest.approx(0.7, abs=0.02)
    assert stretch.swapped_in_bytes / stretch.strained_s == pytest.approx(38 * MIB, rel=0.02)
    grower = stretch.growers[0]
    assert (grower.pid, grower.name) == (41031, "python prepare.py")
    assert grower.from_bytes == pytest.approx(2.7 * GIB, rel=0.02)
    assert grower.to_bytes == pytest.approx(56.7 * GIB, rel=0.02)


def test_command_lines_are_kept_only_when_asked_for() -> None:
    shown = TimelineBuilder("record", show_commands=True)
    for sample in freeze().samples:
        shown.add(sample)
    assert "SECRET" in shown.finish().stretches[0].growers[0].name
    assert "SECRET" not in repr(freeze().timeline())


def test_a_pause_of_seconds_does_not_make_two_stretches() -> None:
    record = Record().run(30).thrash(20).run(10).thrash(20).run(120).thrash(20).run(60)
    assert len(record.timeline().stretches) == 2


def test_a_moment_of_swapping_is_no_stretch() -> None:
    assert Record().run(30).thrash(2).run(60).timeline().stretches == ()


def test_swapping_out_alone_is_no_thrashing() -> None:
    record = Record().run(30).run(60, swap_out_bytes_s=100 * MIB, stalled=0.05).run(30)
    assert record.timeline().stretches == ()


def test_reading_big_files_is_no_churn() -> None:
    """Refaults without stalls: the page cache does what it is for."""
    assert Record().run(300, refaults_s=50_000).timeline().stretches == ()


def test_refaults_with_stalls_and_no_swap_are_churn() -> None:
    record = Record(swap_total_bytes=0, swap_free_bytes=0).run(30).run(60, stalled=0.5, refaults_s=9000).run(40)
    (stretch,) = record.timeline().stretches
    assert stretch.strain == Strain.CHURN
    assert stretch.swap_total_bytes == 0


def test_where_the_kernel_does_not_count_refaults_major_faults_do() -> None:
    record = Record(swap_total_bytes=0, knows_refaults=False).run(30).run(60, stalled=0.5, refaults_s=9000).run(40)
    assert record.timeline().stretches[0].strain == Strain.CHURN


def test_without_pressure_counters_swapping_both_ways_still_shows() -> None:
    (stretch,) = Record(knows_pressure=False).run(30).thrash(60).run(40).timeline().stretches
    assert stretch.strain == Strain.SWAP
    assert stretch.stalled_fraction is None


def test_ten_samples_a_second_show_the_same_as_one() -> None:
    fast, slow = (Record(interval_s=step_s).run(30).thrash(60).run(60).timeline() for step_s in (0.1, 1.0))
    assert len(fast.stretches) == len(slow.stretches) == 1
    assert fast.stretches[0].strained_s == pytest.approx(slow.stretches[0].strained_s, abs=4)


def test_a_limit_that_is_full_is_kept() -> None:
    record = Record(limits=(Limit("/jobs", 2 * GIB, 2 * GIB), Limit("/", 60 * GIB, 9 * GIB))).run(30).thrash(30)
    (stretch,) = record.timeline().stretches
    assert stretch.limit is not None
    assert stretch.limit.path == "/jobs"


class TestGaps:
    def test_a_recorder_that_did_not_get_to_run_leaves_a_gap(self) -> None:
        timeline = Record().run(60).run(90, interval_s=90, stalled=0.02, disk=0.9).run(60).timeline()
        (gap,) = timeline.gaps
        assert gap.end_t - gap.start_t == 90
        assert gap.disk_stalled_fraction == pytest.approx(0.9)
        assert timeline.sleeps == ()

    def test_a_gap_in_which_programs_waited_for_memory_belongs_to_the_stretch(self) -> None:
        record = Record().run(60)
        record.run(282, interval_s=282, stalled=0.7, swap_in_bytes_s=9 * MIB, swap_out_bytes_s=9 * MIB).run(60)
        (stretch,) = record.timeline().stretches
        assert stretch.longest_gap_s == 282
        assert stretch.end_t - stretch.start_t == 282

    def test_suspend_is_no_gap(self) -> None:
        record = Record().run(60)
        record.t += 8 * 3600  # The wall clock goes on; the monotonic one sleeps too.
        timeline = record.run(60).timeline()
        assert timeline.gaps == ()
        (sleep,) = timeline.sleeps
        assert sleep.end_t - sleep.start_t == pytest.approx(8 * 3600, abs=2)

    def test_a_clock_that_is_set_back_is_no_gap(self) -> None:
        record = Record().run(60)
        record.t -= 3600
        timeline = record.run(60).timeline()
        assert (timeline.gaps, timeline.sleeps, timeline.cuts) == ((), (), ())

    def test_slow_recorders_have_longer_intervals_and_no_gaps(self) -> None:
        assert Record(interval_s=5.0).run(600).run(15, interval_s=15).run(60).timeline().gaps == ()
        assert Record(interval_s=60.0).run(3600).timeline().gaps == ()

    def test_a_sample_that_stands_for_ten_makes_no_gap(self) -> None:
        builder = TimelineBuilder("run")
        for sample in Record().run(60).samples:
            builder.add(sample)
        for sample in Record(t=START_T + 60, clock_s=5060.0).run(300, interval_s=10.0).samples:
            builder.add(sample, stands_for=10)
        assert builder.finish().gaps == ()

    def test_busy_cores_are_known_over_a_gap(self) -> None:
        (gap,) = Record().run(60).run(90, interval_s=90, busy_cores=7.9).run(60).timeline().gaps
        assert gap.busy_cores == pytest.approx(7.9, rel=0.05)


class TestCuts:
    def test_a_reboot_in_the_middle_of_a_stretch_cuts_it_off(self) -> None:
        record = Record().run(60).thrash(30)
        record.t += 300
        record.clock_s = 20.0
        timeline = record.run(60).timeline()
        (stretch,) = timeline.stretches
        assert stretch.cut_off
        assert [cut.rebooted for cut in timeline.cuts] == [True]

    def test_an_end_that_was_said_is_no_cut_and_no_gap(self) -> None:
        builder = TimelineBuilder("record")
        for sample in Record().run(60).samples:
            builder.add(sample)
        builder.end()
        builder.restart()
        for sample in Record(t=START_T + 9000, clock_s=14000.0).run(60).samples:
            builder.add(sample)
        timeline = builder.finish()
        assert (timeline.cuts, timeline.gaps) == ((), ())

    def test_a_recorder_that_was_killed_and_started_again_cuts(self) -> None:
        builder = TimelineBuilder("record")
        for sample in Record().run(60).samples:
            builder.add(sample)
        builder.restart()
        for sample in Record(t=START_T + 9000, clock_s=14000.0).run(60).samples:
            builder.add(sample)
        timeline = builder.finish()
        assert [cut.rebooted for cut in timeline.cuts] == [False]
        assert timeline.gaps == ()

    def test_a_record_that_ends_long_ago_was_cut_off_by_what_the_clocks_say(self) -> None:
        def finished(booted_t: float) -> Timeline:
            builder = TimelineBuilder("record")
            for sample in Record().run(60).samples:
                builder.add(sample)
            return builder.finish(quiet_after_t=START_T + 5000, booted_t=booted_t)

        assert [cut.rebooted for cut in finished(START_T + 200).cuts] == [True]
        assert [cut.rebooted for cut in finished(START_T - 200).cuts] == [False]


def test_without_processes_nobody_is_named() -> None:
    (stretch,) = built(without_processes(freeze())).stretches
    assert stretch.growers == ()


def test_what_the_card_did_is_kept() -> None:
    (stretch,) = freeze().timeline().stretches
    assert stretch.gpus is not None
    assert stretch.gpus[0].mean_used_fraction == 0.0
    assert Record(gpus=None).run(10).timeline().gpus is None
    assert Record(gpus=()).run(10).timeline().gpus == ()


def test_a_wild_record_is_bounded() -> None:
    record = Record()
    for _ in range(2 * MOST_KEPT):
        record.run(5).run(100, interval_s=100)
    timeline = record.timeline()
    assert len(timeline.gaps) <= MOST_KEPT


def test_an_empty_record_is_a_timeline() -> None:
    assert built([]) == Timeline("memwatch record")
