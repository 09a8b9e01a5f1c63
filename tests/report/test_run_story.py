"""What a journal tells: marks, gaps, levels, whatever its clock did."""

from dataclasses import replace

import pytest

from memwatch.journal.events import Event, action_event, exit_event, sample_event, start_event, verdict_event
from memwatch.journal.liveness import GuardId
from memwatch.model.sample import Sample
from memwatch.report.run_story import MOST_MARKS, RunStory, read_story
from tests.journal.examples import sample
from tests.report.examples import BEGIN_T, freeze


def at(t: float, clock_s: float | None = None) -> Sample:
    return replace(sample(t), clock_s=t if clock_s is None else clock_s)


def story_of(*samples: Sample) -> RunStory:
    return read_story(sample_event(each) for each in samples)


def started(t: float, boot: str, **more: object) -> Event:
    return start_event(t, "machine", GuardId(1, 1, boot), ["memwatch", "record"], {}, {}) | more


def test_the_freeze_is_told_as_it_was() -> None:
    story = read_story(freeze())
    assert [mark.kind for mark in story.marks] == ["warn", "act", "pause", "resume", "exit"]
    (gap,) = story.gaps
    assert (gap.begin_x - BEGIN_T, gap.end_x - BEGIN_T, gap.kind) == (440.0, 602.0, "no samples")
    assert story.worst_level == "act"
    assert story.levels.highest("job") == pytest.approx(61 * 2**30, rel=0.01)
    assert story.rates.highest("in") == pytest.approx(38 * 2**20, rel=0.05)
    biggest = story.programs.biggest()
    assert [(program.name, program.is_jobs) for program in biggest] == [
        ("python3 prepare.py", True),
        ("firefox", False),
    ]


def test_what_was_counted_over_a_gap_is_told_though_nobody_looked() -> None:
    story = read_story(freeze())
    during = [point.high for run in story.rates.runs("some") for point in run if 460 < point.x - BEGIN_T < 590]
    assert during
    assert all(share == pytest.approx(0.4) for share in during)


def test_a_sample_now_and_then_is_no_gap() -> None:
    every_five = [at(1000.0 + 5 * n) for n in range(20)]
    assert story_of(*every_five).gaps == []
    assert len(story_of(*every_five, at(1200.0)).gaps) == 1
    every_minute = [at(1000.0 + 60 * n) for n in range(20)]
    assert read_story([started(0.0, "one", limits={"interval_s": 60.0}), *map(sample_event, every_minute)]).gaps == []


def test_a_recorder_that_slows_down_again_leaves_no_gaps() -> None:
    in_trouble, after = [at(1000.0 + n) for n in range(30)], [at(1030.0 + 5 * n) for n in range(20)]
    events = [started(0.0, "one", limits={"interval_s": 5.0}), *map(sample_event, in_trouble + after)]
    assert read_story(events).gaps == []


def test_thinned_samples_are_no_gap() -> None:
    events = [sample_event(at(1000.0 + n)) for n in range(20)]
    events += [sample_event(at(1020.0 + 10 * n)) | {"every": 10} for n in range(20)]
    assert read_story(events).gaps == []


def test_a_machine_that_slept_is_not_called_frozen() -> None:
    story = story_of(*[at(1000.0 + n) for n in range(10)], at(5000.0, clock_s=1010.0))
    assert [gap.kind for gap in story.gaps] == ["suspended, or the clock was set"]


def test_a_clock_set_back_does_not_fold_the_chart() -> None:
    samples = [at(9000.0 + n, clock_s=100.0 + n) for n in range(10)]
    samples += [at(5000.0 + n, clock_s=110.0 + n) for n in range(10)]
    story = story_of(*samples)
    xs = [point.x for run in story.levels.runs("used") for point in run]
    assert xs == sorted(xs)
    assert story.span_s == pytest.approx(19.0)
    assert story.set_back_s == pytest.approx(4010.0)
    assert story.gaps == []


def test_a_clock_set_back_right_after_the_start_does_not_crowd_all_into_one_moment() -> None:
    samples = [at(5000.0 + n, clock_s=110.0 + n) for n in range(10)]
    story = read_story([started(9000.0, "one"), *map(sample_event, samples)])
    assert [point.x for run in story.levels.runs("used") for point in run] == [9000.0 + n for n in range(10)]


def test_a_restart_of_the_machine_is_told() -> None:
    events: list[Event] = [started(0.0, "one"), *(sample_event(at(float(n), 500.0 + n)) for n in range(10))]
    events += [started(300.0, "two"), *(sample_event(at(300.0 + n, 5.0 + n)) for n in range(10))]
    story = read_story(events)
    assert [gap.kind for gap in story.gaps] == ["no samples: the machine was restarted"]
    assert [mark.text for mark in story.marks] == ["recording starts again: the machine was restarted"]
    assert len(list(story.rates.runs("some"))) == 2


def test_a_time_in_which_nobody_was_to_record_is_not_called_a_gap_of_the_machine() -> None:
    events: list[Event] = [started(0.0, "one"), *(sample_event(at(float(n))) for n in range(10))]
    events += [exit_event(9.0, 0, 15, "user"), started(300.0, "one"), *(sample_event(at(300.0 + n)) for n in range(9))]
    story = read_story(events)
    assert [gap.kind for gap in story.gaps] == ["not recording"]
    assert story.exit is None


def test_a_segment_that_follows_another_is_no_event() -> None:
    events = [started(0.0, "one"), sample_event(at(1.0)), started(2.0, "one", continued=True), sample_event(at(3.0))]
    assert read_story(events).marks == []


def test_a_level_that_stays_is_marked_once_and_a_warning_not_twice() -> None:
    events = [sample_event(at(1.0)), verdict_event(1.0, "warn", "soon", 9.0), verdict_event(2.0, "warn", "soon", 8.0)]
    events += [action_event(2.0, "warn", [], "guard", "done"), verdict_event(3.0, "calm", "well", None)]
    events += [verdict_event(4.0, "warn", "again", 9.0)]
    assert [(mark.kind, mark.text) for mark in read_story(events).marks] == [("warn", "soon"), ("warn", "again")]


def test_marks_are_bounded_and_the_loss_is_told() -> None:
    events = [action_event(float(n), "pause", [], "guard", "done") for n in range(MOST_MARKS + 7)]
    story = read_story(events)
    assert len(story.marks) == MOST_MARKS
    assert story.lost_marks == 7


def test_no_events_are_no_story() -> None:
    story = read_story([])
    assert (story.begin_x, story.samples, story.marks) == (None, 0, [])
