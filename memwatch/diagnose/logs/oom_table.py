"""The table of processes in an OOM report ('Tasks state'), added up by program."""

import re
from dataclasses import dataclass, field, replace
from heapq import nlargest

from memwatch.diagnose.logs.oom_kill import ProgramSum, Row

MOST_ROWS = 10  # of a table; a machine may have tens of thousands of processes
_MOST_ROWS_HELD = 1000
_MOST_PROGRAMS = 5000

_HEAD = re.compile(r"\[? *pid *\] +(?P<columns>.*\bname)$")
_ROW = re.compile(r"\[ *(?P<pid>\d+)\] +(?P<rest>.*)")
# A row of a table of which the head was not pasted: a process id in brackets, a user, and the same process id again.
_HEADLESS = re.compile(r"\[ *(?P<pid>\d+)\] +\d+ +(?P=pid)(?P<numbers>(?: +-?\d+){5,9}) +[^\d\s-]")
_COLUMNS = {
    5: "uid tgid total_vm rss pgtables_bytes swapents oom_score_adj name",
    6: "uid tgid total_vm rss nr_ptes nr_pmds swapents oom_score_adj name",
    8: "uid tgid total_vm rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name",
}
HEADLESS_HINT = r"\] +\d+ +\d+ +\d+ +\d+ +\d+ "


def is_table_line(text: str) -> bool:
    """The head, or a row by which a table without its head can be recognised."""
    return _HEAD.match(text) is not None or _columns_of(text) != ()


def _columns_of(text: str) -> tuple[str, ...]:
    row = _HEADLESS.match(text)
    return () if row is None else tuple(_COLUMNS.get(len(row["numbers"].split()), "").split())


@dataclass(slots=True)
class ProcessTable:
    """Filled line by line. Its columns have changed between kernels, so they are found by their heads."""

    page_bytes: int
    columns: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    sums: dict[str, ProgramSum] = field(default_factory=dict)
    rss_bytes: int | None = None  # of all rows; None without a table

    def take(self, text: str) -> bool:
        """Whether the line is a part of the table."""
        if (head := _HEAD.match(text)) is not None:
            self.columns = tuple(head["columns"].split())
            self.rss_bytes = 0
            return True
        if not self.columns:
            self.columns = _columns_of(text)
        if self.columns and (row := _ROW.match(text)) is not None:
            self._take_row(row)
            return True
        return False

    def biggest(self) -> tuple[Row, ...]:
        return tuple(_biggest(self.rows))

    def programs(self) -> tuple[ProgramSum, ...]:
        return tuple(nlargest(MOST_ROWS, self.sums.values(), key=lambda each: each.taken_bytes))

    def _take_row(self, match: re.Match[str]) -> None:
        words = match["rest"].split(None, len(self.columns) - 1)
        cells = dict(zip(self.columns, words, strict=False))
        try:
            rss_bytes = int(cells["rss"]) * self.page_bytes
            swap_bytes = int(cells.get("swapents", 0)) * self.page_bytes
            adjusted = int(cells["oom_score_adj"])
            # Old kernels number threads in the first column, and processes in the one after it.
            pid = int(cells.get("tgid") or match["pid"])
            row = Row(pid, cells["name"].strip(), rss_bytes + swap_bytes, adjusted, swap_bytes)
        except (KeyError, ValueError):
            return  # Torn.
        self.rss_bytes = (self.rss_bytes or 0) + rss_bytes
        before = self.sums.get(row.name, ProgramSum(row.name, 0, 0, 0))
        if before.processes or len(self.sums) < _MOST_PROGRAMS:
            self.sums[row.name] = replace(
                before,
                processes=before.processes + 1,
                rss_bytes=before.rss_bytes + rss_bytes,
                swap_bytes=before.swap_bytes + swap_bytes,
            )
        self.rows.append(row)
        if len(self.rows) > _MOST_ROWS_HELD:
            self.rows = _biggest(self.rows)


def _biggest(rows: list[Row]) -> list[Row]:
    return nlargest(MOST_ROWS, rows, key=lambda row: row.taken_bytes)
