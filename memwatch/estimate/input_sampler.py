"""Samples one input: reads pieces of it and counts their tokens, in one way for all kinds of input.

An input is a row of stretches, each of which can be entered at its start: a plain file has as many as pieces are
wanted, a parquet file has its row groups, a packed file is one. The stretches are entered in an order that is spread
evenly over the input, so sampling can stop at any time. In a stretch a place is chosen at random, and the piece that
holds it is counted: a plain file is read there alone; of any other, the blocks are read from the start of the stretch
on, as `run tokenize` does it, with one place in every stride.
"""

import math
import random
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from statistics import stdev
from typing import TypeVar

from memwatch.errors import MemwatchError
from memwatch.estimate.counter import Counter
from memwatch.estimate.statistics import CONFIDENCE_Z, LEAST_UNSEEN_SPREAD, Cell
from memwatch.model.ranges import Range
from memwatch.model.units import KIB, MIB
from memwatch.tokenize.block_opener import BlockOpener, BlockReader
from memwatch.tokenize.blocks import Block, BlockLayout, ReadPosition
from memwatch.tokenize.cuts import LONGEST_RECORD_BYTES, RecordCuts
from memwatch.tokenize.documents import separator_named
from memwatch.tokenize.inputs.input_source import Input, InputChanged
from memwatch.tokenize.inputs.plain_file import PlainFile
from memwatch.tokenize.inputs.row_reader import open_rows
from memwatch.tokenize.stream_blocks import too_long

PIECE_BYTES = 32 * KIB
USUAL_UNPACKING = 4
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
T = TypeVar("T")


def usual_bytes(source: Input) -> int:
    """The size of the text in an input, assumed before anything was read."""
    is_packed = source.packing or source.archive or source.has_rows
    return (source.size_bytes or 0) * (USUAL_UNPACKING if is_packed else 1)


def in_turn(
    items: Sequence[T], size_of: Callable[[T], int], until_s: float, least: int, count: Callable[[], int]
) -> Iterator[tuple[T, float]]:
    """Each item, and when to stop with it: the time that is left is shared by size. Ends after the time, if there are
    at least so many pieces."""
    left_bytes = sum(map(size_of, items))
    for item in items:
        now_s = time.monotonic()
        if now_s > until_s and count() >= least:
            return
        yield item, now_s + max(until_s - now_s, 0) * size_of(item) / left_bytes
        left_bytes -= size_of(item)


def spread_out(count: int, rng: random.Random) -> list[int]:
    """All numbers below `count`, each first with the same chance, in an order of which any beginning is spread evenly:
    the multiples of the golden ratio divide a circle into parts of almost equal length."""
    start = rng.random()
    return sorted(range(count), key=lambda i: (start + i * GOLDEN_RATIO) % 1)


def block_reader(source: Input, counter: Counter, start: ReadPosition) -> BlockReader:
    """A reader of one input from a position on, without a validation split, which would cut blocks short."""
    return BlockReader([source], replace(counter.settings, val_ratio="0"), counter.encoding, start)


def _untorn(data: bytes, at_start: bool, at_end: bool) -> bytes:
    """A window of a text without the characters that its edges may have torn. Torn words stay: a token or two more."""
    begins = [i for i, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80]
    ends = [i for i in range(max(len(data) - 4, 0), len(data)) if data[i] & 0xC0 != 0x80]
    return data[0 if at_start or not begins else begins[0] : len(data) if at_end or not ends else ends[-1]]


def _counted(block: Block) -> bytes:
    """What is counted of a block. A text without safe cuts makes a large one, of which the beginning is enough."""
    if block.layout.kind != "text" or len(block.data) <= 2 * PIECE_BYTES:
        return bytes(block.data)
    return _untorn(bytes(block.data[:PIECE_BYTES]), at_start=True, at_end=False)


@dataclass(slots=True)
class _Stretch:
    start: ReadPosition
    size_bytes: int  # of text, as far as it is known before it is read
    knows_text_bytes: bool  # whether the size is that of the text alone
    units: int = 0  # rows of a row group, bytes of a packed file
    passed_bytes: int = 0
    passed: tuple[int, int] = (0, 0)  # so many units have so many bytes of text
    ended: bool = False  # read to its end
    cells: list[Cell] = field(default_factory=list)

    @property
    def true_bytes(self) -> float:
        """The metadata counts a text that is repeated only once; rows with more text than there is of it show that.
        Where the size of the text is not known, the units that were read stand for all."""
        if self.knows_text_bytes and not self.ended and self.passed_bytes <= (1 + METADATA_WITHIN) * self.size_bytes:
            return self.size_bytes
        units, text_bytes = self.passed
        return self.passed_bytes if self.ended or not units else text_bytes * self.units / units

    def scaled_cells(self) -> list[Cell]:
        """The cells, stretched to the whole stretch: the part that was passed stands for all of it."""
        factor = self.true_bytes / max(sum(cell.length for cell in self.cells), 1)
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
        self._taken_bytes = 0  # of a packed file, by the unpacker
        size = usual_bytes(source)
        count = min(max(pieces, 1), max(size // PIECE_BYTES, 1)) if source.is_plain else 1
        starts = [size * i // count for i in range(count + 1)]
        self._stretches = [
            _Stretch(ReadPosition(offset=starts[i]), starts[i + 1] - starts[i], source.is_plain, source.size_bytes or 0)
            for i in range(count)
        ]

    @property
    def cells(self) -> list[Cell]:
        return [cell for stretch in self._stretches for cell in stretch.scaled_cells()]

    @property
    def pieces(self) -> int:
        return sum(len(stretch.cells) for stretch in self._stretches)

    def sample(self, until_s: float, least: int) -> None:
        if self.source.has_rows:
            self._read_metadata(until_s)
        stretches = [self._stretches[number] for number in spread_out(len(self._stretches), self._rng)]
        enter = self._plain_piece if self.source.is_plain else self._pieces
        least_each = least if len(stretches) == 1 else 1
        turns = in_turn(stretches, lambda each: each.size_bytes, until_s, least, lambda: self.pieces)
        try:
            for stretch, stop_s in turns:
                enter(stretch, stop_s, least_each)
        except InputChanged as error:
            name = self.source.name
            raise MemwatchError(f"{name} became shorter during sampling; try again when it is complete") from error

    def _read_metadata(self, until_s: float) -> None:
        now_s = time.monotonic()
        with closing(open_rows(self.source, self._counter.settings.text_column)) as rows:
            self.token_count = rows.sum_of(TOKEN_COUNT, now_s + TOKEN_COUNT_SHARE * (until_s - now_s))
            sizes, known = list(enumerate(rows.group_sizes())), rows.knows_text_bytes
        self._stretches = [
            _Stretch(ReadPosition(row_group=number), max(size - LENGTH_BYTES * count, 1), known, count)
            for number, (size, count) in sizes
            if count
        ]

    def _plain_piece(self, stretch: _Stretch, _until_s: float, _least: int) -> None:
        """One piece at a random place of the stretch; none if its record is left out."""
        start, in_document = stretch.start.offset, separator_named(self._counter.settings.documents) is not None
        with closing(PlainFile(self.source)) as file:
            if self.source.kind == "text":
                at = start + self._rng.randint(0, max(stretch.size_bytes - PIECE_BYTES, 0))
                end = min(at + PIECE_BYTES, self.source.size_bytes or 0)
                data = _untorn(file.read(at, end), at_start=at == 0, at_end=end == self.source.size_bytes)
                layout = BlockLayout("text", continues=in_document and at > 0, open_end=in_document)
            else:
                at = start + self._rng.randrange(max(stretch.size_bytes, 1))
                data, layout = self._records_around(file, at), BlockLayout("jsonl")
        stretch.passed_bytes = stretch.size_bytes
        self.read_bytes += len(data)
        tokens = self._counter.count(data, layout, self.source.name, at)
        stretch.cells += [Cell(stretch.size_bytes, len(data), tokens)] if data else []

    def _records_around(self, file: PlainFile, place: int) -> bytes:
        """The records that begin in the same part of a grid as the one at this place. The more bytes a group of records
        has, the more often a random place is in it, so all groups that are found count alike. (To begin with the first
        record after the place instead, and to count all pieces alike, left out long records: 1 to 2 % of the tokens.)
        A record that is too long for a run ends the estimate too, or is left out; in no case is it read whole.
        """
        back = PIECE_BYTES
        while (found := file.read(max(place - back, 0), place).rfind(b"\n")) < 0:
            if back >= min(place, LONGEST_RECORD_BYTES):
                break
            back *= 8
        line = max(place - back, 0) + found + 1
        begin = line - line % PIECE_BYTES
        opener = BlockOpener([self.source], self._counter.settings, self._counter.encoding)
        first, last = (opener.start_at(file, at).offset for at in (begin, begin + PIECE_BYTES))
        if (found >= 0 or back >= place) and last - first <= PIECE_BYTES + LONGEST_RECORD_BYTES:
            return file.read(first, last)
        if self._counter.settings.bad_records == "skip":
            return b""
        raise too_long(self.source.name, line, RecordCuts())

    def _pieces(self, stretch: _Stretch, until_s: float, least: int) -> None:
        """The block that holds a random place, in every stride, to the end of the stretch or of the time. The more
        bytes a block has, the more often a place is in it, so all that are found count alike."""
        stride = self._stride
        place = self._rng.randrange(max(min(stride, stretch.size_bytes - PIECE_BYTES), 1))
        with closing(self._blocks(stretch)) as blocks:
            for block in blocks:
                if place < block.after.offset:
                    data = _counted(block)
                    tokens = self._counter.count(data, block.layout, self.source.name, block.start.offset)
                    self.read_bytes += len(data)
                while place < block.after.offset:
                    stretch.cells.append(Cell(stride, max(len(data), 1), tokens))
                    place += stride - place % stride + self._rng.randrange(stride)
                if stretch.passed[0] and time.monotonic() > until_s and len(stretch.cells) >= least:
                    if self.source.has_rows and stretch.size_bytes <= SMALL_GROUP_BYTES:
                        deque(blocks, maxlen=0)  # Pass the rest, to know its size.
                    return

    def _blocks(self, stretch: _Stretch) -> Generator[Block, None, None]:
        """The blocks of a stretch, as a run reads them; keeps how far they went and what reading them took."""
        with closing(block_reader(self.source, self._counter, stretch.start)) as reader:
            while True:
                started_s = time.thread_time()
                block = reader.next(PIECE_BYTES)
                if block is None or block.after.row_group != stretch.start.row_group:
                    stretch.ended = True
                    return
                self._counter.reading_s += time.thread_time() - started_s
                self._counter.reading_bytes += block.length
                stretch.passed_bytes = block.after.offset
                if self.source.has_rows:
                    stretch.passed = block.after.row, block.after.offset
                elif block.file_position > self._taken_bytes > 0:
                    # The unpacker takes packed bytes in large steps. When it takes the next, all before are used up.
                    stretch.passed = self._taken_bytes, block.start.offset
                self._taken_bytes = block.file_position
                yield block

    def text_bytes(self) -> tuple[Range, float]:
        """The size of all text in the input, after sampling, and the share of it that was seen."""
        if self.source.is_plain:
            return Range.exactly(self.source.size_bytes or 0), 1.0
        if all(each.ended for each in self._stretches):
            return Range.exactly(sum(each.passed_bytes for each in self._stretches)), 1.0
        seen = [each for each in self._stretches if each.cells]
        ratios = [each.true_bytes / each.size_bytes for each in seen]
        known_bytes = max(sum(each.size_bytes for each in seen), 1)
        text = sum(each.size_bytes for each in self._stretches) * sum(each.true_bytes for each in seen) / known_bytes
        share = min(sum(each.passed_bytes for each in seen) / max(text, 1), 1)
        if not self.source.has_rows:
            return Range.around(text, LEAST_UNSEEN_SPREAD * (1 - share) * text), share
        chance = CONFIDENCE_Z * stdev(ratios) / math.sqrt(len(ratios)) if len(ratios) > 1 else 0.0
        within = math.hypot(METADATA_WITHIN, chance)
        return Range.around(text, within * text), 1.0 if len(seen) >= FEW_GROUPS else share
