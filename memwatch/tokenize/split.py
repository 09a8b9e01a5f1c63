"""Which parts of the input are kept for validation.

Units of validation text lie spread over the whole input, one in the middle of each window. Where windows and units lie
follows from the position alone: the input files one after the other, by their sizes, and the offset in the text of one.
So any process can say of any place whether it belongs to validation, knowing nothing of what lies before it. Units
start small and grow with the position, up to a size that holds many training contexts.

Documents stay whole, so a unit begins and ends where a document does, and is longer or shorter than it should be. What
it owes is made good by the next units of its group, so the share of a group is off by half a document, not of a unit.
Nothing passes from one group to the next, or from one input to the next.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from memwatch.model.units import KIB, MIB

SMALLEST_UNIT_BYTES = 2 * KIB
LARGEST_UNIT_BYTES = 256 * KIB
# With a large ratio units grow until their windows are so large: documents have to fit into them.
LARGE_WINDOW_BYTES = 64 * MIB
UNITS_A_GROUP = 32
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Unit:
    """Where a unit should lie; documents move its ends. Offsets count all input bytes before, over all inputs."""

    number: int
    start: int
    length: int
    group_end: int

    @property
    def begins_group(self) -> bool:
        return self.number % UNITS_A_GROUP == 0

    @property
    def threshold(self) -> float:
        """The share of a document beyond the unit's end from which on it is taken. Half at first; then all shares in
        turn, or documents larger than all units of a group would never be taken."""
        return (0.5 + self.number // UNITS_A_GROUP * GOLDEN_RATIO) % 1


class Units:
    """All units of a ratio. A group of them has one size; each group has twice the size of the one before, up to the
    largest."""

    def __init__(self, ratio: Fraction) -> None:
        self._smallest = SMALLEST_UNIT_BYTES
        self._window = math.ceil(self._smallest / ratio)
        largest = max(LARGEST_UNIT_BYTES, math.ceil(ratio * LARGE_WINDOW_BYTES))
        self._doublings = max(math.ceil(math.log2(largest / self._smallest)), 0)

    def unit(self, number: int) -> Unit:
        group = number // UNITS_A_GROUP
        start = self._group_start(group)
        scale = 1 << min(group, self._doublings)
        window, length = self._window * scale, self._smallest * scale
        at = start + (number % UNITS_A_GROUP) * window + (window - length) // 2
        return Unit(number, at, length, start + UNITS_A_GROUP * window)

    def first_of_group_at(self, position: int) -> Unit:
        """The first unit of the group in whose range a position lies."""
        group, size = 0, UNITS_A_GROUP * self._window
        while group < self._doublings and position >= size:
            position, size, group = position - size, 2 * size, group + 1
        if group == self._doublings:
            group += position // size
        return self.unit(group * UNITS_A_GROUP)

    def _group_start(self, group: int) -> int:
        size = UNITS_A_GROUP * self._window
        growing = min(group, self._doublings)
        return size * ((1 << growing) - 1) + (group - growing) * (size << growing)


class NeedsMore(Exception):
    """A place cannot be decided before more of the text is there."""


class Boundaries(Protocol):
    """Where the split may change sides, in offsets of one input's text. May raise NeedsMore."""

    @property
    def reach_bytes(self) -> int:
        """How far such a place is searched for."""

    def at_or_after(self, offset: int) -> int | None:
        """The first such place, or None if there is none for a long way. The end of the text is one."""

    def around(self, start: int, goal: int) -> tuple[int, int | None]:
        """The last such place from `start` up to `goal`, and the first one at or after `goal`."""


@dataclass(slots=True)
class SplitWalk:
    """Finds the validation ranges of one input one after the other, in offsets of its text.

    The fields are all that it knows, so a walk can go on from them. `before` is the size of all inputs before."""

    units: Units | None
    before: int
    next_unit: int = 0
    owed: int = 0
    val_start: int = 0
    val_end: int = 0

    @classmethod
    def at(cls, units: Units | None, before: int, offset: int) -> "SplitWalk":
        """From the start of the group around an offset on."""
        first = 0 if units is None else units.first_of_group_at(before + offset).number
        return cls(units, before, first)

    def known_to(self) -> int | None:
        """Up to this offset no range is missing; None if there are no more."""
        if self.units is None:
            return None
        # A unit that begins in an earlier input belongs to that one.
        while (unit := self.units.unit(self.next_unit)).start < self.before:
            self.next_unit += 1
        return unit.start - self.before

    def ends_before(self, offset: int) -> bool:
        """Whether the next range must be found before it is known on which side an offset lies."""
        return self.val_end <= offset and (known := self.known_to()) is not None and known <= offset

    def find_next(self, boundaries: Boundaries) -> None:
        """Find the range of the next unit, which may be empty, and remember it if it is not."""
        assert self.units is not None
        unit = self.units.unit(self.next_unit)
        owed = unit.length + (0 if unit.begins_group else self.owed)
        group_end = unit.group_end - self.before
        start = boundaries.at_or_after(max(unit.start - self.before, self.val_end))
        if start is not None and start < group_end and owed > 0:
            goal = min(start + owed, group_end)
            end, beyond = boundaries.around(start, goal)
            if beyond is not None and beyond <= group_end:
                taken_from = unit.threshold * (beyond - end)
                end = beyond if goal - end > taken_from else end
            # At the end of a text the range is empty, but may go on in the next one.
            if end > start or beyond == start:
                self.val_start, self.val_end = start, end
                owed -= end - start
        self.owed = owed
        self.next_unit += 1

    def go_on(self, offset: int, boundaries: Boundaries) -> None:
        """At the start of a text that follows another, in an archive: a range that ended with that one may go on."""
        if self.units is None or not self.next_unit or self.val_end != offset or self.owed <= 0:
            return
        unit = self.units.unit(self.next_unit - 1)
        goal = min(offset + self.owed, unit.group_end - self.before)
        if goal > offset:
            end, beyond = boundaries.around(offset, goal)
            if beyond is not None and goal - end > unit.threshold * (beyond - end):
                end = beyond
            if end > offset:
                self.val_start, self.val_end = offset, end
                self.owed -= end - offset

    def edge_after(self, offset: int) -> int | None:
        """The first change of sides after an offset, of the range that was found last."""
        return next((edge for edge in (self.val_start, self.val_end) if edge > offset), None)

    def is_val(self, offset: int) -> bool:
        return self.val_start <= offset < self.val_end


def val_rows(units: Units | None, before: int, size_bytes: int, rows: int) -> list[tuple[int, int]]:
    """Ranges of validation rows in a row group with `before` bytes before it: those whose place, if all rows had the
    same size, lies in a unit. It needs nothing but the file's footer."""
    ranges: list[tuple[int, int]] = []
    if units is None or not rows:
        return ranges
    size_bytes = max(size_bytes, 1)
    number = units.first_of_group_at(before).number
    while (unit := units.unit(number)).start < before + size_bytes:
        first = max(-(-(unit.start - before) * rows // size_bytes), 0)
        last = min(-(-(unit.start + unit.length - before) * rows // size_bytes), rows)
        if first < last:
            ranges.append((first, last))
        number += 1
    return ranges
