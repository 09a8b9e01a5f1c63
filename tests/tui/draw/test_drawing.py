"""Lines, bars, charts and layouts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.model.sample import Memory, Process, Sample
from memwatch.model.units import roughly
from memwatch.tui.draw import process_table as processes
from memwatch.tui.draw.bars import bar, stacked
from memwatch.tui.draw.chart import Chart, ChartLevel, chart_lines
from memwatch.tui.draw.glyphs import ASCII, MONOCHROME, UNICODE, Glyphs
from memwatch.tui.draw.layout import ShownPanels, layout_for, shared_out
from memwatch.tui.draw.lines import Span, cut, fitting, line, padded, spread, text_of, width_of, wrapped
from memwatch.tui.draw.look import Frame, Look, framed, inner_size
from memwatch.tui.draw.words import between, stopwatch
from memwatch.tui.model.picture import Picture, ProcessRow


@given(st.text(max_size=40), st.integers(0, 60))
def test_what_is_cut_or_padded_fits(text: str, width: int) -> None:
    text = "".join(c for c in text if c.isprintable())
    assert width_of(cut(line(text), width)) <= width
    assert width_of(padded(line(text), width)) == width


def test_wide_characters_count_twice() -> None:
    assert text_of(cut(line("日本語"), 5)) == "日本…"
    assert width_of(padded(line("日本語"), 10)) == 10


def test_of_two_ends_the_left_gives_way() -> None:
    assert text_of(spread(line("a long title"), line("12:00"), 12)) == "a lo…  12:00"


def test_numbers_are_whole_or_not_there() -> None:
    parts = [line("1.5 GiB"), line("22 %"), line("9.6 MiB/s")]
    assert text_of(fitting(parts, 15)) == "1.5 GiB   22 %"


def test_words_are_wrapped_and_the_last_line_says_there_is_more() -> None:
    assert wrapped("one two three four five", 9, 2) == ["one two", "three fo…"]


@pytest.mark.parametrize("glyphs", [UNICODE, MONOCHROME, ASCII])
@given(fraction=st.floats(0, 1), width=st.integers(1, 80))
def test_a_bar_is_as_wide_as_asked(glyphs: Glyphs, fraction: float, width: int) -> None:
    assert width_of(bar(fraction, width, glyphs)) == width
    assert width_of(stacked([(fraction, "job"), (fraction, "others")], width, glyphs)) == width


def _filled(fraction: float) -> float:
    """In cells, as drawn: full ones are ground."""
    full = sum(len(span.text) for span in bar(fraction, 10, UNICODE) if span.on == "job")
    partial = [UNICODE.lengths.index(span.text) / 8 for span in bar(fraction, 10, UNICODE) if span.role == "job"]
    return full + sum(partial)


def test_a_bar_is_exact_to_an_eighth_of_a_cell() -> None:
    assert [_filled(value) for value in (0.0, 0.5, 0.5125, 1.0)] == [0, 5, 5.125, 10]


def simple(values: list[float | None], coming: list[float | None], levels: list[ChartLevel] | None = None) -> Chart:
    return Chart(8.0, "8G", "4G", 1.0, values, [None] * len(values), coming, levels or [])


def test_a_chart_does_not_scale_itself() -> None:
    rows = [text_of(row) for row in chart_lines(simple([1.0, 2.0, 4.0], [None]), 5, 20, MONOCHROME)]
    assert [row[4:7] for row in rows[:4]] == ["   ", "   ", "  ▒", "▒▒▒"]


def test_a_forecast_is_dotted_on() -> None:
    rows = [text_of(row) for row in chart_lines(simple([2.0], [4.0, 6.0, None]), 5, 20, UNICODE)]
    assert [row[5:8] for row in rows[:4]] == ["   ", " • ", "•  ", "   "]


def test_levels_are_marked_and_named() -> None:
    levels = [ChartLevel(7.0, "act", "act"), ChartLevel(5.0, "warn", "warn")]
    rows = chart_lines(simple([1.0] * 10, [None] * 6, levels), 5, 40, UNICODE)
    assert text_of(rows[0]).endswith("┄ act")
    assert text_of(rows[1]).endswith("┄ warn")


def test_a_level_is_drawn_where_the_axis_has_its_value() -> None:
    rows = chart_lines(simple([1.0] * 10, [None] * 6, [ChartLevel(4.0, "warn", "warn")]), 5, 40, UNICODE)
    assert [text_of(row).strip()[:2] for row in rows if "warn" in text_of(row)] == ["4G"]


def test_a_level_has_its_name_also_where_the_forecast_crosses_it() -> None:
    rows = chart_lines(simple([1.0] * 10, [5.0] * 6, [ChartLevel(5.0, "warn", "warn")]), 5, 40, UNICODE)
    assert text_of(rows[1]).endswith(" warn ┄┄┄┄┄••••••")


def test_a_column_above_a_level_has_its_colour() -> None:
    chart = simple([8.0], [None], [ChartLevel(5.0, "warn", "warn"), ChartLevel(7.0, "act", "act")])
    roles = {span.on for row in chart_lines(chart, 5, 20, UNICODE) for span in row} - {""}
    assert roles == {"act"}


@given(
    st.lists(st.none() | st.floats(0, 1e13), min_size=1, max_size=30),
    st.integers(1, 12),
    st.sampled_from([UNICODE, MONOCHROME, ASCII]),
)
def test_every_row_of_a_chart_is_equally_wide(values: list[float | None], height: int, glyphs: Glyphs) -> None:
    chart = Chart(8.0, "8G", "4G", 1.0, values, values, [None] * 9, [ChartLevel(5.0, "warn", "warn")])
    widths = {width_of(row) for row in chart_lines(chart, height, 200, glyphs)[: max(height - 1, 1)]}
    assert len(widths) == 1


@pytest.mark.parametrize("frame", list(Frame))
@given(width=st.integers(1, 60), height=st.integers(1, 10))
def test_a_frame_fills_its_place(frame: Frame, width: int, height: int) -> None:
    inner = inner_size(frame, width, height)
    rows = framed([line("x" * inner[0])], frame, line("title"), line("right"), (width, height), UNICODE, False)
    assert len(rows) == height
    if width >= 8:
        assert {width_of(row) for row in rows} == {width}


@pytest.mark.parametrize(
    "wants",
    [ShownPanels(), ShownPanels(has_job=False, has_output=False), ShownPanels(has_timeline=True, has_gpu=False)],
)
@given(width=st.integers(60, 300), height=st.integers(12, 120))
def test_a_layout_uses_every_row(wants: ShownPanels, width: int, height: int) -> None:
    heights = layout_for(width, height, False, wants).heights
    beside = ("pressure", "others", *(("gpu",) if "swap" in heights else ()))
    assert sum(rows for name, rows in heights.items() if name not in beside) == height
    assert all(rows > 0 for rows in heights.values())


def test_rows_are_shared_out_whole() -> None:
    assert shared_out(25, {"a": 9, "b": 7, "c": 5, "d": 4}) == {"a": 9, "b": 7, "c": 5, "d": 4}
    assert sum(shared_out(26, {"a": 9, "b": 7}).values()) == 26


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (38, "38 s"), (2300, "38 min"), (11100, "3 h 05 min"), (400000, "4.6 d")]
)
def test_times_have_no_more_digits_than_anyone_believes(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


def test_a_range_has_one_unit_if_it_will_do() -> None:
    assert between(2040, 2820, "–") == "34–47 min"
    assert between(40, 300, "–") == "40 s–5 min"
    assert between(60, 60.2, "–") == "60 s"


def test_a_stopwatch_counts_days() -> None:
    assert (stopwatch(2467), stopwatch(90061), stopwatch(None)) == ("00:41:07", "1 d 01:01:01", "--:--:--")


def test_a_span_that_is_empty_is_left_out() -> None:
    assert line("", Span("", "job"), "x") == (Span("x"),)


def trend_of(*steps: int) -> str:
    process = Process(7, 1, 0, "R", steps[-1], 0, 0.0, None, None, "python")
    picture = Picture(processes=(ProcessRow(process, trend=steps),))
    head, row = map(text_of, processes.lines(picture, Look(UNICODE), 90, 5))
    start = head.index("LAST MIN")
    return row[start : start + 8]


def test_the_last_minute_of_a_process_climbs_where_it_grew_and_is_flat_where_it_did_not() -> None:
    assert trend_of(0, 100, 200, 300, 400, 500, 600, 700) == "▁▁▂▃▄▅▆▇"
    assert trend_of(5, 5, 5, 5, 5, 5, 5, 5) == "▇▇▇▇▇▇▇▇"
    assert trend_of(800, 1) == "      ▇▁", "the newest is at the right, and something is never drawn as nothing"
    assert trend_of(0).strip() == ""


def test_swap_has_a_column_only_where_there_is_swap() -> None:
    process = Process(7, 1, 0, "R", 1, 0, 0.0, None, None, "python")
    for swap_total_bytes, is_shown in ((0, False), (1 << 30, True)):
        sample = Sample(0.0, 0.0, Memory(1 << 34, 1 << 33, swap_total_bytes, swap_total_bytes))
        picture = Picture(sample=sample, processes=(ProcessRow(process),))
        assert ("SWAP" in text_of(processes.lines(picture, Look(UNICODE), 90, 5)[0])) is is_shown


def test_forked_processes_are_shown_by_the_names_that_they_gave_themselves() -> None:
    parent = Process(7, 1, 0, "R", 1, 0, 0.0, None, None, "/usr/bin/python3 -m memwatch.tokenize x.txt")
    children = [replace(parent, pid=pid, parent_pid=7, name=name) for pid, name in ((8, "memwatch-hasher"), (9, None))]
    picture = Picture(processes=tuple(ProcessRow(process) for process in (parent, *children)))
    rows = map(text_of, processes.lines(picture, Look(UNICODE), 70, 10)[1:])
    assert {row.split()[0]: row.split()[-1] for row in rows} == {"7": "x.txt", "8": "hasher", "9": "worker"}
