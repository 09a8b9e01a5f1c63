"""The job's processes as a table; where there is no job, the machine's biggest."""

from typing import NamedTuple

from memwatch.errors import printable
from memwatch.model.programs import as_given
from memwatch.model.sample import Process
from memwatch.tui.draw import others
from memwatch.tui.draw.bars import sparkline
from memwatch.tui.draw.lines import Line, Span, cut, line
from memwatch.tui.draw.look import Frame, Look
from memwatch.tui.draw.words import UNKNOWN, size
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.process_rows import Arranged, SortOrder, arranged
from memwatch.tui.model.series import STEPS

_STATES = {"D": "disk wait", "T": "stopped", "t": "stopped", "Z": "ended"}
WIDE = 76  # from here on there is room for the last minute and the disk
WIDEST = 92  # and from here on for reads and writes in columns of their own


def title(picture: Picture, look: Look) -> Line:
    if not picture.has_job:
        return (Span("biggest processes", "title"),)
    count = len(picture.processes)
    return (Span("processes", "title"), Span(f" {count} of this job" if count else "", "dim"))


def subtitle(picture: Picture, look: Look) -> Line:
    words = [Span(f"by {look.order}", "dim", action="app.sort")]
    if look.wanted:
        words = [Span(f"/{printable(look.wanted)}", "key", action="app.filter"), Span(" ", "dim"), *words]
    return tuple(words)


def rows_of(picture: Picture, look: Look) -> list[Arranged]:
    return arranged(picture.processes, look.order, look.as_tree and picture.has_job, look.wanted)


def row_count(picture: Picture, look: Look, width: int) -> int:
    return 1 + len(picture.processes)


def lines(picture: Picture, look: Look, width: int, height: int, top: int = 0) -> list[Line]:
    found = rows_of(picture, look)
    if not found:
        words = "no process matches" if look.wanted else "no process yet"
        return [line(Span(words, "dim"))]
    columns = _Columns.fitting(picture, width)
    drawn = [_head(look, columns)]
    room = max(height - 1, 1)
    top = min(top, max(len(found) - room, 0))
    shown = found[top : top + room]
    left = found[top + room :]
    if left and len(shown) > 1:
        left = [shown.pop(), *left]
    parents = {one.row.process.pid: one.row.process for one in found}
    drawn += [cut(_row(one, parents, look, columns), width) for one in shown]
    if left:
        taken = sum(one.row.process.taken_bytes for one in left)
        drawn.append(line(Span(f"{look.glyphs.ellipsis} {len(left)} more, {size(taken)}".rjust(19), "dim")))
    elif look.frame != Frame.BOX and len(drawn) < height and picture.has_job:
        drawn.append(others.one_line(picture, width))  # Where they have no panel of their own.
    return drawn[:height]


class _Columns(NamedTuple):
    """Which of the optional columns are shown."""

    swap: bool
    trend_and_disk: bool
    reads_apart: bool

    @classmethod
    def fitting(cls, picture: Picture, width: int) -> "_Columns":
        memory = None if picture.sample is None else picture.sample.memory
        has_swap = memory is None or memory.swap_total_bytes > 0
        return cls(has_swap, trend_and_disk=width >= WIDE, reads_apart=width >= WIDEST)


def _head(look: Look, columns: _Columns) -> Line:
    def head(text: str, order: SortOrder | None) -> Span:
        return Span(text, "strong" if order == look.order else "dim", action="app.sort")

    spans = [head("    PID", SortOrder.PID), head(" S", None), head("       RSS", SortOrder.MEMORY)]
    if columns.trend_and_disk:
        spans.append(head(" LAST MIN", SortOrder.MEMORY))
    if columns.swap:
        spans.append(head("      SWAP", None))
    spans.append(head("  CPU %", SortOrder.CPU))
    if columns.reads_apart:
        spans += [head("    READ/s", SortOrder.DISK), head("   WRITE/s", SortOrder.DISK)]
    elif columns.trend_and_disk:
        spans.append(head("    DISK/s", SortOrder.DISK))
    return (*spans, head("  COMMAND", None))


def _row(one: Arranged, parents: dict[int, Process], look: Look, columns: _Columns) -> Line:
    row, process = one.row, one.row.process
    cpu = UNKNOWN if row.cpu_fraction is None else f"{100 * row.cpu_fraction:.0f}"
    spans = [
        Span(f"{process.pid:>7}", "dim"),
        Span(f" {process.state:<1}", _state_role(process)),
        Span(f"{size(process.rss_bytes):>10}", "job"),
    ]
    if columns.trend_and_disk:
        spans.append(Span(f" {sparkline(row.trend, look.glyphs):>{STEPS}}", "others"))
    if columns.swap:
        spans.append(Span(f"{size(process.swap_bytes):>10}", "" if process.swap_bytes else "dim"))
    spans.append(Span(f"{cpu:>7}"))
    if columns.reads_apart:
        spans += [
            Span(f"{size(row.read_bytes_s):>10}", "dim"),
            Span(f"{size(row.written_bytes_s):>10}", "dim"),
        ]
    elif columns.trend_and_disk:
        spans.append(Span(f"{size(row.disk_bytes_s):>10}", "dim"))
    note = _STATES.get(process.state)
    spans += [
        Span("  "),
        Span(_branches(one, look), "frame"),
        Span(printable(_command(process, parents))),
    ]
    if note is not None:
        spans.append(Span(f"  ({note})", _state_role(process)))
    return tuple(spans)


def _command(process: Process, parents: dict[int, Process]) -> str:
    """A program without its path; a forked copy of its parent by the name that it gave itself, which is all that is
    known of a new process."""
    parent = parents.get(process.parent_pid)
    if process.command == process.name or (parent is not None and parent.command == process.command):
        return (process.name or "worker").removeprefix("memwatch-")
    program, space, rest = as_given(process.command.split(" ")).partition(" ")
    return (program.rpartition("/")[2] or program) + space + rest


def _state_role(process: Process) -> str:
    return {"R": "ok", "D": "warn", "T": "warn", "t": "warn", "Z": "dim"}.get(process.state, "dim")


def _branches(one: Arranged, look: Look) -> str:
    if not one.branches:
        return ""
    *above, own = one.branches
    trunk = "".join(look.glyphs.trunk if more else " " * len(look.glyphs.trunk) for more in above)
    return trunk + (look.glyphs.branch if own else look.glyphs.last_branch)
