"""Which of many places to look at, so that whenever one has to stop they are spread evenly over all of them.

The places are divided into ranges, and one place is chosen at random in each. Then every range is halved, and the half
in which nothing was looked at yet gets its own; and so on, down to single places.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The places from `first` up to, not including, `end`; `chosen` is looked at for all of them."""

    first: int
    end: int
    chosen: int

    @classmethod
    def at_random(cls, first: int, end: int, rng: random.Random) -> "Span":
        return cls(first, end, rng.randrange(first, end))

    def halves(self, rng: random.Random) -> "tuple[Span, Span]":
        """Two spans, one of which keeps what was chosen."""
        middle = (self.first + self.end) // 2
        if self.chosen < middle:
            return Span(self.first, middle, self.chosen), Span.at_random(middle, self.end, rng)
        return Span.at_random(self.first, middle, rng), Span(middle, self.end, self.chosen)


def evenly(first: int, end: int, count: int) -> Iterator[tuple[int, int]]:
    """Divide a stretch into parts as alike as can be."""
    length = end - first
    for i in range(count):
        yield first + length * i // count, first + length * (i + 1) // count


def one_of_each(stretches: Sequence[tuple[int, int]], count: int, rng: random.Random) -> list[Span]:
    """The first round: about `count` spans, at least one for each stretch, and none across two."""
    places = sum(end - first for first, end in stretches) or 1
    spans = []
    for first, end in stretches:
        share = min(max(round(count * (end - first) / places), 1), end - first)
        spans += [Span.at_random(start, stop, rng) for start, stop in evenly(first, end, share)]
    return spans
