"""Where a replay stands in the whole run: a line with what happened marked on it. A click goes there."""

from dataclasses import replace

from memwatch.tui.draw.glyphs import Glyphs
from memwatch.tui.draw.lines import Line, Span, line, width_of
from memwatch.tui.draw.words import clock, stopwatch

_WEIGHT = {"info": 0, "warn": 1, "act": 2}


def timeline(
    times: tuple[float, float, float], marks: list[tuple[float, str]], words: str, width: int, glyphs: Glyphs
) -> Line:
    """`times` are those of the start, of now, and of the end."""
    start_t, now_t, end_t = times
    left = line(" ", Span(f"{words:<7}", "key", action="app.pause"), Span(f" {clock(now_t)}  ", "strong"))
    right = line(Span(f"  {stopwatch(now_t - start_t)} of {stopwatch(end_t - start_t)} ", "dim"))
    room = max(width - width_of(left) - width_of(right), 1)

    def column(t: float) -> int:
        return min(max(round((t - start_t) / max(end_t - start_t, 1e-9) * (room - 1)), 0), room - 1)

    here = column(now_t)
    cells = [Span(glyphs.passed, "job")] * here + [Span(glyphs.across, "frame")] * (room - here)
    for t, level in sorted(marks, key=lambda mark: _WEIGHT[mark[1]]):
        cells[column(t)] = Span(glyphs.tick, "dim") if level == "info" else Span(glyphs.warning, level)
    cells[here] = Span(glyphs.here, "strong")
    shares = (number / max(room - 1, 1) for number in range(room))
    return line(
        left,
        *(replace(cell, action=f"app.seek({share:.4f})") for cell, share in zip(cells, shares, strict=True)),
        right,
    )
