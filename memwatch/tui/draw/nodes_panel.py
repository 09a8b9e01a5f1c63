"""The nodes of a run on many machines, as a table. The last column is there where it fits.

node         workers  done         rate  headroom  level    last min  running
gpu-07             8   112    740 MiB/s    41 GiB  calm     ▅▆▆▆▆▆▆▆  118, 126, ...
"""

from dataclasses import asdict

from memwatch.errors import printable
from memwatch.model.node_rows import NodeRow, segments_text
from memwatch.tui.draw.bars import sparkline
from memwatch.tui.draw.edges import nodes_at_work
from memwatch.tui.draw.lines import Line, Span, cut, line
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import rate, size
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.series import STEPS

_ROLES = {"warn": "warn", "act": "act", "watch": "watch", "calm": "ok"}
_STATES = {"lost": "act", "paused": "warn", "idle": "dim"}
NAME_WIDTH = 22
WIDE = 96  # from here on there is room for the numbers of the segments


def title(picture: Picture, look: Look) -> Line:
    words = f" {nodes_at_work(picture).removesuffix(' nodes')}"
    if picture.progress is not None and picture.progress.segments is not None:
        words += f", {segments_text(asdict(picture.progress))}"
    return (Span("nodes", "title"), Span(words, "dim"))


def row_count(picture: Picture, look: Look, width: int) -> int:
    return 1 + len(picture.nodes)


def lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    if not picture.nodes:
        return [line(Span("no node has reported yet", "dim"))]
    room = max(height - 1, 1)
    top = min(top, max(len(picture.nodes) - room, 0))
    head = f"{'node':<{NAME_WIDTH}} {'workers':>7} {'done':>6} {'rate':>11} {'headroom':>9}  {'level':<7}  last min"
    drawn = [cut(line(Span(head + ("  running" if width >= WIDE else ""), "dim")), width)]
    drawn += [cut(_row(row, look, width), width) for row in picture.nodes[top : top + room]]
    return drawn[:height]


def _row(row: NodeRow, look: Look, width: int) -> Line:
    name = printable(row.name)
    shown = name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + look.glyphs.ellipsis
    figures = f" {row.workers:>7} {row.done:>6} {rate(row.rate_bytes_s):>11} {size(row.headroom_bytes):>9}  "
    if row.state in _STATES:
        last = Span(f"{row.state:<7}", _STATES[row.state])
    else:
        last = Span(f"{row.level or 'n/a':<7}", _ROLES.get(row.level or "", "dim"))
    trend = Span(f"  {sparkline(row.trend, look.glyphs):<{STEPS}}", "others")
    running = "  " + ", ".join(map(str, row.running)) if width >= WIDE and row.running else ""
    return line(Span(f"{shown:<{NAME_WIDTH}}"), Span(figures), last, trend, Span(running, "dim"))
