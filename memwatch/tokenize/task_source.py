"""What is to be done next, in the order of the inputs: ranges that workers read themselves, or segments to be fed."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from memwatch.errors import MemwatchError
from memwatch.tokenize.blocks import ReadPosition
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.messages import Feed, Footers, ReadTask
from memwatch.tokenize.segments import Groups, Segment, segments_of


class TaskSource:
    """Hands out the work of a run from a position on. `request_footers` has a worker read those of an input."""

    def __init__(
        self,
        inputs: list[Input],
        start: ReadPosition,
        task_bytes: int,
        block_bytes: int,
        request_footers: Callable[[int], None],
    ) -> None:
        self.task_bytes = task_bytes
        self.block_bytes = block_bytes
        self._inputs = inputs
        self._start: ReadPosition | None = start
        self._input = start.input
        self._segments: Iterator[Segment] | None = None
        self._request_footers = request_footers
        self._requested: set[int] = set()
        self._footers: dict[int, Groups] = {}
        self._problems: dict[int, str] = {}
        self._number = 0

    @property
    def ended(self) -> bool:
        return self._input >= len(self._inputs)

    def next_number(self) -> int:
        self._number += 1
        return self._number - 1

    def take(self, footers: Footers) -> None:
        """The footers of an input, which a worker has read."""
        if footers.problem is not None:
            self._problems[footers.input] = footers.problem
        self._footers[footers.input] = footers.groups

    def next(self) -> ReadTask | Feed | None:
        """None at the end, and while a footer is awaited."""
        while not self.ended:
            if self._segments is None and not self._enter():
                return None
            assert self._segments is not None
            segment = next(self._segments, None)
            if segment is not None:
                return self._task(segment)
            self._input, self._segments, self._start = self._input + 1, None, None
        return None

    def _enter(self) -> bool:
        source = self._inputs[self._input]
        if source.has_rows:
            # The next file's footer is read meanwhile.
            for number in (self._input, self._input + 1):
                self._request(number)
            if self._input not in self._footers:
                return False
            if self._input in self._problems:
                raise MemwatchError(self._problems[self._input])
        start = self._start or ReadPosition(self._input)
        groups = self._footers.pop(self._input, None)
        self._segments = segments_of(self._input, source, groups, self.task_bytes, start)
        return True

    def _request(self, number: int) -> None:
        is_wanted = number < len(self._inputs) and self._inputs[number].has_rows
        if is_wanted and number not in self._requested:
            self._requested.add(number)
            self._request_footers(number)

    def _task(self, segment: Segment) -> ReadTask | Feed:
        # The first one begins where the last run stopped.
        start, self._start = self._start, None
        if not segment.is_fed:
            assert segment.end is not None
            exact = None if start is None else start.as_json()
            return ReadTask(self.next_number(), segment.input, segment.begin, segment.end, exact)
        start = start or replace(ReadPosition(segment.input), row_group=segment.begin)
        return Feed(start.as_json(), segment.end, self.block_bytes)
