"""The job's own output, as a terminal would show it; long lines go on in the next row."""

from rich.cells import cell_len, chop_cells

from memwatch.tui.draw.lines import Line, Span, last_rows, line
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.terminal_text import TextLine


def title(picture: Picture, look: Look) -> Line:
    return (Span("output", "title"),)


def subtitle(picture: Picture, look: Look) -> Line:
    return (Span("l", "key", action="app.output"), Span(" full", "dim", action="app.output"))


def row_count(picture: Picture, look: Look, width: int) -> int:
    return sum(len(in_rows(text, width)) for text in picture.output)


def lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    if not picture.output:
        is_replay = picture.kind == ViewKind.REPLAY
        return [line(Span("the journal has no output for this moment" if is_replay else "no output yet", "dim"))]
    # In a row or two, the start of a line says more than its end.
    rows_each = 1 if height <= 2 else None
    return last_rows(picture.output, lambda text: in_rows(text, width)[:rows_each], height, top)


def in_rows(text: TextLine, width: int) -> list[Line]:
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
