"""An estimate that says how far it may be off."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Range(NamedTuple):
    """An estimate and its 95 % interval. All three are equal where the value was counted."""

    estimate: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Range":
        return cls(value, value, value)

    @classmethod
    def around(cls, estimate: float, off_by: float) -> "Range":
        return cls(estimate, max(estimate - off_by, 0.0), estimate + off_by)

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    @property
    def off_by(self) -> float:
        return max(self.high - self.estimate, self.estimate - self.low)

    def whole(self) -> "Range":
        """The same in whole numbers. The interval is rounded outwards."""
        return Range(round(self.estimate), math.floor(self.low), math.ceil(self.high))

    def times(self, factor: float) -> "Range":
        return Range(*(factor * value for value in self))


def added(ranges: Sequence[Range]) -> Range:
    """The sum of independent estimates."""
    total = sum(each.estimate for each in ranges)
    low = math.hypot(*(each.estimate - each.low for each in ranges))
    high = math.hypot(*(each.high - each.estimate for each in ranges))
    return Range(total, total - low, total + high)
