"""What is to be done next in a shuffled run: batches of slices from all over the inputs, or a segment to be fed."""

from array import array
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

from memwatch.errors import MemwatchError
from memwatch.model.units import KIB, MIB
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.messages import BatchTask, Feed, Footers
from memwatch.tokenize.segments import Groups, Segment, segments_of
from memwatch.tokenize.shuffle_order import Permutation

# Small, so that a batch has documents from many places; large enough for a disk that has to seek.
SLICE_BYTES = 256 * KIB
BATCH_BYTES = 4 * MIB
# What is fed is cut into blocks of this size, whatever the memory: they are shuffled one by one.
FED_BLOCK_BYTES = 1 * MIB


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of an input that is read at once; a batch has many, from all over the inputs."""

    segment: Segment
    text_bytes: int
    file_bytes: int  # of the input's file, to measure progress by


class _GridSlices:
    """Of a plain input: every so many bytes."""

    def __init__(self, number: int, size_bytes: int) -> None:
        self._number = number
        self._size_bytes = size_bytes

    def __len__(self) -> int:
        return -(-self._size_bytes // SLICE_BYTES)

    def __getitem__(self, index: int) -> Slice:
        begin = index * SLICE_BYTES
        end = min(begin + SLICE_BYTES, self._size_bytes)
        return Slice(Segment(self._number, begin, end), end - begin, end - begin)


class _SegmentSlices:
    """Row groups of parquet, or an input that can only be read from the front: 25 bytes of memory for each."""

    def __init__(self, number: int, source: Input, groups: Groups | None) -> None:
        self._number = number
        self._source = source
        self._begins, self._ends, self._text_bytes, self._fed = array("q"), array("q"), array("q"), array("b")
        for segment in segments_of(number, source, groups, SLICE_BYTES, ReadPosition(number)):
            self._begins.append(segment.begin)
            self._ends.append(-1 if segment.end is None else segment.end)
            own = [] if groups is None else groups[segment.begin : segment.end]
            self._text_bytes.append(sum(size for size, _ in own))
            self._fed.append(segment.is_fed)

    def __len__(self) -> int:
        return len(self._begins)

    def __getitem__(self, index: int) -> Slice:
        end = None if self._ends[index] < 0 else self._ends[index]
        segment = Segment(self._number, self._begins[index], end, bool(self._fed[index]))
        return Slice(segment, self._text_bytes[index], (self._source.size_bytes or 0) // len(self))


class ShuffledSource:
    """Hands out the work of a shuffled run from a turn on: the methods of `TaskSource`, but it needs all footers first.

    Nothing that may change between two attempts, such as memory or the number of workers, changes what it hands out.
    """

    def __init__(
        self, inputs: list[Input], start: ReadPosition, seed: int, request_footers: Callable[[int], None]
    ) -> None:
        self.task_bytes = self.block_bytes = FED_BLOCK_BYTES  # Set by a switch to shards, and without effect here.
        self._inputs = inputs
        self._start: ReadPosition | None = start
        self._seed = seed
        self._turn = start.turn
        self._number = 0
        self._slices: list[_GridSlices | _SegmentSlices | None] = [None] * len(inputs)
        self._counts: list[int] = []
        self._order: Permutation | None = None
        self._missing = {number for number, source in enumerate(inputs) if source.has_rows}
        for number, source in enumerate(inputs):
            if number not in self._missing:
                self._slices[number] = (
                    _GridSlices(number, source.size_bytes or 0)
                    if source.is_plain
                    else _SegmentSlices(number, source, None)
                )
        self._request_footers = request_footers
        self._has_requested = False

    @property
    def ended(self) -> bool:
        return self._order is not None and self._turn >= len(self._order)

    def next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def take(self, footers: Footers) -> None:
        if footers.problem is not None:
            raise MemwatchError(footers.problem)
        self._slices[footers.input] = _SegmentSlices(footers.input, self._inputs[footers.input], footers.groups)
        self._missing.discard(footers.input)

    def next(self) -> BatchTask | Feed | None:
        """None at the end, and while footers are awaited."""
        if not self._has_requested:
            self._has_requested = True
            for number in sorted(self._missing):
                self._request_footers(number)
        if self._missing:
            return None
        if self._order is None:
            self._arrange()
        if self.ended:
            return None
        first = self._slice(self._turn)
        return self._feed(first) if first.segment.is_fed else self._batch()

    def _arrange(self) -> None:
        total = 0
        for slices in self._slices:
            assert slices is not None
            total += len(slices)
            self._counts.append(total)
        self._order = Permutation(total, self._seed)

    def _slice(self, turn: int) -> Slice:
        assert self._order is not None
        index = self._order[turn]
        number = bisect_right(self._counts, index)
        slices = self._slices[number]
        assert slices is not None
        return slices[index - (self._counts[number - 1] if number else 0)]

    def _batch(self) -> BatchTask:
        first_turn, text_bytes, file_bytes, slices = self._turn, 0, 0, []
        assert self._order is not None
        while self._turn < len(self._order) and text_bytes < BATCH_BYTES:
            found = self._slice(self._turn)
            if found.segment.is_fed:
                break
            slices.append((found.segment.input, found.segment.begin, found.segment.end or 0))
            text_bytes, file_bytes = text_bytes + found.text_bytes, file_bytes + found.file_bytes
            self._turn += 1
        self._start = None
        return BatchTask(self.next_number(), first_turn, self._turn, tuple(slices), file_bytes)

    def _feed(self, found: Slice) -> Feed:
        segment, start = found.segment, self._start
        self._start = None
        fresh = replace(ReadPosition(segment.input), row_group=segment.begin, turn=self._turn)
        self._turn += 1
        # A run that stopped inside what is fed goes on there.
        is_inside = (
            start is not None and start.input == segment.input and (start.offset or start.row or start.row_offset)
        )
        return Feed((start if is_inside and start is not None else fresh).as_json(), segment.end, FED_BLOCK_BYTES)
