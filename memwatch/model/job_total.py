"""The sum over a job of a count that outlives its process, so that it never falls when processes end.

The kernel adds the counts of a child (page faults, bytes written) to those of its parent when the parent waits for it.
It does not where nobody waits, or where the parent is not of the job. The sum must neither lose a child nor count it
twice, and parent and child are not read at the same instant.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

Key = tuple[int, int]  # pid and start time


@dataclass(slots=True)
class _Ended:
    """Children of one parent that ended, until it is known what the parent has taken over of their counts."""

    count: int
    parent_before: int  # the parent's count when they were last seen
    fresh_readings: int = 0


# The first reading of the parent may be older than the child's end by microseconds.
_FRESH_READINGS = 2


class JobTotal:
    def __init__(self) -> None:
        self._counts: dict[Key, int] = {}
        self._parents: dict[Key, Key | None] = {}
        self._ended: dict[Key, _Ended] = {}
        self._lost = 0  # counts of processes that ended, that no parent has taken over
        self._total = 0

    def update(
        self, counts: Mapping[Key, int], parents: Mapping[Key, Key | None], fresh: Collection[Key] | None = None
    ) -> int:
        """The total. `counts` are those of the job's living processes, each with what its waited-for children had.

        `parents` names each one's parent, if that is of the job. `fresh` are those read since the last update; None
        is all of them.
        """
        for key in self._counts.keys() - counts.keys():
            self._end(key, counts)
        self._settle(counts, fresh)
        pending = sum(self._left(parent, ended, counts) for parent, ended in self._ended.items())
        self._counts, self._parents = dict(counts), dict(parents)
        self._total = max(self._total, sum(counts.values()) + self._lost + pending)
        return self._total

    def _end(self, key: Key, counts: Mapping[Key, int]) -> None:
        parent = self._parents.get(key)
        ended = self._ended.pop(key, None)
        count = self._counts[key] + (0 if ended is None else self._left(key, ended, self._counts))
        if parent is None or parent not in counts or parent not in self._counts:
            self._lost += count
        elif parent in self._ended:
            self._ended[parent].count += count
            self._ended[parent].fresh_readings = 0
        else:
            self._ended[parent] = _Ended(count, self._counts[parent])

    def _settle(self, counts: Mapping[Key, int], fresh: Collection[Key] | None) -> None:
        for parent, ended in list(self._ended.items()):
            if fresh is None or parent in fresh:
                ended.fresh_readings += 1
            left = self._left(parent, ended, counts)
            if left == 0 or ended.fresh_readings >= _FRESH_READINGS:
                self._lost += left
                del self._ended[parent]

    def _left(self, parent: Key, ended: _Ended, counts: Mapping[Key, int]) -> int:
        """What the parent has not taken over so far."""
        return max(ended.count - (counts[parent] - ended.parent_before), 0)
