"""What stays on the terminal when the screen is left."""

from memwatch.tui.draw.glyphs import ASCII, UNICODE
from memwatch.tui.farewell import KEPT_LINES, detached, summary, tail
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from tests.tui import script


def picture(*events: dict[str, object]) -> Picture:
    story = RunModel(ViewKind.RUN)
    for event in events:
        story.take(event)
    return story.picture(script.START_T + 75)


def test_a_run_that_went_well_is_one_line() -> None:
    ended = picture(script.start(), *script.seconds(3, lambda s: 2.0), script.ended(75))
    assert summary(ended, UNICODE, 0) == "memwatch: ✓ the job finished in 1 min 15 s; peak memory 2.0 GiB"


def test_after_a_stop_it_says_why_and_where_to_read_more() -> None:
    events = [script.start(), script.verdict(1, "warn", "RAM"), script.action(2, "stop", "guard", "RAM is full")]
    told = summary(picture(*events, {**script.ended(75, 124), "by": "guard"}), ASCII, 124)
    assert told.startswith("memwatch: x the guard stopped the job after 1 min 15 s: RAM is full")
    assert told.endswith("; 1 warning; to see why: memwatch diagnose 20251116-133320-41020")
    recorded = {**script.start(), "diagnose_as": "last"}
    told = summary(picture(recorded, {**script.ended(75, 137), "signal": 9, "kernel_oom": True}), ASCII, 137)
    assert "killed by SIGKILL after an OOM kill by the kernel" in told
    assert told.endswith("memwatch diagnose last")


def test_a_process_that_the_job_left_behind_is_not_hidden() -> None:
    told = summary(picture(script.start(), {**script.ended(75), "left_behind": 2}), ASCII, 0)
    assert "2 of its processes run on without a guard" in told


def test_the_peak_is_the_one_that_the_journal_has() -> None:
    events = [script.start(), *script.seconds(3, lambda s: 2.0), {**script.ended(75), "peak_job_bytes": 5 << 30}]
    assert "peak memory 5.0 GiB" in summary(picture(*events), ASCII, 0)


def test_a_job_that_wanted_input_is_told_how_to_get_it() -> None:
    failed = script.output(1, "Traceback\nEOFError: EOF when reading a line\n")
    told = summary(picture(script.start(), failed, script.ended(75, 1)), ASCII, 1)
    assert told.endswith("a job on the full screen has no standard input; --ui plain gives it the terminal")


def test_the_last_lines_keep_their_colours() -> None:
    shown = picture(script.output(1, "one\n\x1b[1;31mtwo\x1b[0m\n\x1b[38;2;1;2;3mthree"))
    assert tail(shown, 24, has_colours=True) == "one\n\x1b[1;38;5;1mtwo\x1b[0m\n\x1b[38;2;1;2;3mthree\x1b[0m\n"
    assert tail(shown, 24, has_colours=False) == "one\ntwo\nthree\n"


def test_of_much_output_the_end_is_shown() -> None:
    lines = tail(picture(script.output(1, "line\n" * 3000)), 24, has_colours=False).splitlines()
    assert len(lines) == KEPT_LINES


def test_it_says_how_to_come_back() -> None:
    assert "memwatch attach 20251116-133320-41020" in detached(picture(script.start()), None)
    assert "memwatch attach /tmp/run.jsonl" in detached(picture(script.start()), "/tmp/run.jsonl")
    assert "without a journal" in detached(picture(), None)


def test_a_job_that_is_left_paused_is_not_said_to_run_on() -> None:
    by_user = detached(picture(script.start(), script.action(70, "pause", "user")), None)
    assert "runs on" not in by_user
    assert "the job stays paused until you resume it" in by_user
    pause = script.action(70, "pause", "guard", "full in 2 s", deadline_in_s=60.0, next="stop")
    assert "the job stays paused; the guard resumes it when memory is free, or stops it in 55 s" in detached(
        picture(script.start(), pause), None
    )
