"""A run that is over, or part of one, from its journal: played, stepped through, gone to at any moment."""

import asyncio
import time
from collections.abc import Callable

from memwatch.journal.event_words import EventLine, event_line
from memwatch.journal.reader import FREQUENT, JournalIndex
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from memwatch.tui.sources import Event

SPEEDS = (0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
WHOLE_RUN_IN_S = 60.0  # at the speed that is chosen by itself
FRAME_S = 0.2


class ReplaySource:
    kind = ViewKind.REPLAY

    def __init__(self, index: JournalIndex, is_machine: bool = False) -> None:
        """The journal must have at least one event. A record of the machine looks like the machine, without a job."""
        self._index = index
        self._has_job = not is_machine
        self.start_t, self.end_t = index.times[0], index.times[-1]
        self.now_t = self.start_t
        self.is_playing = False
        wanted_speed = (self.end_t - self.start_t) / WHOLE_RUN_IN_S
        self.speed = min(SPEEDS, key=lambda speed: abs(speed - max(wanted_speed, 1)))
        self.happenings = _happenings(index)
        self._taken = 0
        self._model = RunModel(ViewKind.REPLAY, self._has_job)
        self._advance()

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = changed
        self._frame_s = time.monotonic()
        self._next = self._loop.call_later(FRAME_S, self._frame)

    def stop(self) -> None:
        self._next.cancel()
        self._index.close()

    def picture(self) -> Picture:
        return self._model.picture(self.now_t)

    def send(self, message: Event) -> bool:
        return False

    def play(self, is_playing: bool) -> None:
        """Play or hold. At the end of the run, playing starts again from its beginning."""
        if is_playing and self.now_t >= self.end_t:
            self.seek(self.start_t)
        self.is_playing = is_playing

    def faster(self, step: int) -> None:
        self.speed = SPEEDS[min(max(SPEEDS.index(self.speed) + step, 0), len(SPEEDS) - 1)]

    def seek(self, t: float) -> None:
        back = t < self.now_t
        self.now_t = min(max(t, self.start_t), self.end_t)
        if back or self.now_t - self._taken_t() > LOOK_BACK_S:
            self._model, self._taken = RunModel(ViewKind.REPLAY, self._has_job), 0
        self._advance()

    def step(self, direction: int) -> None:
        """Move to the next sample (1), or to the one before (-1)."""
        times = self._index.times
        number = self._index.count_until(self.now_t) + (0 if direction > 0 else -1)
        while 0 <= number < len(times):
            if self._index.kinds[number] == "sample" and times[number] != self.now_t:
                break
            number += direction
        self.seek(times[number] if 0 <= number < len(times) else (self.end_t if direction > 0 else self.start_t))

    def to_happening(self, direction: int) -> None:
        times = [one.t for one in self.happenings]
        if direction > 0:
            self.seek(next((t for t in times if t > self.now_t), self.end_t))
        else:
            self.seek(next((t for t in reversed(times) if t < self.now_t), self.start_t))

    def _frame(self) -> None:
        now_s = time.monotonic()
        passed_s, self._frame_s = now_s - self._frame_s, now_s
        if self.is_playing:
            self.seek(self.now_t + passed_s * self.speed)
            self.is_playing = self.now_t < self.end_t
            self._changed([])
        self._next = self._loop.call_later(FRAME_S, self._frame)

    def _taken_t(self) -> float:
        return self._index.times[self._taken - 1] if self._taken else self.start_t

    def _advance(self) -> None:
        count = self._index.count_until(self.now_t)
        take_past(self._model, self._index, self._taken, count)
        self._taken = count


def _happenings(index: JournalIndex) -> list[EventLine]:
    found, level = [], "calm"
    for event in index.seldom():
        line = event_line(event, level)
        if event["event"] == "verdict":
            level = str(event.get("level"))
        if line is not None:
            found.append(line)
    return found


# What charts show by themselves, and then some for rates and forecasts.
LOOK_BACK_S = 660.0


def take_past(model: RunModel, index: JournalIndex, start: int, end: int) -> None:
    """Let a run model take the events from `start` to `end`; of events that come often, only the latest."""
    now_t = index.times[end - 1] if end else 0.0
    for number in range(start, end):
        if index.kinds[number] in FREQUENT and now_t - index.times[number] > LOOK_BACK_S:
            continue
        event = index.event(number)
        if event is not None:
            # A journal has ends of the job's output, not all of it.
            model.take({**event, "tail": True} if event["event"] == "output" else event)
    model.know_peak(index.peak_job_bytes(end))
