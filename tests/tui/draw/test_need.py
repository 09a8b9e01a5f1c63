"""The need of the whole run, on the screen and in plain lines."""

from dataclasses import replace
from typing import Any

from memwatch.cli.plain import line_for
from memwatch.model.run_need import RunNeed
from memwatch.model.sample import Memory, Sample
from memwatch.model.units import GIB
from memwatch.tui.draw import banner, memory_panel, progress_panel
from memwatch.tui.draw.lines import text_of
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from tests.tui import script

NEED = RunNeed(0.2, 31 * GIB, 29 * GIB, 34 * GIB, 21 * GIB, 0.68, 480.0, True)
WARNING = NEED.warning(["python", "prepare.py"])


def picture_after(*more: dict[str, Any]) -> Picture:
    model = RunModel(ViewKind.RUN)
    events = [*script.calm(), *more]
    for event in events:
        model.take(event)
    return model.picture(script.time_of(events[-1]))


def need_event(**more: object) -> dict[str, Any]:
    return {"t": script.time_of(script.calm()[-1]), "event": "need"} | NEED.as_json() | more


def test_the_panel_says_what_the_run_needs_and_draws_it_to_the_end() -> None:
    picture = picture_after(need_event())
    assert text_of(memory_panel.subtitle(picture, Look())) == "needs 31 GiB (29-34), full at 68 %"
    lines = [text_of(line) for line in memory_panel.lines(picture, Look(), 100, 12)]
    assert "100 %" in lines[-1]
    before = [text_of(line) for line in memory_panel.lines(picture_after(), Look(), 100, 12)]
    dot = Look().glyphs.dot
    assert sum(line.count(dot) for line in lines) > sum(line.count(dot) for line in before)


def test_the_title_leaves_the_room_of_half_a_screen_to_the_need() -> None:
    """At 120 columns, title and need fit into a frame of 59."""
    memory = Memory(24 * GIB, 12 * GIB, 0, 0)
    without = replace(picture_after(), sample=Sample(0.0, 0.0, memory))
    assert text_of(memory_panel.title(without, Look())).endswith("no swap")
    needed = replace(without, need=NEED)
    title, subtitle = memory_panel.title(needed, Look()), memory_panel.subtitle(needed, Look())
    assert len(text_of(title)) + len(text_of(subtitle)) + len("╭─  ─  ─╮") <= 59


def test_the_warning_is_a_banner_and_a_line_and_goes_when_the_run_fits_after_all() -> None:
    warned = picture_after(need_event(warning=WARNING))
    (line,) = banner.lines(warned, Look(), 160, 1)
    assert "WARN  needs 31 GiB at the end (29-34), 21 GiB are there: full at 68 %, in 8 min" in text_of(line)
    assert warned.happenings[-1].text == WARNING
    assert line_for(need_event(warning=WARNING)) == f"WARN  {WARNING}"
    later = picture_after(need_event(warning=WARNING), need_event(full_in_s=240.0))
    assert later.need_warning == WARNING.replace("in 8 min", "in 4 min")
    fits = picture_after(need_event(warning=WARNING), need_event(full_at=None, is_sure=False))
    assert fits.need_warning is None


def test_a_forged_need_is_not_shown() -> None:
    picture = picture_after(need_event(need_bytes="much"), need_event(low_bytes=-5))
    assert picture.need is None
    assert memory_panel.subtitle(picture, Look()) == ()


def test_the_title_says_where_the_time_of_the_workers_went() -> None:
    model = RunModel(ViewKind.RUN)
    event = {"done": 45.0, "total": 100, "unit": "bytes", "time_shares": "reading 13 %, encoding 87 %"}
    for more in (script.start(), {"t": script.time_of(script.start()) + 5, "event": "progress"} | event):
        model.take(more)
    picture = model.picture(script.time_of(script.start()) + 5)
    assert text_of(progress_panel.title(picture, Look())) == "progress workers: reading 13 %, encoding 87 %"


def test_a_bar_of_the_job_is_shown_with_its_own_eta() -> None:
    model = RunModel(ViewKind.RUN)
    event = {"done": 45.0, "total": 100, "unit": "%", "eta_s": 300.0, "source": "its output", "name": "epochs"}
    for more in (script.start(), {"t": script.time_of(script.start()) + 5, "event": "progress"} | event):
        model.take(more)
    picture = model.picture(script.time_of(script.start()) + 5)
    assert text_of(progress_panel.title(picture, Look())) == "progress as it reports epochs"
    first, *_ = progress_panel.lines(picture, Look(), 100, 2)
    assert "45.0 %" in text_of(first)
    assert "5 min" in text_of(first)
