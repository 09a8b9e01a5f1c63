"""The number of workers: one after a switch to shards, all again when memory has been available for a while."""

import time
from collections.abc import Callable

from memwatch.tokenize.crew import Crew, CrewMember
from memwatch.tokenize.settings import FLOOR_BLOCK_BYTES
from memwatch.tokenize.shuffled_source import ShuffledSource
from memwatch.tokenize.task_source import TaskSource

# After a switch, memory must be available for so long before workers come back.
ROOM_FOR_S = 30.0


class CrewSize:
    """`watch` and `unwatch` are called with workers that come and go; `has_room` reads whether all would fit."""

    def __init__(
        self,
        crew: Crew,
        tasks: TaskSource | ShuffledSource,
        watch: Callable[[CrewMember], None],
        unwatch: Callable[[CrewMember], None],
        has_room: Callable[[], bool],
    ) -> None:
        self._crew = crew
        self._tasks = tasks
        self._full_bytes = tasks.block_bytes, tasks.task_bytes
        self._watch = watch
        self._unwatch = unwatch
        self._has_room = has_room
        self._is_small = False
        self._room_since_s: float | None = None

    def reduce(self) -> None:
        """Go on with one worker and small blocks, the least memory. The others leave when their work is done."""
        self._crew.shrink()
        self._is_small, self._room_since_s = True, None
        self._tasks.block_bytes = self._tasks.task_bytes = min(FLOOR_BLOCK_BYTES, self._full_bytes[0])
        for member in list(self._crew.workers):
            self.dismiss_if_done(member)

    def dismiss_if_done(self, member: CrewMember) -> None:
        """End a worker that is to leave and has nothing left to do."""
        if member.is_leaving and not member.tasks:
            self._unwatch(member)
            self._crew.workers.remove(member)
            member.end()

    def restore(self) -> bool:
        """Called about every second: after a switch, have all workers work again as soon as there has been room for a
        while. Returns whether that happened."""
        if not self._is_small:
            return False
        now_s = time.monotonic()
        if not self._has_room():
            self._room_since_s = None
        elif self._room_since_s is None:
            self._room_since_s = now_s
        elif now_s - self._room_since_s >= ROOM_FOR_S:
            self._is_small = False
            self._tasks.block_bytes, self._tasks.task_bytes = self._full_bytes
            self._crew.grow()
            while not self._crew.is_full:
                self._watch(self._crew.hire())
            return True
        return False
