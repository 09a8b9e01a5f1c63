"""Blocks of rows: many whole rows, or a part of one that is larger than a block."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memwatch.tokenize.blocks import Block, BlockLayout, ReadPosition
from memwatch.tokenize.cuts import Cuts
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.inputs.row_reader import RowBatch, open_rows, too_long
from memwatch.tokenize.settings import Split
from memwatch.tokenize.split_rule import RowGroup, SplitRule


class RowBlocks:
    """Blocks of rows of an input, from a position up to a row group. A row longer than a block is cut like a text."""

    def __init__(
        self,
        source: Input,
        column: str,
        cuts: Cuts,
        split: SplitRule,
        start: ReadPosition,
        stop_group: int | None,
        skips_long: bool,
    ) -> None:
        self.ended = False
        self._name = source.name
        self._rows = open_rows(source, column, start.row_group, start.row, stop_group)
        self._cuts = cuts
        self._input = start.input
        self._split = split
        self._groups = _row_groups(self._rows.group_sizes())
        self._val_rows: tuple[int, list[tuple[int, int]]] = (-1, [])
        self._batch: RowBatch | None = None
        self._next = 0  # of the batch's rows
        self._skips_long = skips_long

    def next(self, at: ReadPosition, limit: int) -> Block | None:
        if not self._look_ahead():
            return None
        batch = self._batch
        assert batch is not None
        if self._next in batch.too_long:
            return self._long_row(batch, at)
        start = int(batch.ends[self._next - 1]) if self._next else 0
        if at.row_offset or batch.ends[self._next] - start > limit:
            return self._part_of_row(batch, start, at, limit)
        return self._whole_rows(batch, start, at, limit)

    def close(self) -> None:
        self._rows.close()

    def _look_ahead(self) -> bool:
        if self._batch is None or self._next == len(self._batch.ends):
            self._batch, self._next = self._rows.next(), 0
        self.ended = self._batch is None
        return not self.ended

    def _whole_rows(self, batch: RowBatch, start: int, at: ReadPosition, limit: int) -> Block:
        stop = int(np.searchsorted(batch.ends, start + limit, "right"))
        side, change = self._side(batch.group, batch.row + self._next)
        if change is not None:
            stop = min(stop, change - batch.row)
        stop = min((long for long in batch.too_long if self._next < long < stop), default=stop)
        ends = batch.ends[self._next : stop]
        end = int(ends[-1])
        missing = 0
        if batch.missing is not None:
            is_missing = batch.missing[self._next : stop]
            missing = int(np.count_nonzero(is_missing))
            ends = ends[~is_missing]
        after = replace(at, row_group=batch.group, row=batch.row + stop, offset=at.offset + end - start)
        layout = BlockLayout("rows", row_ends=ends - start, missing_rows=missing)
        self._next = stop
        return Block(batch.texts[start:end], layout, side, False, at, after, self._rows.file_position, self._name)

    def _long_row(self, batch: RowBatch, at: ReadPosition) -> Block:
        row = batch.row + self._next
        if not self._skips_long:
            raise too_long(self._name, batch.group, row)
        self._next += 1
        after = replace(at, row_group=batch.group, row=row + 1)
        layout = BlockLayout("long row")
        return Block(b"", layout, "train", False, at, after, self._rows.file_position, self._name)

    def _part_of_row(self, batch: RowBatch, start: int, at: ReadPosition, limit: int) -> Block:
        row = batch.row + self._next
        window = batch.texts[start + at.row_offset : int(batch.ends[self._next])]
        cut = self._cuts.block_end(window, at.row_offset, limit, at_end=True)
        while cut is None:
            limit *= 2
            cut = self._cuts.block_end(window, at.row_offset, limit, at_end=True)
        is_last = cut.at == len(window)
        after = replace(at, row_group=batch.group, offset=at.offset + cut.at)
        if is_last:
            self._next += 1
            after = replace(after, row=row + 1, row_offset=0)
        else:
            after = replace(after, row=row, row_offset=at.row_offset + cut.at)
        layout = BlockLayout("rows", at.row_offset > 0, not is_last, row_ends=(cut.at,))
        side, _ = self._side(batch.group, row)
        return Block(window[: cut.at], layout, side, cut.inexact, at, after, self._rows.file_position, self._name)

    def _side(self, group: int, row: int) -> tuple[Split, int | None]:
        """The side of a row, and the row at which that changes in its group."""
        if self._val_rows[0] != group:
            self._val_rows = (group, self._split.rows(self._input, self._groups[group]))
        for first, last in self._val_rows[1]:
            if row < first:
                return "train", first
            if row < last:
                return "val", last
        return "train", None


def _row_groups(sizes: Sequence[tuple[int, int]]) -> list[RowGroup]:
    total = sum(rows for _, rows in sizes)
    found, bytes_before, rows_before = [], 0, 0
    for size_bytes, rows in sizes:
        found.append(RowGroup(bytes_before, size_bytes, rows_before, rows, total))
        bytes_before, rows_before = bytes_before + size_bytes, rows_before + rows
    return found
