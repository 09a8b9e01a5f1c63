"""Lines of text with roles, and how they are cut, padded and put side by side. Widths are in terminal cells."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

from memwatch.tui.model.terminal_text import Ink

# What text can be; the theme (app.tcss) knows the colours. As `on`, what is behind it.
ROLES = (
    "dim", "faint", "strong", "frame", "focus", "title", "key",
    "job", "others", "free", "forecast", "ok", "watch", "warn", "act",
    "on-calm", "on-watch", "on-warn", "on-act",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """`action` is what a click on it does; `ink` is for what the job itself has coloured."""

    text: str
    role: str = ""
    on: str = ""
    action: str = ""
    ink: Ink | None = None


Line = tuple[Span, ...]
BLANK: Line = ()


def line(*parts: str | Span | Line) -> Line:
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans.append(Span(part))
        elif isinstance(part, Span):
            spans.append(part)
        else:
            spans.extend(part)
    return tuple(span for span in spans if span.text)


def width_of(line: Line) -> int:
    return sum(cell_len(span.text) for span in line)


def text_of(line: Line) -> str:
    return "".join(span.text for span in line)


def cut(line: Line, width: int, ellipsis: str = "…") -> Line:
    """At most `width` cells; what was left out is hinted at."""
    if width_of(line) <= width:
        return line
    if width <= 0:
        return BLANK
    left = max(width - cell_len(ellipsis), 0)
    spans = []
    for span in line:
        cells = cell_len(span.text)
        if cells >= left:
            spans.append(replace(span, text=set_cell_size(span.text, left).rstrip() + ellipsis))
            break
        spans.append(span)
        left -= cells
    return tuple(spans)


def cut_words(text: str, width: int, ellipsis: str = "…") -> str:
    """At most `width` cells of a sentence. What is left out is whole words, and never a part of a number and its unit:
    `growing 71 MiB/s` becomes `growing…`, not `growing 7…`."""
    if cell_len(text) <= width:
        return text
    words = text.split(" ")
    while words and (cell_len(" ".join(words)) > width - cell_len(ellipsis) or _is_part_of_number(words[-1])):
        words.pop()
    if not words:
        return text_of(cut(line(text), width, ellipsis))
    return " ".join(words).rstrip(",;:") + ellipsis


def _is_part_of_number(word: str) -> bool:
    """A number stands before its unit, so one at the end has lost it."""
    return word.strip("(~")[:1].isdigit() and not word.endswith((",", ";", ":", ".", ")"))


def padded(line: Line, width: int, on: str = "") -> Line:
    """Exactly `width` cells."""
    line = cut(line, width)
    missing = width - width_of(line)
    return (*line, Span(" " * missing, on=on)) if missing else line


def spread(left: Line, right: Line, width: int, gap: int = 2, on: str = "") -> Line:
    """`left` and `right` at the ends of a line. If there is no room for both, the left is cut."""
    room = width - width_of(right)
    if room < gap:
        return cut(right, width)
    left = cut(left, room - gap)
    return line(left, Span(" " * (room - width_of(left)), on=on), right)


def joined(parts: Iterable[Line], gap: str = "  ") -> Line:
    spans: list[Span] = []
    for part in parts:
        if part and spans:
            spans.append(Span(gap))
        spans.extend(part)
    return tuple(spans)


def fitting(parts: Iterable[Line], width: int, gap: str = "   ") -> Line:
    """As many of the parts, from the first, as there is room for: a number is whole or not there."""
    found: list[Line] = []
    for part in parts:
        if not part:
            continue
        if found and width_of(joined([*found, part], gap)) > width:
            break
        found.append(part)
    return cut(joined(found, gap), width)


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Words on at most so many lines; of more than that, the last one ends in an ellipsis."""
    lines = [""]
    for word in text.split():
        candidate = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(candidate) <= width:
            lines[-1] = candidate
        else:
            lines.append(word)
    lines = [shown for shown in lines if shown] or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [text_of(cut(line(shown), width)) for shown in lines[:most]]


_ASCII = str.maketrans(
    {"…": "~", "–": "-", "→": ">", "°": " ", "█": "#", "▌": "#", "·": ".", "•": "*", "×": "x", "─": "-", "│": "|"}
)


def in_ascii(line: Line) -> Line:
    """For terminals that show nothing else; what the job itself writes is no exception."""
    if all(span.text.isascii() for span in line):
        return line
    return tuple(replace(span, text=_as_ascii(span.text)) for span in line)


def _as_ascii(text: str) -> str:
    """A character of two cells becomes two."""
    replaced = text.translate(_ASCII)
    return "".join(c if c.isascii() else "?" * cell_len(c) for c in replaced)


def label(name: str, value: str, role: str = "") -> Line:
    """`peak 24.1 GiB`, the name quieter than the value."""
    return (Span(f"{name} ", "dim"), Span(value, role))
