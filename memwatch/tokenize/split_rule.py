"""--val: how a run chooses what is for validation. A function of positions, whatever the rule.

ratio          units spread over all inputs (split.py)
tail           the last part of all inputs, --val-ratio of their bytes
FILE           all of an input of its own, and nothing of the others
first-shard    nothing here: the first tokens of the output, wherever they come from (outputs.py)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.split import Boundaries, SplitWalk, Units, val_rows

# Beyond the end of any text.
_FAR = 1 << 62
# Groups of units whose ranges are remembered, some KiB each.
REMEMBERED_GROUPS = 64


def tail_start(settings: TokenizeSettings, inputs: Sequence[Input]) -> int:
    """Where the tail begins, in bytes of the input files one after the other."""
    total = sum(source.size_bytes or 0 for source in inputs)
    return total - int(settings.val_fraction * total)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of parquet, as if the file held nothing but the texts, unpacked."""

    bytes_before: int
    size_bytes: int
    rows_before: int
    rows: int
    rows_of_file: int


class SplitRule:
    """Which part of each input is for validation: a function of the settings and of positions alone."""

    def __init__(self, inputs: Sequence[Input], settings: TokenizeSettings) -> None:
        self._settings = settings
        self._before = [0]
        for source in inputs:
            self._before.append(self._before[-1] + (source.size_bytes or 0))
        has_units = settings.val == "ratio" and settings.val_fraction > 0
        self._units = Units(settings.val_fraction) if has_units else None
        self._tail = tail_start(settings, inputs) if settings.val == "tail" else None
        self._tail_offset: dict[int, int] = {}
        self._steps: dict[tuple[int, int], list[SplitWalk]] = {}

    def walk(self, number: int, offset: int, boundaries: Boundaries | None) -> SplitWalk:
        """The validation ranges of an input, from an offset of its text on. Without `boundaries` an input is on one
        side of a tail, or its units are found on the way."""
        before = self._before[number]
        if self._units is not None:
            first = SplitWalk.at(self._units, before, offset)
            return first if boundaries is None else self._walk_to(number, first, offset, boundaries)
        return SplitWalk(None, before, val_start=self._val_start(number, boundaries), val_end=_FAR)

    def _walk_to(self, number: int, first: SplitWalk, offset: int, boundaries: Boundaries) -> SplitWalk:
        """From the start of a group of units up to an offset. Steps are remembered: readers come back to a group."""
        key = (number, first.next_unit)
        steps = self._steps.pop(key, None) or [first]
        self._steps[key] = steps
        if len(self._steps) > REMEMBERED_GROUPS:
            self._steps.pop(next(iter(self._steps)))
        for step in steps:
            if not step.ends_before(offset):
                return replace(step)
        while steps[-1].ends_before(offset):
            after = replace(steps[-1])
            after.find_next(boundaries)
            steps.append(after)
        return replace(steps[-1])

    def resumed_walk(self, number: int, next_unit: int, owed: int, val_start: int, val_end: int) -> SplitWalk:
        """The same, for an input of which no earlier part can be read again."""
        return SplitWalk(self._units, self._before[number], next_unit, owed, val_start, val_end)

    def rows(self, number: int, group: RowGroup) -> list[tuple[int, int]]:
        """Ranges of validation rows in a row group."""
        if self._units is not None:
            return val_rows(self._units, self._before[number] + group.bytes_before, group.size_bytes, group.rows)
        first = self._first_val_row(number, group.rows_of_file) - group.rows_before
        return [(max(first, 0), group.rows)] if first < group.rows else []

    def _first_val_row(self, number: int, rows: int) -> int:
        """In a file whose rows have all the same size."""
        begin, end = self._before[number], self._before[number + 1]
        if self._is_val_input(number):
            return 0
        if self._tail is None or self._tail >= end:
            return rows
        return max(-(-(self._tail - begin) * rows // max(end - begin, 1)), 0)

    def _val_start(self, number: int, boundaries: Boundaries | None) -> int:
        if self._is_val_input(number):
            return 0
        if self._tail is None or self._tail >= self._before[number + 1]:
            return _FAR
        wanted = self._tail - self._before[number]
        if wanted <= 0:
            return 0
        if boundaries is None:
            return _FAR
        if number not in self._tail_offset:
            self._tail_offset[number] = _boundary_from(wanted, boundaries)
        return self._tail_offset[number]

    def _is_val_input(self, number: int) -> bool:
        return self._settings.train_inputs is not None and number >= self._settings.train_inputs


def _boundary_from(offset: int, boundaries: Boundaries) -> int:
    """The first place at or after an offset where the split may change sides, however far away."""
    while (found := boundaries.at_or_after(offset)) is None:
        offset += boundaries.reach_bytes
    return found
