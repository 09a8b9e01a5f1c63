"""The biggest processes that are not of the job: who else takes the memory."""

import os

from memwatch.errors import printable
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
    biggest = sorted(picture.others, key=taken_bytes, reverse=True)
    return [_row(process, width) for process in biggest[:height]]


def biggest(picture: Picture) -> Process | None:
    return max(picture.others or (), key=taken_bytes, default=None)


def one_line(picture: Picture, width: int) -> Line:
    biggest = sorted(picture.others or (), key=taken_bytes, reverse=True)
    parts = [line(Span(name(process)), " ", Span(size(taken_bytes(process)), "dim")) for process in biggest]
    return fitting([line(Span("others ", "dim"), *parts[:1]), *parts[1:]], width) if parts else ()


def name(process: Process) -> str:
    """The name of the program, without its path and arguments; of a Python script, that name too."""
    words = process.command.split()
    if not words:
        return str(process.pid)
    program = os.path.basename(words[0]) or words[0]
    script = next((os.path.basename(word) for word in words[1:] if word.endswith(".py")), None)
    return printable(f"{program} {script}" if script and program.startswith("python") else program)


def _row(process: Process, width: int) -> Line:
    left = line(Span(f"{process.pid:>7} ", "dim"), Span(name(process)))
    return cut(spread(left, line(Span(size(taken_bytes(process)).rjust(9))), width, gap=1), width)


def taken_bytes(process: Process) -> int:
    return process.rss_bytes + process.swap_bytes
