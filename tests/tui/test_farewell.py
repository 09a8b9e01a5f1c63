"""What stays on the terminal when the screen is left."""

from memwatch.tui.draw.glyphs import ASCII, UNICODE
from memwatch.tui.farewell import MOST_LINES, detached, summary, tail
from memwatch.tui.model.picture import Kind, Picture
from memwatch.tui.model.story import Story
from tests.tui import script


def picture(*events: dict[str, object]) -> Picture:
    story = Story(Kind.RUN)
    for event in events:
        story.take(event)
    return story.picture(script.START_T + 75)


def test_a_run_that_went_well_is_one_line() -> None:
    ended = picture(script.start(), *script.seconds(3, lambda s: 2.0), script.ended(75))
    assert summary(ended, UNICODE, 0) == ("memwatch: ✓ the job is done in 1 min 15 s; it took 2.0 GiB at the most")


def test_warnings_and_what_the_guard_did_are_told() -> None:
    events = [script.start(), script.verdict(1, "warn", "RAM"), script.action(2, "stop", "guard", "RAM is full")]
    told = summary(picture(*events, script.ended(75, 124)), ASCII, 124)
    assert told.startswith("memwatch: x the job ended with code 124 in 1 min 15 s")
    assert told.endswith("; 1 warning; the guard: stopped the job (SIGTERM): RAM is full")


def test_the_last_lines_keep_their_colours() -> None:
    shown = picture(script.output(1, "one\n\x1b[1;31mtwo\x1b[0m\n\x1b[38;2;1;2;3mthree"))
    assert tail(shown, 24, has_colours=True) == "one\n\x1b[1;38;5;1mtwo\x1b[0m\n\x1b[38;2;1;2;3mthree\x1b[0m\n"
    assert tail(shown, 24, has_colours=False) == "one\ntwo\nthree\n"


def test_of_much_output_the_end_is_shown() -> None:
    lines = tail(picture(script.output(1, "line\n" * 3000)), 24, has_colours=False).splitlines()
    assert len(lines) == MOST_LINES


def test_it_says_how_to_come_back() -> None:
    assert "memwatch attach 20251116-133320-41020" in detached(picture(script.start()), None)
    assert "memwatch attach /tmp/run.jsonl" in detached(picture(script.start()), "/tmp/run.jsonl")
    assert "without a journal" in detached(picture(), None)
