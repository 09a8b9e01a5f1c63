"""What is around a panel: a box with its title in it, a rule with the title, or nothing."""

from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.draw.lines import BLANK, Line, Span, cut, line, padded, width_of
from memwatch.tui.draw.look import Frame


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
