"""For a terminal too small for anything else: the state and the last warning."""

from memwatch.errors import printable
from memwatch.tui.draw import banner, edges, progress_panel
from memwatch.tui.draw.lines import Line, Span, cut, fitting, line, wrapped
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import percent, size, stopwatch
from memwatch.tui.model.picture import Picture, ViewKind

IMPORTANT = ("p", "x", "d", "space", "n", "q", "?")


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    rows = [_status(picture, look, width), _memory(picture, width)]
    words, role = _alarm(picture, look)
    if words:
        rows += [line(Span(text, role)) for text in wrapped(words, width, max(height - 3, 1))]
    if height > len(rows):
        keys = [key for key in edges.keys(picture) if key[0] in IMPORTANT]
        rows.append(fitting([edges.drawn_key(key) for key in keys], width, "  "))
    return [cut(row, width) for row in rows[:height]]


def _status(picture: Picture, look: Look, width: int) -> Line:
    parts = [edges.state(picture, look)]
    if picture.progress is not None and picture.progress.fraction is not None:
        parts += [
            line(Span(percent(picture.progress.fraction, 1), "strong")),
            progress_panel.when(picture, look, with_range=False),
        ]
    else:
        parts.append(line(stopwatch(picture.elapsed_s)))
    return fitting(parts, width, "  ")


def _memory(picture: Picture, width: int) -> Line:
    if picture.kind == ViewKind.ATTACH:
        return line(Span(edges.nodes_at_work(picture), "strong"))
    if picture.room is None:
        return line(Span("memory n/a", "dim"))
    parts = [
        line(Span("RAM ", "dim"), Span(percent(picture.room.used_fraction), "strong")),
        line(Span("free ", "dim"), size(picture.room.available_bytes)),
        () if picture.job_bytes is None else line(Span("job ", "dim"), Span(size(picture.job_bytes), "job")),
    ]
    return fitting(parts, width, "  ")


def _alarm(picture: Picture, look: Look) -> tuple[str, str]:
    """The banner's words; where it has none, the last warning there was."""
    if (found := banner.alarm(picture, look)) is not None:
        return "".join(found[0]), found[1]
    last = next((one for one in reversed(picture.happenings) if one.level != "info"), None)
    if last is None:
        return "", ""
    return f"{look.glyphs.warning} {last.level.upper()} {printable(last.text)}", last.level
