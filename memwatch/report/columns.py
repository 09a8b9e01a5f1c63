"""Columns: values over time, in bounded memory, with every peak.

A chart has a thousand columns of pixels and a record may have a million samples. A column keeps the lowest and the
highest value that fell into it, so that no peak is lost and none is made up. Where a value was unknown, or nobody
looked, the line is broken. When time outgrows the columns, each becomes twice as wide.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

COLUMN_COUNT = 1024
NARROWEST_S = 0.05


@dataclass(slots=True)
class Column:
    first_x: float
    last_x: float
    lows: dict[str, float] = field(default_factory=dict)
    highs: dict[str, float] = field(default_factory=dict)
    breaks: set[str] = field(default_factory=set)  # whose line does not come from the column before

    @property
    def x(self) -> float:
        return (self.first_x + self.last_x) / 2

    def take(self, name: str, low: float, high: float) -> None:
        self.lows[name] = min(low, self.lows.get(name, low))
        self.highs[name] = max(high, self.highs.get(name, high))

    def take_all(self, later: "Column") -> None:
        """Of the two halves of a wider column, the second; a break between them is too narrow to be seen."""
        self.first_x, self.last_x = min(self.first_x, later.first_x), max(self.last_x, later.last_x)
        self.breaks |= later.breaks - self.highs.keys()
        for name, high in later.highs.items():
            self.take(name, later.lows[name], high)


@dataclass(frozen=True, slots=True)
class ColumnPoint:
    x: float
    low: float
    high: float


class Columns:
    def __init__(self, most: int = COLUMN_COUNT, narrowest_s: float = NARROWEST_S) -> None:
        self._most = most
        self._width_s = narrowest_s
        self._columns: dict[int, Column] = {}
        self._begin_x: float | None = None
        self._broken: set[str] = set()
        self._names: set[str] = set()

    def add(self, x: float, values: Mapping[str, float | None]) -> None:
        """A reading at one moment."""
        self._note_unknown(values)
        self._take(self._column(x), values)

    def add_span(self, begin_x: float, end_x: float, values: Mapping[str, float | None]) -> None:
        """What holds for all the time between two moments: a step, not a slope."""
        self._note_unknown(values)
        self._column(end_x)  # Makes room for it first.
        for index in range(self._index(begin_x), self._index(end_x) + 1):
            self._take(self._column(min(max(self._middle(index), begin_x), end_x)), values)

    def break_all(self) -> None:
        """There are no samples for a while: no line leads from before to after."""
        self._broken |= self._names

    def runs(self, name: str) -> Iterator[list[ColumnPoint]]:
        """The unbroken pieces of one line."""
        run: list[ColumnPoint] = []
        for _, column in sorted(self._columns.items()):
            if name not in column.highs:
                continue
            if name in column.breaks and run:
                yield run
                run = []
            run.append(ColumnPoint(column.x, column.lows[name], column.highs[name]))
        if run:
            yield run

    def knows(self, name: str) -> bool:
        return any(name in column.highs for column in self._columns.values())

    def highest(self, name: str) -> float | None:
        return max((column.highs[name] for column in self._columns.values() if name in column.highs), default=None)

    def _note_unknown(self, values: Mapping[str, float | None]) -> None:
        self._names |= values.keys()
        self._broken.update(name for name, value in values.items() if value is None)

    def _take(self, column: Column, values: Mapping[str, float | None]) -> None:
        for name, value in values.items():
            if value is None:
                continue
            if name in self._broken and name not in column.highs:
                column.breaks.add(name)
            self._broken.discard(name)
            column.take(name, value, value)

    def _column(self, x: float) -> Column:
        if self._begin_x is None:
            self._begin_x = x
        index = self._index(x)
        while index >= self._most:
            self._widen()
            index = self._index(x)
        column = self._columns.get(index)
        if column is None:
            column = self._columns[index] = Column(x, x)
        column.last_x = max(column.last_x, x)
        return column

    def _index(self, x: float) -> int:
        assert self._begin_x is not None
        return max(int((x - self._begin_x) / self._width_s), 0)

    def _middle(self, index: int) -> float:
        assert self._begin_x is not None
        return self._begin_x + (index + 0.5) * self._width_s

    def _widen(self) -> None:
        self._width_s *= 2
        wider: dict[int, Column] = {}
        for index, column in sorted(self._columns.items()):
            if index // 2 in wider:
                wider[index // 2].take_all(column)
            else:
                wider[index // 2] = column
        self._columns = wider
