"""The drawing inside a chart: lines, areas, gaps, marks.

Charts stretch to the width of the page, without their text being stretched: a drawing is 1000 by 100 units that are
scaled as one likes, strokes keep their width, and all words are HTML around it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memwatch.decide.thresholds import LEVEL_NAMES
from memwatch.report.axes import Mark
from memwatch.report.columns import ColumnPoint, Columns
from memwatch.report.panels import ChartPanel, Line, Rule

WIDTH = 1000.0
HEIGHT = 100.0
_RULE_EDGE = 0.7
_LONE_POINT = 1.0  # how wide a reading that has no neighbours is drawn

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis, which all charts share."""

    begin_x: float
    end_x: float

    def share(self, x: float) -> float:
        """The position of a time on the axis, from 0 (left) to 1 (right)."""
        span_s = self.end_x - self.begin_x
        return min(max((x - self.begin_x) / span_s, 0.0), 1.0) if span_s > 0 else 0.5

    def at(self, x: float) -> float:
        return WIDTH * self.share(x)


@dataclass(frozen=True, slots=True)
class ShadedSpan:
    """A stretch of time to be shaded."""

    begin_x: float
    end_x: float


def drawing(
    panel: ChartPanel, axis: Axis, times: Sequence[float], marks: Iterable[Mark], spans: Iterable[ShadedSpan]
) -> str:
    def y(value: float) -> float:
        share = (value - panel.bottom) / (panel.top - panel.bottom)
        return HEIGHT * (1 - min(max(share, 0.0), 1.0))

    parts = [_rect("finding", axis.at(span.begin_x), axis.at(span.end_x)) for span in spans]
    parts += [_line("grid", axis.at(x), 0, axis.at(x), HEIGHT) for x in times]
    parts += [_line("grid", 0, y(tick.value), WIDTH, y(tick.value)) for tick in panel.ticks]
    parts += [_rule(rule, y(rule.value)) for rule in panel.rules]
    for line in panel.lines:
        parts += _series(line, axis, y)
    parts += [_line(f"mark {mark.css}", axis.at(mark.x), 0, axis.at(mark.x), HEIGHT) for mark in marks]
    return _svg("".join(parts), f"{panel.title}, {', '.join(line.name for line in panel.lines)}")


def _rule(rule: Rule, at: float) -> str:
    """A level across a chart, moved down a little where the top edge would cut it off."""
    at = min(max(at, _RULE_EDGE), HEIGHT - _RULE_EDGE)
    return _line("rule counted" if rule.is_counted else "rule", 0, at, WIDTH, at)


def level_strip(levels: Columns, axis: Axis) -> str:
    """The worst level of every column, as a band; calm is left empty."""
    parts = []
    for run in levels.runs("level"):
        for begin_x, end_x, level in _stretches(run, axis.end_x):
            if level > 0:
                parts.append(_rect(f"level {LEVEL_NAMES[level]}", axis.at(begin_x), axis.at(end_x)))
    return _svg("".join(parts), "level")


def _stretches(run: list[ColumnPoint], end_x: float) -> Iterable[tuple[float, float, int]]:
    begin = run[0]
    for before, point in zip(run, [*run[1:], None], strict=True):
        if point is None:
            yield begin.x, before.x, int(begin.high)
        elif point.high != begin.high:
            yield begin.x, point.x, int(begin.high)
            begin = point


def _series(line: Line, axis: Axis, y: Scale) -> list[str]:
    parts = []
    for run in line.columns.runs(line.name):
        places = [(axis.at(p.x), y(p.high * line.factor), y(p.low * line.factor)) for p in run]
        if len(places) == 1:
            x, high, low = places[0]
            places = [(x - _LONE_POINT, high, low), (x + _LONE_POINT, high, low)]
        kind = f"{line.colour}{' dashed' if line.is_dashed else ''}"
        if line.is_area:
            base = y(0.0)
            outline = [(places[0][0], base), *((x, high) for x, high, _ in places), (places[-1][0], base)]
            parts.append(f'<path class="area {kind}" d="{_path(outline)}Z"/>')
        # Where a column holds more than one value it shows all of them, from the lowest to the highest.
        if any(high != low for _, high, low in places):
            band = [(x, high) for x, high, _ in places] + [(x, low) for x, _, low in reversed(places)]
            parts.append(f'<path class="band {kind}" d="{_path(band)}Z"/>')
        else:
            parts.append(f'<path class="line {kind}" d="{_path([(x, high) for x, high, _ in places])}"/>')
    return parts


def _svg(inside: str, words: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" '
        f'aria-label="{words}">{inside}</svg>'
    )


def _rect(kind: str, left: float, right: float) -> str:
    return f'<rect class="{kind}" x="{left:.1f}" y="0" width="{max(right - left, 0.8):.1f}" height="{HEIGHT:g}"/>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _path(places: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
