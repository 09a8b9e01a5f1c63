"""Bars and sparklines: a value, or its way here, in one line."""

from collections.abc import Sequence

from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.draw.lines import Line, Span, line

EIGHTHS = 8


def bar(fraction: float | None, width: int, glyphs: Glyphs, role: str = "job") -> Line:
    """A bar that is filled up to this fraction, exact to an eighth of a cell."""
    return stacked([(fraction or 0.0, role)], width, glyphs)


def stacked(shares: Sequence[tuple[float, str]], width: int, glyphs: Glyphs) -> Line:
    """Shares of the whole, one after the other; the rest is free. Without colours the first one is solid."""
    spans: list[Span] = []
    filled, total = 0, 0.0
    for number, (share, role) in enumerate(shares):
        total = min(total + max(share, 0.0), 1.0)
        end = round(total * width * EIGHTHS)
        full, rest = divmod(end, EIGHTHS)
        cells = full - filled
        if cells > 0:
            spans.append(_full(cells, number, role, glyphs))
            filled = full
        if rest and cells >= 0 and filled < width and (partial := _partial(rest, number, glyphs)):
            behind = shares[number + 1][1] if number + 1 < len(shares) else "free"
            spans.append(Span(partial, role, on=behind if glyphs.has_colours else ""))
            filled += 1
    if filled < width:
        spans.append(Span(glyphs.free * (width - filled), "faint", on="free" if glyphs.has_colours else ""))
    return line(*spans)


def _full(cells: int, number: int, role: str, glyphs: Glyphs) -> Span:
    """Full cells, drawn by their background where there are colours: fonts leave gaps between blocks."""
    if glyphs.has_colours:
        return Span(" " * cells, on=role)
    return Span((glyphs.lengths[-1] if number == 0 else glyphs.others) * cells, role)


def _partial(eighths: int, number: int, glyphs: Glyphs) -> str:
    if glyphs.has_colours:
        return glyphs.lengths[eighths]
    solid = glyphs.lengths[-1] if number == 0 else glyphs.others
    return solid if eighths >= EIGHTHS // 2 else ""


def spark(values: Sequence[float | None], top: float, glyphs: Glyphs, role: str) -> Line:
    """A chart one cell high on a fixed scale; something is never drawn as nothing."""
    text = "".join(_height(value, top, glyphs) for value in values)
    return (Span(text, role),)


def _height(value: float | None, top: float, glyphs: Glyphs) -> str:
    if value is None or top <= 0:
        return " "
    eighths = round(min(max(value / top, 0.0), 1.0) * EIGHTHS)
    return glyphs.heights[max(eighths, 1)]


def sparkline(steps: Sequence[int], glyphs: Glyphs) -> str:
    """A chart one cell high, scaled to its own highest value: flat if nothing changes, climbing if it grows. It never
    fills the cell, or rows would touch."""
    heights = glyphs.heights[:-1]
    top = max(steps, default=0)
    return "".join(heights[max(round(taken / top * (len(heights) - 1)), 1)] for taken in steps) if top else ""
