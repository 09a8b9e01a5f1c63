"""Where a replay stands in the whole run: a line with what happened marked on it."""

from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.draw.lines import Line, Span, line, width_of
from memwatch.tui.draw.words import clock, stopwatch

_WEIGHT = {"info": 0, "warn": 1, "act": 2}


def timeline(
    start_t: float, end_t: float, now_t: float, marks: list[tuple[float, str]], words: str, width: int, glyphs: Glyphs
) -> Line:
    left = line(" ", Span(words, "key"), Span(f"  {clock(now_t)}  ", "strong"))
    right = line(Span(f"  {stopwatch(now_t - start_t)} of {stopwatch(end_t - start_t)} ", "dim"))
    room = max(width - width_of(left) - width_of(right), 1)
    cells = [Span(glyphs.across, "frame")] * room

    def column(t: float) -> int:
        span = max(end_t - start_t, 1e-9)
        return min(max(int((t - start_t) / span * (room - 1) + 0.5), 0), room - 1)

    for t, level in sorted(marks, key=lambda mark: _WEIGHT.get(mark[1], 0)):
        cells[column(t)] = Span(glyphs.warning if level != "info" else glyphs.tick, level if level != "info" else "dim")
    here = column(now_t)
    cells[:here] = [Span(glyphs.passed, "job") if cell.role == "frame" else cell for cell in cells[:here]]
    cells[here] = Span(glyphs.here, "strong")
    return line(left, *cells, right)
