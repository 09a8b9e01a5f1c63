"""What each process did between two samples, and the order in which they are shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memwatch.model.sample import Process
from memwatch.tui.model.picture import ProcessRow


class SortOrder(StrEnum):
    MEMORY = "memory"
    CPU = "cpu"
    DISK = "disk"
    PID = "pid"

    @property
    def next(self) -> "SortOrder":
        orders = list(SortOrder)
        return orders[(orders.index(self) + 1) % len(orders)]


@dataclass(frozen=True, slots=True)
class Arranged:
    """A row and where it hangs: for each ancestor whether more of its siblings follow, the row's own last."""

    row: ProcessRow
    branches: tuple[bool, ...] = ()


def process_rows(latest: Iterable[Process], earlier: Iterable[Process], span_s: float | None) -> tuple[ProcessRow, ...]:
    """The processes with their rates since an earlier sample, `span_s` before; None if there is no earlier one."""
    if not span_s:
        return tuple(ProcessRow(process) for process in latest)
    before = {(process.pid, process.start_ticks): process for process in earlier}
    return tuple(_row(process, before.get((process.pid, process.start_ticks)), span_s) for process in latest)


def _row(process: Process, earlier: Process | None, span_s: float) -> ProcessRow:
    if earlier is None:
        return ProcessRow(process)
    return ProcessRow(
        process,
        max(process.cpu_s - earlier.cpu_s, 0.0) / span_s,
        _rate(process.read_bytes, earlier.read_bytes, span_s),
        _rate(process.written_bytes, earlier.written_bytes, span_s),
    )


def _rate(later: int | None, earlier: int | None, span_s: float) -> float | None:
    return None if later is None or earlier is None else max(later - earlier, 0) / span_s


def arranged(rows: Sequence[ProcessRow], order: SortOrder, as_tree: bool, wanted: str) -> list[Arranged]:
    """Sorted, the largest first; as a tree, siblings among themselves. A filter is a list: a tree would have holes."""
    ordered = sorted(rows, key=lambda row: _key(row, order), reverse=order != SortOrder.PID)
    if wanted:
        found = [row for row in ordered if _matches(row, wanted)]
        return [Arranged(row) for row in found]
    if not as_tree:
        return [Arranged(row) for row in ordered]
    pids = {row.process.pid for row in ordered}
    children: dict[int, list[ProcessRow]] = {}
    for row in ordered:
        parent = row.process.parent_pid if row.process.parent_pid != row.process.pid else 0
        children.setdefault(parent if parent in pids else 0, []).append(row)
    return list(_hung(children, 0, ()))


def _hung(children: dict[int, list[ProcessRow]], parent: int, branches: tuple[bool, ...]) -> Iterable[Arranged]:
    siblings = children.get(parent, [])
    for number, row in enumerate(siblings, 1):
        own = (*branches, number < len(siblings)) if parent else ()
        yield Arranged(row, own)
        if len(own) < 50:  # Nobody's tree is deeper; a journal may say what it likes.
            yield from _hung(children, row.process.pid, own)


def _matches(row: ProcessRow, wanted: str) -> bool:
    return wanted.lower() in row.process.command.lower() or wanted in str(row.process.pid)


def _key(row: ProcessRow, order: SortOrder) -> float:
    process = row.process
    match order:
        case SortOrder.MEMORY:
            return process.taken_bytes
        case SortOrder.CPU:
            return row.cpu_fraction or 0.0
        case SortOrder.DISK:
            return row.disk_bytes_s or 0.0
        case SortOrder.PID:
            return process.pid
