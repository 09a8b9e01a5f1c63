"""The charts and the words around them: what is when on top, small multiples on one time axis below."""

from collections.abc import Sequence
from datetime import tzinfo

from memwatch.diagnose.findings import Finding
from memwatch.model.units import format_duration
from memwatch.report.axes import Mark, time_ticks
from memwatch.report.html import Html, element, joined
from memwatch.report.panels import ChartPanel, panels_of
from memwatch.report.run_story import RecordGap, RunStory
from memwatch.report.svg import Axis, ShadedSpan, drawing, level_strip

# Badges nearer than this share of the width would lie on each other, on a phone too; then they go one row down.
BADGE_SHARE = 0.055
BADGE_ROWS = 4
BADGE_ROW_REM = 1.5
# Narrower gaps than this have no room for words.
LABELLED_SHARE = 0.12
LAST_TICK_SHARE = 0.95


def charts(story: RunStory, lettered: Sequence[tuple[str, Finding]], zone: tzinfo | None) -> Html:
    if story.begin_x is None or story.end_x is None:
        return Html("")
    axis = Axis(story.begin_x, story.end_x)
    spans = [(letter, span) for letter, finding in lettered if (span := _span(finding, axis)) is not None]
    ticks = time_ticks(axis.begin_x, axis.end_x, zone)
    drawn = [_chart(panel, axis, [tick.value for tick in ticks], story, spans) for panel in panels_of(story)]
    if not drawn:
        return Html("")
    times = [
        element("span", tick.label, class_=_tick_class(axis, tick.value), style=_left(axis, tick.value))
        for tick in ticks
    ]
    lane = element("div", _badges(story.marks, axis), Html(level_strip(story.levels, axis)), class_="lane")
    inside = [lane, _spans(spans, axis), *drawn, element("div", *times, class_="xaxis")]
    return joined([element("h2", "Timeline"), element("div", *inside, class_="charts")])


def _chart(
    panel: ChartPanel, axis: Axis, times: Sequence[float], story: RunStory, spans: Sequence[tuple[str, ShadedSpan]]
) -> Html:
    keys = [
        element("li", element("i", class_=f"{line.colour}{' dashed' if line.is_dashed else ''}"), line.label)
        for line in panel.lines
    ]
    header = element(
        "header", element("h3", panel.title, element("small", panel.of)), element("ul", *keys, class_="keys")
    )
    svg = Html(drawing(panel, axis, times, story.marks, [span for _, span in spans]))
    ticks = [element("span", tick.label, class_="tick", style=_bottom(panel, tick.value)) for tick in panel.ticks]
    rules = [
        element(
            "span",
            rule.label,
            class_="rule-label counted" if rule.is_counted else "rule-label",
            style=_bottom(panel, rule.value),
        )
        for rule in panel.rules
    ]
    gaps = [_gap(gap, axis) for gap in story.gaps]
    words = [] if panel.is_low else [_gap_words(gap, axis) for gap in story.gaps]
    plot = element("div", *gaps, svg, *ticks, *rules, *words, class_="plot low" if panel.is_low else "plot")
    return element("section", header, plot, class_="chart", id=panel.name)


def _gap(gap: RecordGap, axis: Axis) -> Html:
    left, right = axis.share(gap.begin_x), axis.share(gap.end_x)
    return element("div", class_="gap", style=f"left:{100 * left:.2f}%;width:{100 * (right - left):.2f}%")


def _gap_words(gap: RecordGap, axis: Axis) -> Html:
    left, right = axis.share(gap.begin_x), axis.share(gap.end_x)
    if right - left < LABELLED_SHARE:
        return Html("")
    words = f"{gap.kind}, {format_duration(gap.seconds)}"
    return element("span", words, class_="gap-label", style=f"left:{50 * (left + right):.2f}%")


def _badges(marks: Sequence[Mark], axis: Axis) -> Html:
    rows: list[float] = []  # where each row's last badge is
    badges = []
    for number, mark in enumerate(marks, 1):
        share = axis.share(mark.x)
        row = next((row for row, last in enumerate(rows) if share - last >= BADGE_SHARE), len(rows))
        if row >= BADGE_ROWS:
            continue  # No room: its line is drawn and the list has it.
        rows[row : row + 1] = [share]
        style = f"left:{100 * share:.2f}%;top:{BADGE_ROW_REM * row:g}rem"
        badges.append(
            element("a", str(number), class_=f"badge {mark.css}", style=style, href=f"#event-{number}", title=mark.text)
        )
    return element("div", *badges, class_="badges", style=f"height:{BADGE_ROW_REM * len(rows):g}rem")


def _spans(spans: Sequence[tuple[str, ShadedSpan]], axis: Axis) -> Html:
    if not spans:
        return Html("")
    parts = []
    for letter, span in spans:
        left, right = 100 * axis.share(span.begin_x), 100 * axis.share(span.end_x)
        parts.append(element("div", class_="span-bar", style=f"left:{left:.2f}%;width:{right - left:.2f}%"))
        style = f"left:{(left + right) / 2:.2f}%"
        parts.append(element("a", letter, class_="span-label", style=style, href=f"#finding-{letter}"))
    return element("div", *parts, class_="spans")


def _span(finding: Finding, axis: Axis) -> ShadedSpan | None:
    """The time of a finding on the axis; None if the axis does not show it, or it is unknown."""
    if finding.start_t is None:
        return None
    end_t = finding.start_t if finding.end_t is None else max(finding.end_t, finding.start_t)
    if end_t < axis.begin_x or finding.start_t > axis.end_x:
        return None
    return ShadedSpan(finding.start_t, end_t)


def _tick_class(axis: Axis, x: float) -> str:
    """The label of a tick at the right edge stands to its left, or a phone would scroll sideways."""
    return "tick last" if axis.share(x) > LAST_TICK_SHARE else "tick"


def _left(axis: Axis, x: float) -> str:
    return f"left:{100 * axis.share(x):.2f}%"


def _bottom(panel: ChartPanel, value: float) -> str:
    return f"bottom:{100 * (value - panel.bottom) / (panel.top - panel.bottom):.2f}%"
