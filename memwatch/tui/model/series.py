"""Series: the last hour, a point a second, for charts. Trends: the last minute of each process or node."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass

MOST_POINTS = 3600
# A journal that grew long has one sample in ten; a chart joins them all the same.
LONGEST_GAP_S = 15.0


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    t: float
    used_bytes: int | None = None
    job_bytes: int | None = None
    swap_used_bytes: int | None = None
    swap_in_bytes_s: float | None = None
    swap_out_bytes_s: float | None = None
    stall_some_fraction: float | None = None
    stall_full_fraction: float | None = None
    gpu_fraction: float | None = None

    def joined(self, other: "SeriesPoint") -> "SeriesPoint":
        """One point for two: the higher values, because peaks matter."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        values = (max((value for value in pair if value is not None), default=None) for pair in pairs)
        return SeriesPoint(*values)  # type: ignore[arg-type]


class Series:
    def __init__(self) -> None:
        self._points: deque[SeriesPoint] = deque(maxlen=MOST_POINTS)

    def add(self, point: SeriesPoint) -> None:
        if self._points and int(point.t) <= int(self._points[-1].t):
            point = self._points.pop().joined(point)
        self._points.append(point)

    def clear(self) -> None:
        self._points.clear()

    @property
    def points(self) -> tuple[SeriesPoint, ...]:
        return tuple(self._points)


Value = Callable[[SeriesPoint], float | None]


def columns(
    points: Iterable[SeriesPoint], now_t: float, column_s: float, count: int, *values: Value
) -> list[list[float | None]]:
    """For each value, its highest in each of the last `count` columns of `column_s`, the newest last.

    Columns begin at multiples of their length, so that a chart moves by whole columns, and is still in between.
    """
    last = int(now_t // column_s)
    found: list[list[float | None]] = [[None] * count for _ in values]
    for point in points:
        index = int(point.t // column_s) - last + count - 1
        if 0 <= index < count:
            for column, value in zip(found, map(lambda v: v(point), values), strict=True):
                known = column[index]
                if value is not None and (known is None or value > known):
                    column[index] = value
    longest = max(int(LONGEST_GAP_S // column_s), 1)
    return [_joined(column, longest) for column in found]


def _joined(values: Sequence[float | None], longest: int) -> list[float | None]:
    """The values with short gaps filled by the value before them."""
    joined: list[float | None] = []
    seen, age = None, 0
    for value in values:
        if value is None:
            age += 1
        else:
            seen, age = value, 0
        joined.append(seen if age <= longest else None)
    return joined


STEPS = 8
STEP_S = 60 / STEPS


class Trends:
    def __init__(self) -> None:
        self._step = 0
        self._seen: dict[Hashable, deque[int]] = {}

    def add(self, t: float, values: Iterable[tuple[Hashable, int]]) -> None:
        """The highest in each step counts. A process that has ended is forgotten."""
        step = int(t // STEP_S)
        passed = min(max(step - self._step, 0), STEPS)
        self._step = step
        before, self._seen = self._seen, {}
        for key, taken in values:
            steps = before.get(key)
            if steps is None:
                steps = deque([taken], maxlen=STEPS)
            elif passed:
                steps.extend([steps[-1]] * (passed - 1) + [taken])  # Nobody looked in between: as it was.
            else:
                steps[-1] = max(steps[-1], taken)
            self._seen[key] = steps

    def of(self, key: Hashable) -> tuple[int, ...]:
        """The values of one key, such as a process, the newest last; fewer than STEPS while it is young."""
        return tuple(self._seen.get(key, ()))
