"""Look: what the user has chosen to see, and how; and the frame around a panel."""

from dataclasses import dataclass
from enum import StrEnum

from memwatch.tui.draw.glyphs import UNICODE, Glyphs
from memwatch.tui.draw.lines import BLANK, Line, Span, cut, line, padded, width_of
from memwatch.tui.model.process_rows import SortOrder

# Seconds across a chart's past. The first that holds the whole run so far is taken, unless the user wants another.
SPANS_S = (60, 120, 300, 600, 1800, 3600)
LONGEST_BY_ITSELF_S = 600


class Frame(StrEnum):
    """What is around a panel: a box, a rule above it, nothing."""

    BOX = "box"
    RULE = "rule"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Look:
    glyphs: Glyphs = UNICODE
    has_colours: bool = True
    frame: Frame = Frame.BOX
    order: SortOrder = SortOrder.MEMORY
    as_tree: bool = True
    wanted: str = ""
    span_s: int | None = None

    def chart_span_s(self, elapsed_s: float | None) -> int:
        if self.span_s is not None:
            return self.span_s
        shortest = min(elapsed_s or 0, LONGEST_BY_ITSELF_S)
        return next(span for span in SPANS_S if span >= shortest)

    def other_span_s(self, elapsed_s: float | None, step: int) -> int:
        """The next longer or shorter one."""
        index = SPANS_S.index(self.chart_span_s(elapsed_s)) + step
        return SPANS_S[min(max(index, 0), len(SPANS_S) - 1)]


def inner_size(frame: Frame, width: int, height: int) -> tuple[int, int]:
    """What is left inside: there is always a space at each side."""
    match frame:
        case Frame.BOX:
            return max(width - 4, 1), max(height - 2, 0)
        case Frame.RULE:
            return max(width - 2, 1), max(height - 1, 0)
        case Frame.NONE:
            return max(width - 2, 1), height


def framed(
    rows: list[Line], frame: Frame, title: Line, right: Line, size: tuple[int, int], glyphs: Glyphs, is_focused: bool
) -> list[Line]:
    width, height = size
    inner_width, inner_height = inner_size(frame, width, height)
    inside = [padded(row, inner_width) for row in _filled(rows, inner_height)]
    if frame == Frame.NONE:
        return [line(" ", row, " ") for row in inside]
    role = "focus" if is_focused else "frame"
    if frame == Frame.RULE:
        top = _edge(title, right, width, glyphs.across, glyphs.across, glyphs, role)
        return [top, *(line(" ", row, " ") for row in inside)][:height]
    left_top, right_top, left_bottom, right_bottom = [*glyphs.corners]
    side = Span(glyphs.down, role)
    bottom = line(Span(left_bottom + glyphs.across * max(width - 2, 0) + right_bottom, role))
    top = _edge(title, right, width, left_top, right_top, glyphs, role)
    return [top, *(line(side, " ", row, " ", side) for row in inside), bottom][:height]


def _edge(title: Line, right: Line, width: int, start: str, end: str, glyphs: Glyphs, role: str) -> Line:
    room = max(width - 6, 0)
    title = cut(title, room)
    if width_of(title) + width_of(right) + 4 > room:
        right = BLANK
    title = line(" ", title, " ") if title else BLANK
    right = line(" ", right, " ") if right else BLANK
    rest = max(width - 3 - width_of(title) - width_of(right) - (1 if right else 0), 0)
    tail = Span((glyphs.across if right else "") + end, role)
    return line(Span(start + glyphs.across, role), title, Span(glyphs.across * rest, role), right, tail)


def _filled(rows: list[Line], height: int) -> list[Line]:
    return [*rows[:height], *[BLANK] * (height - len(rows))]
