"""The nodes of a run on many machines, as a table.

node         workers  done  running       MB/s     headroom  level
gpu-07             8   112  118, 126, ...  740 MiB/s  41 GiB  calm
"""

from dataclasses import asdict

from memwatch.errors import printable
from memwatch.model.node_rows import NodeRow, segments_text
from memwatch.tui.draw.lines import Line, Span, cut, line
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import rate, size
from memwatch.tui.model.picture import Picture

_ROLES = {"warn": "warn", "act": "act", "watch": "watch", "calm": "ok"}
_STATES = {"lost": "act", "paused": "warn", "idle": "dim"}
NAME_WIDTH = 24
WIDE = 96  # from here on there is room for the numbers of the segments


def title(picture: Picture, look: Look) -> Line:
    working = sum(row.state in ("working", "paused") for row in picture.nodes)
    words = f" {working} of {len(picture.nodes)}"
    if picture.progress is not None and picture.progress.segments is not None:
        words += f", {segments_text(asdict(picture.progress))}"
    return (Span("nodes", "title"), Span(words, "dim"))


def row_count(picture: Picture, look: Look, width: int) -> int:
    return 1 + len(picture.nodes)


def lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    room = max(height - 1, 1)
    top = min(top, max(len(picture.nodes) - room, 0))
    head = f"{'node':<{NAME_WIDTH}} {'workers':>7} {'done':>6} {'rate':>11} {'headroom':>9}  {'level':<7}"
    drawn = [line(Span(head + ("  running" if width >= WIDE else ""), "dim"))]
    drawn += [cut(_row(row, width), width) for row in picture.nodes[top : top + room]]
    return drawn[:height]


def _row(row: NodeRow, width: int) -> Line:
    name = printable(row.name)
    shown = name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…"
    figures = f" {row.workers:>7} {row.done:>6} {rate(row.rate_bytes_s):>11} {size(row.headroom_bytes):>9}  "
    if row.state in _STATES:
        last = Span(f"{row.state:<7}", _STATES[row.state])
    else:
        last = Span(f"{row.level or 'n/a':<7}", _ROLES.get(row.level or "", "dim"))
    running = "  " + ", ".join(map(str, row.running)) if width >= WIDE and row.running else ""
    return line(Span(f"{shown:<{NAME_WIDTH}}"), Span(figures), last, Span(running, "dim"))
