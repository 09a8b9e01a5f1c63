"""What events make of a picture."""

from dataclasses import replace

import pytest

from memwatch.journal.events import sample_event
from memwatch.model.sample import Limit, Memory, Process, Sample
from memwatch.model.units import GIB
from memwatch.tui.model.picture import JobState, Picture, ViewKind
from memwatch.tui.model.process_rows import SortOrder, arranged, process_rows
from memwatch.tui.model.run_model import RunModel, room_of, title_of
from memwatch.tui.model.series import Series, SeriesPoint, columns
from tests.tui import script


def picture_after(*events: dict[str, object], kind: ViewKind = ViewKind.RUN) -> Picture:
    story = RunModel(kind)
    for event in events:
        story.take(event)
    return story.picture(script.START_T + 300)


def test_a_run_begins_runs_and_ends() -> None:
    assert picture_after().state == JobState.STARTING
    running = picture_after(script.start())
    assert (running.state, running.title) == (JobState.RUNNING, "tokenize train_fineweb.txt --mode memory")
    assert running.elapsed_s == 300
    ended = picture_after(script.start(), script.ended(9, 3))
    assert (ended.state, ended.exit_code) == (JobState.ENDED, 3)
    assert ended.happenings[-1].text == "the job ended with code 3"


def test_a_pause_tells_who_and_until_when() -> None:
    pause = script.action(10, "pause", "guard", "RAM is full", deadline_in_s=60.0, next="stop")
    paused = picture_after(script.start(), pause)
    assert paused.state == JobState.PAUSED
    assert paused.pause is not None
    assert (paused.pause.by, paused.pause.deadline_t) == ("guard", script.START_T + 70)
    assert picture_after(script.start(), pause, script.action(20, "resume", "user")).state == JobState.RUNNING


def test_an_action_that_found_nobody_changes_nothing() -> None:
    nobody = {**script.action(10, "pause", "user"), "pids": [], "result": "no process was left"}
    picture = picture_after(script.start(), nobody)
    assert picture.state == JobState.RUNNING
    assert picture.happenings[-1].text == "pause: no process was left"


def test_a_pause_of_some_processes_is_a_pause_and_says_what_is_missing() -> None:
    partly = {**script.action(10, "pause", "user"), "result": "1 process belongs to another user"}
    picture = picture_after(script.start(), partly)
    assert picture.state == JobState.PAUSED
    assert picture.happenings[-1].text == "you paused the job, but 1 process belongs to another user"


def test_the_jobs_own_progress_is_believed_before_what_is_seen_from_outside() -> None:
    seen = {"t": 2.0, "event": "progress", "done": 5, "total": 9, "source": "open file", "name": "x"}
    own = {"t": 1.0, "event": "progress", "done": 1, "total": 2, "unit": "rows"}
    assert picture_after(seen).progress is not None
    progress = picture_after(own, seen).progress
    assert progress is not None
    assert (progress.done, progress.source) == (1, None)


def test_of_verdicts_only_changes_are_events() -> None:
    warn = script.verdict(5, "warn", "RAM is full in about 9 s")
    picture = picture_after(script.verdict(1, "calm", "fine"), warn, warn, script.verdict(9, "calm", "fine"))
    assert [happening.level for happening in picture.happenings] == ["warn", "info"]


def test_other_processes_stay_known_when_nobody_looked() -> None:
    seen, not_seen = sample_event(script.sample(0, 2.0)), sample_event(script.sample(1, 2.0))
    assert "others" not in not_seen
    assert len(picture_after(seen, not_seen).others or ()) == 5


def test_the_job_is_as_big_on_the_screen_as_the_guard_counts_it() -> None:
    """Forked workers share most of their pages: their RSS together is more than the job takes."""
    shared = replace(script.process(7, 1, "R", 1.0, 1, "python train.py", swap=0.5), own_bytes=GIB // 4)
    picture = picture_after(sample_event(replace(script.sample(0, 2.0), job=(shared,))))
    assert picture.job_ram_bytes == GIB // 4
    assert (picture.job_bytes, picture.peak_job_bytes) == (GIB * 3 // 4, GIB * 3 // 4)
    assert picture.points[-1].job_bytes == GIB // 4


def test_memwatchs_own_processes_are_not_among_the_other_big_ones() -> None:
    front = script.process(900, 1, "S", 0.06, 1, "/usr/bin/python3 /home/me/.venv/bin/memwatch run -- python train.py")
    guard = script.process(901, 900, "S", 0.02, 1, "/usr/bin/python3 -m memwatch.guard 5")
    other_job = script.process(902, 1, "S", 0.5, 1, "/usr/bin/python3 -m memwatch.tokenize b.txt")
    sample = replace(script.sample(0, 2.0), others=(front, guard, other_job))
    found = picture_after(sample_event(sample)).others
    assert found is not None
    assert [process.pid for process in found] == [902]


@pytest.mark.parametrize(
    "event",
    [
        {"event": "sample", "t": 1.0, "clock_s": "x"},
        {"event": "progress", "t": 1.0, "done": "many"},
        {"event": "verdict", "t": 1.0},
        {"event": "action", "t": 1.0},
        {"event": "exit", "t": 1.0},
        {"event": "output", "t": 1.0},
        {"event": "nobody knows", "t": 1.0},
        {"event": "action", "t": 1.0, "action": "pause", "by": "guard", "deadline_in_s": "soon", "next": "stop"},
        {"event": "start", "t": 1.0, "limits": [], "command": 7},
        {"t": 1.0},
        {"event": "sample"},
        {},
    ],
)
def test_what_makes_no_sense_does_no_harm(event: dict[str, object]) -> None:
    assert picture_after(script.start(), event).title


def test_a_limit_smaller_than_the_machine_is_the_room() -> None:
    sample = Sample(1.0, 1.0, Memory(64 * GIB, 50 * GIB, 0, 0), limits=(Limit("/job", 8 * GIB, 3 * GIB),))
    room = room_of(sample)
    assert room is not None
    assert (room.capacity_bytes, room.available_bytes, room.is_limit) == (8 * GIB, 5 * GIB, True)


def test_a_foreign_command_is_called_what_it_is() -> None:
    assert title_of(["python", "train.py"]) == ("python train.py", False)


def process(pid: int, parent: int, cpu_s: float, rss: int = 1) -> Process:
    return Process(pid, 1, parent, "R", rss, 0, cpu_s, None, None, f"p{pid}")


def test_rates_are_of_the_same_process_only() -> None:
    later = (process(1, 0, 3.0), Process(2, 99, 0, "R", 1, 0, 9.0, None, None, "another with its pid"))
    rows = process_rows(later, (process(1, 0, 1.0), process(2, 0, 1.0)), 2.0)
    assert [row.cpu_fraction for row in rows] == [1.0, None]


def test_a_tree_hangs_children_below_their_parents_the_biggest_first() -> None:
    rows = process_rows([process(1, 0, 0, 5), process(2, 1, 0, 1), process(3, 1, 0, 9), process(4, 3, 0, 2)], (), None)
    tree = arranged(rows, SortOrder.MEMORY, as_tree=True, wanted="")
    shown = [(one.row.process.pid, one.branches) for one in tree]
    assert shown == [(1, ()), (3, (True,)), (4, (True, False)), (2, (False,))]


def test_a_process_that_is_its_own_parent_is_shown_once() -> None:
    rows = process_rows([process(7, 7, 0)], (), None)
    assert len(arranged(rows, SortOrder.PID, as_tree=True, wanted="")) == 1


def test_a_chart_takes_the_highest_of_each_column_and_joins_short_gaps() -> None:
    points = [SeriesPoint(float(t), used_bytes=t) for t in (100, 101, 102, 110)]
    (found,) = columns(points, 119.9, 2.0, 10, lambda point: point.used_bytes)
    assert found == [101, 102, 102, 102, 102, 110, 110, 110, 110, 110]


def test_a_second_is_one_point_with_the_peaks_of_it() -> None:
    series = Series()
    for t, used in ((1.0, 5), (1.3, 9), (1.8, 2), (2.0, 1)):
        series.add(SeriesPoint(t, used_bytes=used))
    assert [point.used_bytes for point in series.points] == [9, 1]


def growing() -> list[dict[str, object]]:
    """Samples of a job that fills memory within seconds, without any verdict."""
    return [script.start(), *(sample_event(script.sample(second, 20.0 + 3 * second)) for second in range(9))]


FULL_SOON = {"confidence": "high", "headroom_bytes": 2 << 30, "reserve_bytes": 4 << 30, "fill_bytes_s": 1 << 28}


def test_what_the_screen_forecasts_is_what_the_guard_forecasts() -> None:
    silent = picture_after(*growing(), script.verdict(9, "calm", "fine"))
    assert silent.full_in_s is None, "the guard expects nothing, whatever the samples look like"
    warned = picture_after(*growing(), script.verdict(9, "warn", "full in 8 s", 8.0, **FULL_SOON))
    assert warned.full_in_s == 8.0
    assert warned.judged is not None
    assert (warned.judged.headroom_bytes, warned.judged.reserve_bytes) == (2 << 30, 4 << 30)
    guess = script.verdict(9, "watch", "perhaps", 50.0, **{**FULL_SOON, "confidence": "low"})
    assert picture_after(*growing(), guess).full_in_s is None


def test_a_paused_job_is_not_said_to_fill_memory() -> None:
    warned = script.verdict(9, "warn", "full in 8 s", 8.0, **FULL_SOON, job_fill_bytes_s=1 << 28)
    pause = script.action(10, "pause", "guard", "full in 8 s")
    assert picture_after(*growing(), warned, pause).full_in_s is None
    others = script.verdict(9, "warn", "full in 8 s", 8.0, **FULL_SOON, job_fill_bytes_s=0)
    assert picture_after(*growing(), others, pause).full_in_s == 8.0, "others still may"


def test_a_verdict_of_an_older_version_leaves_the_forecast_unknown() -> None:
    judged = picture_after(*growing(), script.verdict(9, "warn", "RAM is full in about 8 s", 8.0)).judged
    assert judged is not None
    assert (judged.level, judged.headroom_bytes, judged.warn_headroom_bytes) == ("warn", None, None)
