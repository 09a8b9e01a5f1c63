"""The line that says what is wrong: its numbers are there whatever the width."""

import re

import pytest

from memwatch.tui.draw import banner, memory_panel, tiny
from memwatch.tui.draw.lines import cut_words, text_of
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from tests.tui import script

LIMIT = "full in 6 s: the job's 2.0 GiB limit, growing 71.3 MiB/s while other programs take 120.0 MiB more"
PAUSE = script.action(100, "pause", "guard", LIMIT, deadline_in_s=60.0, next="stop")


def picture_of(*events: dict[str, object], now_s: float = 124) -> Picture:
    story = RunModel(ViewKind.RUN)
    for event in events:
        story.take(event)
    return story.picture(script.START_T + now_s)


def drawn(picture: Picture, width: int) -> str:
    (line,) = banner.lines(picture, Look(), width, 1)
    return text_of(line)


@pytest.mark.parametrize("width", [60, 70, 80, 99, 100, 120])
def test_a_warning_keeps_its_number_at_any_width(width: int) -> None:
    shown = drawn(picture_of(script.start(), script.verdict(1, "warn", LIMIT, 6.0)), width)
    assert "full in 6 s" in shown
    numbers = re.findall(r"\d[\d.]* [A-Za-z/]+", shown)
    assert all(number in LIMIT for number in numbers), "a number that is shown is whole"
    if width >= 70:
        assert [key for key in ("[s]", "[p]", "[x]") if key not in shown] == []


@pytest.mark.parametrize("width", [60, 70, 80, 99, 100, 120])
def test_a_pause_keeps_its_countdown_at_any_width(width: int) -> None:
    shown = drawn(picture_of(script.start(), PAUSE), width)
    assert "PAUSED 24 s" in shown
    assert "stopped in 36 s" in shown


def test_a_pause_says_what_must_be_free_and_who_else_is_big() -> None:
    sample = {**script.brief()[1]}
    needs = script.verdict(110, "warn", "x", resume_needs_bytes=1288490188)
    shown = drawn(picture_of(script.start(), sample, PAUSE, needs), 120)
    assert "stopped in 36 s unless 1.2 GiB more are free; firefox uses 6.1 GiB" in shown


def test_a_pause_of_the_users_has_no_countdown() -> None:
    shown = drawn(picture_of(script.start(), script.action(100, "pause", "user")), 80)
    assert "PAUSED 24 s by you" in shown
    assert "stopped" not in shown


def test_a_reason_without_a_number_gets_the_forecast_before_it() -> None:
    verdict = script.verdict(1, "warn", "memory runs out", 6.0, confidence="high")
    assert "full in 6 s: memory runs out" in drawn(picture_of(script.start(), verdict), 80)


def test_the_smallest_screen_has_the_countdown_too() -> None:
    shown = "\n".join(text_of(row) for row in tiny.lines(picture_of(script.start(), PAUSE), Look(), 40, 10))
    assert "stopped in 36 s" in " ".join(shown.split())


def test_words_are_cut_and_numbers_are_not() -> None:
    assert cut_words("growing 71.3 MiB/s now", 17) == "growing…"
    assert cut_words("growing 71.3 MiB/s now", 19) == "growing 71.3 MiB/s…"
    assert cut_words("short", 5) == "short"
    assert cut_words("unbreakable", 5) == "unbr…"


def test_before_the_first_sample_memory_is_not_said_to_be_unreadable() -> None:
    (line,) = memory_panel.lines(picture_of(script.start()), Look(), 60, 5)
    assert text_of(line) == "no sample yet"


CONFINED = "confined to 450.0 MiB: 1.2 GiB in swap, 12.0 MiB/s, done in about 6 min 00 s instead of 60 s"


@pytest.mark.parametrize("width", [70, 80, 100, 120])
def test_a_confined_job_says_so_with_its_numbers_first(width: int) -> None:
    picture = picture_of(script.start(), script.verdict(1, "watch", CONFINED, confined_bytes=450 << 20))
    shown = drawn(picture, width)
    assert "CONFINED to 450.0 MiB" in shown
    assert [key for key in ("[f]", "[p]", "[x]") if key not in shown] == []
    assert (width < 120) or "1.2 GiB in swap" in shown


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_pause_says_what_it_has_freed_and_when_it_ends(width: int) -> None:
    freed = script.verdict(110, "warn", "x", resume_needs_bytes=1288490188, paged_out_bytes=860 << 20)
    shown = drawn(picture_of(script.start(), PAUSE, freed), width)
    assert ", 860.0 MiB freed  stopped in " in shown
    assert (width < 120) or "unless 1.2 GiB more are free" in shown
