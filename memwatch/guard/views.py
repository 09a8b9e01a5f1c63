"""Everyone who watches: the front that started us, and whoever has joined since. All hear the same and may command."""

import selectors
from collections.abc import Callable
from typing import Any

from memwatch.channel import Channel
from memwatch.guard.join import Door
from memwatch.record.events import Event

Obey = Callable[[dict[str, Any]], None]


class Views:
    """A view that stalls misses something; one that is gone is forgotten. Neither keeps the guard from its work."""

    def __init__(self, selector: selectors.BaseSelector, obey: Obey) -> None:
        self._selector = selector
        self._obey = obey
        self._channels: list[Channel] = []
        self._door: Door | None = None

    def add(self, channel: Channel) -> None:
        self._channels.append(channel)
        self._selector.register(channel, selectors.EVENT_READ, lambda: self._hear(channel))

    def open_door(self, journal_path: str, greeting: Callable[[], list[Event]]) -> None:
        """From now on others may join, and are told first what they have missed."""
        try:
            door = Door(journal_path)
        except OSError:
            return  # A folder that takes no sockets: this run cannot be joined.

        def admit() -> None:
            channel = door.admit()
            if channel is not None:
                for event in greeting():
                    channel.send(event)
                self.add(channel)

        self._door = door
        self._selector.register(door, selectors.EVENT_READ, admit)

    def send(self, event: Event) -> None:
        for channel in list(self._channels):
            channel.send(event)
            if not channel.is_open:
                self._forget(channel)

    def close(self) -> None:
        if self._door is not None:
            self._door.close()

    def _hear(self, channel: Channel) -> None:
        for message in channel.receive():
            self._obey(message)
        if not channel.is_open:
            self._forget(channel)

    def _forget(self, channel: Channel) -> None:
        if channel in self._channels:
            self._channels.remove(channel)
            self._selector.unregister(channel)
            channel.close()
