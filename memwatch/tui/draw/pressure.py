"""How long programs wait for memory and for disks (PSI), with the guard's thresholds."""

from memwatch.tui.draw.chart import Chart, ChartLevel, chart_lines, split_width
from memwatch.tui.draw.lines import Line, Span, fitting, label, line
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import percent
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.series import columns

TOP_FRACTION = 0.4  # with programs stalled for longer than that, how much longer makes no difference


def title(picture: Picture, look: Look) -> Line:
    return (Span("pressure", "title"), Span(" time stalled (PSI)", "dim"))


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    if picture.sample is not None and picture.sample.pressure is None:
        return [line(Span("n/a: this kernel has no pressure stall information (PSI)", "dim"))]
    drawn = [memory_line(picture, width), io_line(picture, width)]
    if height - len(drawn) >= 3:
        drawn += _chart(picture, look, width, height - len(drawn))
    return drawn


def memory_line(picture: Picture, width: int) -> Line:
    some, full = picture.rates.stall_some_fraction, picture.rates.stall_full_fraction
    return fitting(
        [
            line(Span("memory ", "dim"), Span(percent(some, 1).rjust(6), _role(picture, some))),
            label("all stalled", percent(full, 1).rjust(6)),
        ],
        width,
    )


def io_line(picture: Picture, width: int) -> Line:
    return fitting(
        [
            line(Span("disk   ", "dim"), Span(percent(picture.rates.io_stall_some_fraction, 1).rjust(6))),
            label("all stalled", percent(picture.rates.io_stall_full_fraction, 1).rjust(6)),
        ],
        width,
    )


def _levels(picture: Picture) -> list[ChartLevel]:
    """The guard's thresholds, the milder first."""
    judged = picture.judged
    levels = {} if judged is None else {"warn": judged.warn_stall_fraction, "act": judged.act_stall_fraction}
    return [ChartLevel(fraction, name, name) for name, fraction in levels.items() if fraction is not None]


def _role(picture: Picture, some: float | None) -> str:
    reached = [level.role for level in _levels(picture) if some is not None and some >= level.value]
    return reached[-1] if reached else ""


def _chart(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    labels = f"{100 * TOP_FRACTION:.0f}%", f"{50 * TOP_FRACTION:.0f}%"
    past, future = split_width(width, max(map(len, labels)))
    column_s = look.chart_span_s(picture.elapsed_s) / past
    (some,) = columns(picture.points, picture.now_t, column_s, past, lambda point: point.stall_some_fraction)
    drawn = Chart(TOP_FRACTION, *labels, column_s, some, [None] * past, [None] * future, _levels(picture), role="job")
    return chart_lines(drawn, height, width, look.glyphs)
