"""The biggest processes that are not of the job: candidates to close."""

from memwatch.errors import printable
from memwatch.model.programs import program_name
from memwatch.model.sample import Process
from memwatch.tui.draw.lines import Line, Span, cut, fitting, line, spread
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import size
from memwatch.tui.model.picture import Picture


def title(picture: Picture, look: Look) -> Line:
    return (Span("other big processes", "title"),)


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    if not picture.others:
        return [line(Span("none found" if picture.others is not None else "no sample yet", "dim"))]
    biggest = sorted(picture.others, key=_size, reverse=True)
    return [_row(process, width) for process in biggest[:height]]


def biggest(picture: Picture) -> Process | None:
    return max(picture.others or (), key=_size, default=None)


def one_line(picture: Picture, width: int) -> Line:
    biggest = sorted(picture.others or (), key=_size, reverse=True)
    parts = [line(Span(name(process)), " ", Span(size(process.taken_bytes), "dim")) for process in biggest]
    return fitting([line(Span("others ", "dim"), *parts[:1]), *parts[1:]], width) if parts else ()


def name(process: Process) -> str:
    return printable(program_name(process.command)) if process.command else str(process.pid)


def _row(process: Process, width: int) -> Line:
    left = line(Span(f"{process.pid:>7} ", "dim"), Span(name(process)))
    return cut(spread(left, line(Span(size(process.taken_bytes).rjust(9))), width, gap=1), width)


def _size(process: Process) -> int:
    return process.taken_bytes
