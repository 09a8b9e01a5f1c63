"""The panels with text that grows at its end and scrolls: the job's own output, and the events of the run.

The output is shown as a terminal would show it; long lines go on in the next row. Of the events the newest is last.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.cells import cell_len, chop_cells

from memwatch.errors import printable
from memwatch.journal.event_words import EventLine
from memwatch.model.wording import clock_time
from memwatch.tui.draw.lines import Line, Span, line, wrapped
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.terminal_text import TextLine

Entry = TypeVar("Entry")
_WORDS = {"info": "info", "warn": "WARN", "act": "ACT "}
_ROLES = {"info": "dim", "warn": "warn", "act": "act"}
INDENT = 15
ROWS_EACH = 3  # of an event


def output_title(picture: Picture, look: Look) -> Line:
    return (Span("output", "title"),)


def output_subtitle(picture: Picture, look: Look) -> Line:
    return (Span("l", "key", action="app.output"), Span(" full", "dim", action="app.output"))


def output_row_count(picture: Picture, look: Look, width: int) -> int:
    return sum(len(output_rows(text, width)) for text in picture.output)


def output_lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    if not picture.output:
        is_replay = picture.kind == ViewKind.REPLAY
        return [line(Span("the journal has no output for this moment" if is_replay else "no output yet", "dim"))]
    # In a row or two, the start of a line says more than its end.
    rows_each = 1 if height <= 2 else None
    return last_rows(picture.output, lambda text: output_rows(text, width)[:rows_each], height, top)


def output_rows(text: TextLine, width: int) -> list[Line]:
    rows: list[list[Span]] = [[]]
    left = width
    for run, ink in text:
        while run:
            piece = (chop_cells(run, left) or [""])[0] if left > 1 else ""
            if piece:
                rows[-1].append(Span(piece, ink=ink))
            run = run[len(piece) :]
            left -= cell_len(piece)
            if run:
                rows.append([])
                left = max(width, 2)
    return [tuple(row) for row in rows]


def event_title(picture: Picture, look: Look) -> Line:
    return (Span("events", "title"),)


def event_row_count(picture: Picture, look: Look, width: int) -> int:
    return sum(len(event_rows(happening, width, ROWS_EACH)) for happening in picture.happenings)


def event_lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    if not picture.happenings:
        return [line(Span("no events yet", "dim"))]
    rows_each = 1 if height <= 2 else ROWS_EACH
    return last_rows(picture.happenings, lambda happening: event_rows(happening, width, rows_each), height, top)


def event_rows(happening: EventLine, width: int, most_rows: int) -> list[Line]:
    role = _ROLES[happening.level]
    first, *rest = wrapped(printable(happening.text), max(width - INDENT, 8), most_rows)
    head = line(Span(f"{clock_time(happening.t)} ", "dim"), Span(f"{_WORDS[happening.level]}  ", role), Span(first))
    return [head, *(line(" " * INDENT, Span(more)) for more in rest)]


def last_rows(entries: Sequence[Entry], rows_of: Callable[[Entry], list[Line]], height: int, top: int) -> list[Line]:
    """The last rows of a list whose entries take one or more; `top` is how far they are scrolled back."""
    rows: list[Line] = []
    for entry in reversed(entries):
        rows[:0] = rows_of(entry)
        if len(rows) >= height + top:
            break
    end = max(len(rows) - top, min(height, len(rows)))
    return rows[max(end - height, 0) : end]
