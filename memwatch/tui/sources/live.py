"""A run with its guard at the other end of the line: our own, or one that we joined."""

import asyncio
import time
from collections.abc import Callable, Iterable

from memwatch.channel import Channel
from memwatch.tui.model.picture import Kind, Picture
from memwatch.tui.model.story import Story
from memwatch.tui.sources import Event


class LiveSource:
    """`heed` hears every event first. `past` is what happened before we joined, from the journal."""

    kind = Kind.RUN

    def __init__(self, channel: Channel, heed: Callable[[Event], None], past: Iterable[Event] = ()) -> None:
        self._channel = channel
        self._heed = heed
        self._story = Story(Kind.RUN)
        for event in past:
            self._story.take(event)

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()

        def readable() -> None:
            events = self._channel.receive()
            for event in events:
                self._heed(event)
                self._story.take(event)
            if events:
                changed(events)
            if not self._channel.is_open:
                self.stop()
                ended()

        self._loop.add_reader(self._channel.fileno(), readable)

    def stop(self) -> None:
        self._loop.remove_reader(self._channel.fileno())

    def picture(self) -> Picture:
        return self._story.picture(time.time())

    def send(self, message: Event) -> bool:
        return self._channel.send(message)
