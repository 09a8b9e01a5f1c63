"""A run with its guard at the other end of the line: our own, or one that we joined."""

import asyncio
import time
from collections.abc import Callable

from memwatch.channel import Channel
from memwatch.journal.reader import JournalIndex
from memwatch.probe.process_waits import waits_for_input
from memwatch.tui.model.picture import JobState, Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from memwatch.tui.sources import Event
from memwatch.tui.sources.replay_source import take_past

INPUT_LOOK_S = 2.0
LOOKED_AT = 16  # processes
WAITS_FOR_INPUT = "the job waits for input, which the full screen cannot pass on: stop it and run it with --ui plain"


class LiveSource:
    """`handle` gets every event first. Where we have joined, the past is in the journal."""

    kind = ViewKind.RUN

    def __init__(self, channel: Channel, handle: Callable[[Event], None], journal: str | None = None) -> None:
        self._channel = channel
        self._handle = handle
        self._journal = journal
        self._model = RunModel(ViewKind.RUN)
        self._input_looked_s = time.monotonic()
        self._has_told_of_input = False

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()

        def readable() -> None:
            events = self.read()
            if events:
                changed(events)
            if not self._channel.is_open:
                self.stop()
                ended()

        self._loop.add_reader(self._channel.fileno(), readable)

    def read(self) -> list[Event]:
        """Take the events that have arrived."""
        events = self._channel.receive()
        for event in events:
            self._handle(event)
            if event.get("event") == "joined" and self._journal is not None:
                self._catch_up(self._journal, int(event["journal_bytes"]))
            self._model.take(event)
        if any(event.get("event") == "sample" for event in events):
            events += self._input_note()
        return events

    def _input_note(self) -> list[Event]:
        """A note, once, if the job waits for keyboard input, which it cannot get here."""
        now_s = time.monotonic()
        if self._has_told_of_input or now_s - self._input_looked_s < INPUT_LOOK_S:
            return []
        self._input_looked_s = now_s
        sleeping = [row.process.pid for row in self.picture().processes if row.process.state == "S"]
        if not any(waits_for_input(pid) for pid in sleeping[:LOOKED_AT]):
            return []
        self._has_told_of_input = True
        note: Event = {"t": time.time(), "event": "note", "text": WAITS_FOR_INPUT}
        self._model.take(note)
        return [note]

    @property
    def is_over(self) -> bool:
        return not self._channel.is_open or self._model.picture(0.0).state == JobState.ENDED

    def _catch_up(self, journal: str, journal_bytes: int) -> None:
        index = JournalIndex(journal, journal_bytes)
        take_past(self._model, index, 0, len(index))
        index.close()

    def stop(self) -> None:
        self._loop.remove_reader(self._channel.fileno())

    def picture(self) -> Picture:
        return self._model.picture(time.time())

    def send(self, message: Event) -> bool:
        return self._channel.send(message)
