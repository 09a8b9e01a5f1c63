"""What happened, and why; the newest last."""

from memwatch.errors import printable
from memwatch.journal.event_words import EventLine
from memwatch.model.wording import clock_time
from memwatch.tui.draw.lines import Line, Span, last_rows, line, wrapped
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Picture

_WORDS = {"info": "info", "warn": "WARN", "act": "ACT "}
_ROLES = {"info": "dim", "warn": "warn", "act": "act"}
INDENT = 15
ROWS_EACH = 3  # for one of them


def title(picture: Picture, look: Look) -> Line:
    return (Span("events", "title"),)


def row_count(picture: Picture, look: Look, width: int) -> int:
    return sum(len(entry(happening, width, ROWS_EACH)) for happening in picture.happenings)


def lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    if not picture.happenings:
        return [line(Span("no events yet", "dim"))]
    rows_each = 1 if height <= 2 else ROWS_EACH
    return last_rows(picture.happenings, lambda happening: entry(happening, width, rows_each), height, top)


def entry(happening: EventLine, width: int, most_rows: int) -> list[Line]:
    role = _ROLES[happening.level]
    first, *rest = wrapped(printable(happening.text), max(width - INDENT, 8), most_rows)
    head = line(Span(f"{clock_time(happening.t)} ", "dim"), Span(f"{_WORDS[happening.level]}  ", role), Span(first))
    return [head, *(line(" " * INDENT, Span(more)) for more in rest)]
