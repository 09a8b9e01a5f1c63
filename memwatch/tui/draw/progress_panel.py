"""How far the job is, how fast, how much there will be, and when it is done."""

from memwatch.errors import printable
from memwatch.model.units import format_count, roughly
from memwatch.model.wording import clock_time
from memwatch.tui.draw.bars import bar
from memwatch.tui.draw.lines import Line, Span, fitting, label, line, width_of
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import amount, between, percent, rate, size
from memwatch.tui.model.picture import JobState, Picture, Progress

TITLE = "progress"
START_S = 10.0  # As long as that, a job may be busy with its start.


def title(picture: Picture, look: Look) -> Line:
    progress = picture.progress
    if progress is None or progress.source is None:
        shares = printable(progress.time_shares) if progress is not None and progress.time_shares else ""
        return line(Span(TITLE, "title"), Span(f" workers: {shares}" if shares else "", "dim"))
    if progress.source == "its output":
        return line(Span(TITLE, "title"), Span(f" as it reports {printable(progress.name or '')}".rstrip(), "dim"))
    return line(Span(TITLE, "title"), Span(f" position in {printable(progress.name or progress.source)}", "dim"))


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    progress = picture.progress
    if progress is None:
        return [line(Span(_nothing_known(picture), "dim"))]
    return [_bar_line(picture, progress, look, width), _numbers(picture, progress, look, width)]


def _nothing_known(picture: Picture) -> str:
    if (picture.elapsed_s or 0) < START_S:
        return "no progress reported yet"
    return "the job reports no progress, and reads no file whose position would show it"


def _bar_line(picture: Picture, progress: Progress, look: Look, width: int) -> Line:
    fraction = progress.fraction
    if fraction is None:
        return line(Span(amount(progress.done, progress.unit), "strong"), " ", Span(_unit(progress), "dim"))
    right = line("  ", Span(percent(fraction, 1).rjust(7), "strong"), "  ", when(picture, look))
    role = "warn" if picture.state == JobState.PAUSED else "job"
    return line(bar(fraction, max(width - max(width_of(right), 34), 4), look.glyphs, role), right)


def when(picture: Picture, look: Look, with_range: bool = True) -> Line:
    """The time left, and its range."""
    progress = picture.progress
    if progress is None or progress.fraction is None:
        return ()
    if progress.fraction >= 1:
        return (Span("done", "ok"),)
    if picture.state == JobState.PAUSED:
        return (Span("paused", "warn"),)
    eta = progress.eta
    if eta is None or eta.seconds is None:
        return (Span("ETA n/a", "dim"),)
    about = roughly(eta.seconds)
    words = line(Span("ETA ", "dim"), Span(about, "strong"))
    if not with_range or eta.soonest_s is None or eta.latest_s is None:
        return words
    spread = between(eta.soonest_s, eta.latest_s, look.glyphs.range)
    return words if spread == about else line(words, Span(f" ({spread})", "dim"))


def _numbers(picture: Picture, progress: Progress, look: Look, width: int) -> Line:
    show = progress.unit
    parts = [
        ()
        if show == "%"  # The bar line says it.
        else line(
            Span(amount(progress.done, show)),
            Span(f" of {amount(progress.total, show)}" if progress.total else "", "dim"),
            Span("" if show == "bytes" else f" {_unit(progress)}", "dim"),
        )
    ]
    eta = progress.eta
    if eta is not None and eta.rate_s and show != "%" and picture.state == JobState.RUNNING:
        parts.append(line(Span(rate(eta.rate_s) if show == "bytes" else f"{format_count(eta.rate_s)}/s")))
    if progress.tokens is not None:
        parts.append(_so_far(format_count(progress.tokens), progress.projected_tokens, format_count, look, " tokens"))
    if progress.output_bytes is not None:
        parts.append(_output(picture, progress, look))
    if eta is not None and eta.seconds is not None and picture.state == JobState.RUNNING:
        parts.append(label("ends", clock_time(picture.now_t + eta.seconds)[:5]))
    return fitting(parts, width)


def _output(picture: Picture, progress: Progress, look: Look) -> Line:
    words = line(Span("out ", "dim"), _so_far(size(progress.output_bytes), progress.projected_output_bytes, size, look))
    free = None if picture.sample is None else picture.sample.disk_free_bytes
    if free is None:
        return words
    more = (progress.projected_output_bytes or progress.output_bytes or 0) - (progress.output_bytes or 0)
    return line(words, Span(", ", "dim"), Span(f"{size(free)} free", "act" if more > free else "dim"))


def _so_far(now: str, projected: float | None, show: object, look: Look, unit: str = "") -> Line:
    assert callable(show)
    later = "" if projected is None else f" {look.glyphs.arrow} {show(projected)}"
    return line(Span(now), Span(later + unit, "dim"))


def _unit(progress: Progress) -> str:
    return "" if progress.unit in (None, "bytes") else printable(progress.unit)
