"""A chart on a fixed scale: what was, stacked; what is to come, dotted; the levels at which something is done.

24┤                                       act ┄┄┄┄
  │                              ▂▄▆█ •  warn ┄┄┄┄
12┤                   ▁▂▃▄▅▆▇█████████ •
  │ ▁▂▃▄▅▅▅▆▆▆▇▇▇▇▇████████████████████
  └ 10 min ago ──────────────────── now ── +2 min
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memwatch.model.units import roughly
from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.draw.lines import Line, Span, cut, line

EIGHTHS = 8
FUTURE_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class ChartLevel:
    value: float
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`below` is the part of `values` that is drawn solid: the job's. Columns are `column_s` long; those of `coming`
    follow on the last of `values`, with the `coming_edges` of their range. `ahead` names the last of them."""

    top: float
    top_label: str
    middle_label: str
    column_s: float
    values: Sequence[float | None]
    below: Sequence[float | None]
    coming: Sequence[float | None]
    levels: Sequence[ChartLevel] = ()
    role: str = "others"
    coming_edges: Sequence[Sequence[float | None]] = ()
    ahead: str = ""


def split_width(width: int, label_width: int) -> tuple[int, int]:
    """How many columns the past has, and how many the forecast."""
    room = max(width - label_width - 2, 2)
    future = max(round(room * FUTURE_SHARE), 1)
    return room - future, future


@dataclass(frozen=True, slots=True)
class _Column:
    """Heights in eighths of a row."""

    height: int
    solid: int
    role: str


def chart_lines(chart: Chart, height: int, width: int, glyphs: Glyphs) -> list[Line]:
    label_width = max(len(chart.top_label), len(chart.middle_label))
    rows = max(height - 1, 1)
    columns = [_column(chart, *pair, rows) for pair in zip(chart.values, chart.below, strict=True)]
    coming = [_eighths(value, chart, rows) for value in chart.coming]
    edges = [[_eighths(value, chart, rows) for value in edge] for edge in chart.coming_edges]
    levels = _level_rows(chart, rows)
    lines = []
    for row in range(rows):
        base = (rows - 1 - row) * EIGHTHS
        cells = [_cell(column, base, glyphs) for column in columns]
        cells += [_dot(eighths, [edge[i] for edge in edges], base, glyphs) for i, eighths in enumerate(coming)]
        if row in levels:
            _draw_level(cells, levels[row], glyphs)
        lines.append(line(_axis(chart, row, rows, label_width, glyphs), _merged(cells)))
    if height > 1:
        lines.append(_time_axis(chart, label_width, glyphs))
    return [cut(drawn, width, "") for drawn in lines]


def _column(chart: Chart, value: float | None, below: float | None, rows: int) -> _Column:
    """A column that has reached a level has its colour."""
    reached = [level for level in chart.levels if value is not None and value >= level.value]
    role = max(reached, key=lambda level: level.value).role if reached else chart.role
    return _Column(_eighths(value, chart, rows), _eighths(below, chart, rows), role)


def _eighths(value: float | None, chart: Chart, rows: int) -> int:
    """The height of a value in eighths of a row. A value above 0 has at least one."""
    if value is None or value <= 0 or chart.top <= 0:
        return 0
    return max(round(min(value / chart.top, 1.0) * rows * EIGHTHS), 1)


def _cell(column: _Column, base: int, glyphs: Glyphs) -> Span:
    top = min(max(column.height - base, 0), EIGHTHS)
    solid = min(max(min(column.solid, column.height) - base, 0), EIGHTHS)
    if top == 0:
        return Span(" ")
    if not glyphs.has_colours:
        if solid >= EIGHTHS // 2 or solid == top:
            return Span(glyphs.heights[solid])
        return Span(glyphs.others if top >= EIGHTHS // 2 else glyphs.heights[1])
    # A full cell is drawn as its ground: fonts leave gaps between blocks, grounds do not.
    if EIGHTHS in (solid, top) and solid in (0, EIGHTHS):
        return Span(" ", on="job" if solid else column.role)
    if solid == 0:
        return Span(glyphs.heights[top], column.role)
    # Two edges in one cell: the job's is drawn, the other one rounded.
    behind = column.role if solid < top and top > EIGHTHS // 2 else ""
    return Span(glyphs.heights[solid], "job", on=behind)


def _dot(eighths: int, edges: Sequence[int], base: int, glyphs: Glyphs) -> Span:
    if base < eighths <= base + EIGHTHS:
        return Span(glyphs.dot, "forecast")
    return Span(glyphs.dot, "dim") if any(base < edge <= base + EIGHTHS for edge in edges) else Span(" ")


def _axis(chart: Chart, row: int, rows: int, label_width: int, glyphs: Glyphs) -> Line:
    text = ""
    if row == 0:
        text = chart.top_label
    elif rows >= 4 and row == rows // 2:
        text = chart.middle_label
    return (
        Span(text.rjust(label_width), "dim"),
        Span((glyphs.tick if text else glyphs.down) + " ", "frame"),
    )


def _level_rows(chart: Chart, rows: int) -> dict[int, list[ChartLevel]]:
    """Counted from above. A level is the upper edge of its row, as the labels of the axis are."""
    found: dict[int, list[ChartLevel]] = {}
    for level in chart.levels:
        row = rows - math.ceil(min(level.value / chart.top, 1.0) * rows)
        found.setdefault(min(row, rows - 1), []).append(level)
    return found


def _draw_level(cells: list[Span], levels: list[ChartLevel], glyphs: Glyphs) -> None:
    """A broken line where nothing else is drawn, and its name at the right end, or at the left if dots are there."""
    role = levels[0].role
    for index, cell in enumerate(cells):
        if cell == Span(" "):
            cells[index] = Span(glyphs.level, role)
    names = [*" ".join(level.name for level in levels)]
    start, stop = len(cells) - len(names), len(cells)
    if start <= 0:
        return
    roles = [level.role for level in levels for _ in (*level.name, " ")]
    named = [Span(letter, letter_role) for letter, letter_role in zip(names, roles, strict=False)]
    if all(cell.role != "forecast" for cell in cells[start:]):
        cells[start - 1 : stop] = [Span(" "), *named]
    elif all(cell.text == glyphs.level for cell in cells[: len(named) + 1]):
        cells[: len(named) + 1] = [*named, Span(" ")]


def _time_axis(chart: Chart, label_width: int, glyphs: Glyphs) -> Line:
    past, future = len(chart.values), len(chart.coming)
    ago = f" {roughly(past * chart.column_s)} ago "
    before_now = " now " if past > len(ago) + 6 else ""
    ahead = f" {chart.ahead or f'+{roughly(future * chart.column_s)}'}" if future >= 9 else ""
    rest = max(past - len(ago) - len(before_now) + 1, 0)
    return line(
        " " * label_width,
        Span(glyphs.origin, "frame"),
        Span(ago, "dim"),
        Span(glyphs.across * rest, "frame"),
        Span(before_now, "dim"),
        Span(glyphs.across * max(future - len(ahead), 0), "frame"),
        Span(ahead, "dim"),
    )


def _merged(cells: list[Span]) -> Line:
    merged: list[Span] = []
    for cell in cells:
        if merged and (merged[-1].role, merged[-1].on) == (cell.role, cell.on):
            merged[-1] = Span(merged[-1].text + cell.text, cell.role, cell.on)
        else:
            merged.append(cell)
    return tuple(merged)
