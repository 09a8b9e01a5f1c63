"""Samples one input: reads pieces of it and counts their tokens, in one way for all kinds of input.

An input is a row of stretches, each of which can be entered at its start: a plain file has as many as pieces are
wanted, a parquet file has its row groups, a packed file is one. The blocks of a stretch are read as `run tokenize` does
it; one out of every stride, at a random place, is tokenized. The stretches are entered in an order that is spread
evenly over the input, so sampling can stop at any time.
"""

import math
import os
import random
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from statistics import stdev

from memwatch.errors import MemwatchError
from memwatch.estimate.counter import Counter
from memwatch.estimate.statistics import CONFIDENCE_Z, Cell, Range, with_unseen
from memwatch.model.units import KIB, MIB
from memwatch.storage.address import is_remote
from memwatch.tokenize.block_opener import BlockOpener, BlockReader
from memwatch.tokenize.blocks import Block, BlockLayout, ReadPosition, too_long
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES, RecordCuts, View
from memwatch.tokenize.document_cuts import sampling_cuts
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.inputs.input_source import Input, InputChanged
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.inputs.row_reader import open_rows

PIECE_BYTES = 32 * KIB
SKIP_BYTES = 128 * KIB  # read at once between pieces
NEARLY_BYTES = 64  # that a piece may lack
USUAL_UNPACKING = 4
LATE_S = 0.5
# The beginnings of this many row groups stand for all of a file; of fewer, what follows was not seen.
FEW_GROUPS = 8
LENGTH_BYTES = 4  # of a text in parquet, beside the text
# Parquet's metadata counts the headers of pages too, which have the first and the last text in them. In row groups that
# are so small that this matters (10 % were measured for groups of one row), the text is counted.
METADATA_WITHIN = 0.01
SMALL_GROUP_BYTES = 1 * MIB
TOKEN_COUNT = "token_count"
TOKEN_COUNT_SHARE = 0.25  # of the time
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


def usual_bytes(source: Input) -> int:
    """The size of the text in an input, assumed before anything was read."""
    is_packed = source.packing or source.archive or source.has_rows
    return (source.size_bytes or 0) * (USUAL_UNPACKING if is_packed else 1)


def is_enough(count: int, least: int, deadline_s: float) -> bool:
    """Whether sampling may stop once its time is over: with `least` pieces, or with fewer if it is very late."""
    return count >= least or (count >= min(2, least) and time.monotonic() - deadline_s > LATE_S)


def block_reader(source: Input, counter: Counter, start: ReadPosition) -> BlockReader:
    """A reader of one input from a position on, without a validation split, which would cut blocks short."""
    return BlockReader([source], replace(counter.settings, val_ratio="0"), counter.encoding, start)


def _data(block: Block) -> bytes:
    """What is counted of a block. A text without safe cuts makes a large one, of which the beginning is enough."""
    if block.layout.kind != "text" or len(block.data) <= 2 * PIECE_BYTES:
        return bytes(block.data)
    return bytes(block.data[:PIECE_BYTES]).decode("utf-8", "ignore").encode()


def spread_out(count: int, rng: random.Random) -> list[int]:
    """All numbers below `count`, each first with the same chance, in an order of which any beginning is spread evenly:
    the multiples of the golden ratio divide a circle into parts of almost equal length."""
    start = rng.random()
    return sorted(range(count), key=lambda i: (start + i * GOLDEN_RATIO) % 1)


@dataclass(slots=True)
class _Stretch:
    start: ReadPosition
    size_bytes: int  # of text, as far as it is known before it is read
    rows: int = 0
    knows_text_bytes: bool = True  # whether the size is that of the text alone
    passed_bytes: int = 0
    passed_rows: int = 0
    ended: bool = False  # read to its end
    cells: list[Cell] = field(default_factory=list)

    @property
    def true_bytes(self) -> float:
        """The metadata counts a text that is repeated only once; rows with more text than there is of it show that.
        Where it has no size of the text, the rows that were read stand for all."""
        if self.ended:
            return self.passed_bytes
        if self.knows_text_bytes and self.passed_bytes <= (1 + METADATA_WITHIN) * self.size_bytes:
            return self.size_bytes
        return self.passed_bytes * self.rows / max(self.passed_rows, 1)

    def scaled_cells(self) -> list[Cell]:
        """The cells, stretched to the whole stretch: the part that was passed stands for all of it."""
        factor = (self.true_bytes if self.rows else self.size_bytes) / max(sum(cell.length for cell in self.cells), 1)
        return [replace(cell, length=cell.length * factor) for cell in self.cells]


class InputSampler:
    """Samples one input."""

    def __init__(self, source: Input, counter: Counter, rng: random.Random, stride: int, pieces: int) -> None:
        self.source = source
        self.read_bytes = 0
        self.token_count: int | None = None
        self._counter = counter
        self._rng = rng
        self._stride = stride
        self._is_plain = source.is_plain
        # The unpacker takes packed bytes in large steps. When it takes the next, all it had before are used up:
        # so many packed bytes stand for so many bytes of text.
        self._taken_bytes = 0
        self._step: tuple[int, int] | None = None
        size = usual_bytes(source)
        count = min(max(pieces, 1), max(size // PIECE_BYTES, 1)) if self._is_plain else 1
        starts = [size * i // count for i in range(count + 1)]
        self._stretches = [_Stretch(ReadPosition(offset=starts[i]), starts[i + 1] - starts[i]) for i in range(count)]

    @property
    def cells(self) -> list[Cell]:
        return [cell for stretch in self._stretches for cell in stretch.scaled_cells()]

    def sample(self, until_s: float, least: int) -> None:
        if self.source.has_rows:
            self._read_metadata(until_s)
        count, left_bytes = 0, sum(stretch.size_bytes for stretch in self._stretches)
        for number in spread_out(len(self._stretches), self._rng):
            now_s, stretch = time.monotonic(), self._stretches[number]
            if now_s > until_s and is_enough(count, least, until_s):
                break
            stop_s = now_s + max(until_s - now_s, 0) * stretch.size_bytes / left_bytes
            try:
                self._enter(stretch, stop_s, least if len(self._stretches) == 1 else 1)
            except InputChanged as error:
                raise self._became_shorter() from error
            left_bytes -= stretch.size_bytes
            count += len(stretch.cells)
        is_local = not is_remote(self.source.path)
        if not count and is_local and os.path.getsize(self.source.path) < (self.source.size_bytes or 0):
            raise self._became_shorter()

    def _read_metadata(self, until_s: float) -> None:
        now_s = time.monotonic()
        with closing(open_rows(self.source, self._counter.settings.text_column)) as rows:
            self.token_count = rows.sum_of(TOKEN_COUNT, now_s + TOKEN_COUNT_SHARE * (until_s - now_s))
            self._stretches = [
                _Stretch(
                    ReadPosition(row_group=number), max(size - LENGTH_BYTES * count, 1), count, rows.knows_text_bytes
                )
                for number, (size, count) in enumerate(rows.group_sizes())
                if count
            ]

    def _became_shorter(self) -> MemwatchError:
        return MemwatchError(f"{self.source.name} became shorter during sampling; try again when it is complete")

    def _enter(self, stretch: _Stretch, until_s: float, least: int) -> None:
        """Count one piece of every stride, to the end of the stretch or of the time. In a plain file that is one."""
        if self._is_plain:
            stretch.cells += self._plain_piece(stretch)
            return
        gap = max(min(self._stride, stretch.size_bytes) - PIECE_BYTES, 0)
        before = skip = self._rng.randint(0, gap)
        with closing(block_reader(self.source, self._counter, stretch.start)) as reader:
            while (cell := self._piece(reader, stretch, skip)) is not None:
                stretch.cells.append(cell)
                # How much text a packed file holds shows after its first step.
                knows_size = self.source.packing is None or self._step is not None
                is_late = knows_size and time.monotonic() > until_s and is_enough(len(stretch.cells), least, until_s)
                if is_late:
                    if self.source.has_rows and stretch.size_bytes <= SMALL_GROUP_BYTES:
                        self._piece(reader, stretch, SMALL_GROUP_BYTES * 2)
                    return
                after, before = gap - before, self._rng.randint(0, gap)
                skip = after + before

    def _plain_piece(self, stretch: _Stretch) -> list[Cell]:
        """One piece at a random place of the stretch; none if its record is left out."""
        start = stretch.start.offset
        with closing(PlainFile(self.source)) as file:
            if self.source.kind == "text":
                at = start + self._rng.randint(0, max(stretch.size_bytes - PIECE_BYTES, 0))
                data, layout = self._text_at(file.read(at, at + PIECE_BYTES), at)
            else:
                at = start + self._rng.randrange(max(stretch.size_bytes, 1))
                data, layout = self._records_around(file, at), BlockLayout("jsonl")
        self.read_bytes += len(data)
        tokens = self._counter.count(data, layout, self.source.name, at)
        return [Cell(stretch.size_bytes, len(data), tokens)] if data else []

    def _records_around(self, file: PlainFile, place: int) -> bytes:
        """The records that begin in the same part of a grid as the one at this place. The more bytes a group of records
        has, the more often a random place is in it, so all groups that are found count alike. (To begin with the first
        record after the place instead, and to count all pieces alike, left out long records: 1 to 2 % of the tokens.)
        """
        back = PIECE_BYTES
        while (found := file.read(max(place - back, 0), place).rfind(b"\n")) < 0:
            if back >= place:
                break
            if back >= LONGEST_RECORD_BYTES:
                return self._too_long(place)
            back *= 8
        line = max(place - back, 0) + found + 1
        begin = line - line % PIECE_BYTES
        opener = BlockOpener([self.source], self._counter.settings, self._counter.encoding)
        first, last = (opener.start_at(file, at).offset for at in (begin, begin + PIECE_BYTES))
        if last - first > PIECE_BYTES + LONGEST_RECORD_BYTES:
            return self._too_long(line)
        return file.read(first, last)

    def _too_long(self, at: int) -> bytes:
        """A record that is too long for a run ends the estimate too, or is left out; in no case is it read whole."""
        if self._counter.settings.bad_records == "skip":
            return b""
        raise too_long(self.source.name, at, RecordCuts())

    def _text_at(self, window: bytes, at: int) -> tuple[bytes, BlockLayout]:
        """A piece of a plain text, from the first safe cut on. The reader would read on to the next safe cut, however
        far that is; here a piece without one is taken as it is, with a word or two torn."""
        cuts = sampling_cuts(self._counter.encoding)
        found = cuts.boundary(View(window, at, at_end=False), at + 1) if at else at
        start = None if found is None else found - at
        cut = cuts.block_end(window, 0, len(window), at_end=len(window) < PIECE_BYTES)
        if start is None or cut is None or cut.at <= start:
            data = window.decode("utf-8", "ignore").encode()
        else:
            data = window[start : cut.at]
        in_document = separator_named(self._counter.settings.documents) is not None
        return data, BlockLayout("text", continues=in_document and at > 0, open_end=in_document)

    def _piece(self, reader: BlockReader, stretch: _Stretch, skip: int) -> Cell | None:
        """The next piece after so many bytes; None at the end of the stretch. A block ends before a record that is
        too long for it: that record belongs to the piece, else long ones would count less."""
        passed_bytes = read_bytes = tokens = 0
        group = stretch.start.row_group
        while read_bytes <= PIECE_BYTES - NEARLY_BYTES and not stretch.ended:
            is_skipped = passed_bytes < skip
            limit = min(skip - passed_bytes, SKIP_BYTES) if is_skipped else PIECE_BYTES - read_bytes
            started_s = time.thread_time()
            block = reader.next(limit)
            if block is None:
                stretch.ended = True
                break
            self._counter.reading_s += time.thread_time() - started_s
            self._counter.reading_bytes += block.length
            if block.file_position > self._taken_bytes > 0:
                self._step = (self._taken_bytes, block.start.offset)
            self._taken_bytes = block.file_position
            stretch.ended = block.after.row_group != group
            if not stretch.ended:
                stretch.passed_bytes, stretch.passed_rows = block.after.offset, block.after.row
            passed_bytes += block.length
            if not is_skipped:
                data = _data(block)
                tokens += self._counter.count(data, block.layout, self.source.name, block.start.offset)
                read_bytes += len(data)
        self.read_bytes += read_bytes
        return Cell(max(passed_bytes, 1), max(read_bytes, 1), tokens) if tokens else None

    def text_bytes(self) -> tuple[Range, float]:
        """The size of all text in the input, after sampling, and the share of it that was seen."""
        size = self.source.size_bytes or 0
        if self._is_plain:
            return Range.exactly(size), 1.0
        if self.source.has_rows:
            seen = [each for each in self._stretches if each.cells]
            true_bytes = sum(each.true_bytes for each in seen)
            known_bytes = sum(each.size_bytes for each in seen)
            text = sum(each.size_bytes for each in self._stretches) * true_bytes / max(known_bytes, 1)
            share = min(sum(each.passed_bytes for each in seen) / max(text, 1), 1)
            ratios = [each.true_bytes / each.size_bytes for each in seen]
            chance = CONFIDENCE_Z * stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
            within = math.hypot(METADATA_WITHIN, chance)
            return Range.around(text, within * text), 1.0 if len(seen) >= FEW_GROUPS else share
        if self._stretches[0].ended or self._step is None:
            return Range.exactly(self._stretches[0].passed_bytes), 1.0
        share = self._step[0] / size
        return with_unseen(Range.exactly(self._step[1]), share, []), share
