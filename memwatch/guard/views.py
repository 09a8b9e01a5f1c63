"""Everyone who watches: the front that started us, and whoever has joined since. All hear the same and may command."""

import selectors
import time
from collections.abc import Callable

from memwatch.channel import Channel
from memwatch.guard.attach_socket import Door
from memwatch.guard.bounded_reader import Ear, Heed
from memwatch.journal.events import Event

# Each takes a descriptor, of which the guard needs some for its work.
MOST_VIEWS = 16


class Views:
    """A view that stalls misses something; one that is gone is forgotten. Neither keeps the guard from its work."""

    def __init__(self, selector: selectors.BaseSelector, obey: Heed) -> None:
        self._selector = selector
        self._obey = obey
        self._ears: list[Ear] = []
        self._door: Door | None = None

    def add(self, channel: Channel) -> None:
        self._ears.append(Ear(self._selector, channel, self._obey, time.monotonic))

    def open_door(self, journal_path: str, greeting: Callable[[], list[Event]]) -> None:
        """From now on others may join, and are told first what they have missed."""
        try:
            door = Door(journal_path)
        except OSError:
            return  # A folder that takes no sockets: this run cannot be joined.

        def admit() -> None:
            channel = door.admit()
            if channel is None:
                return
            self._forget_the_gone()
            if len(self._ears) >= MOST_VIEWS:
                channel.close()
                return
            for event in greeting():
                channel.send(event)
            self.add(channel)

        self._door = door
        self._selector.register(door, selectors.EVENT_READ, admit)

    def send(self, event: Event) -> None:
        for ear in self._ears:
            ear.channel.send(event)
        self._forget_the_gone()

    @property
    def due_s(self) -> float:
        """When `listen` is to be called again."""
        return min((ear.due_s for ear in self._ears), default=float("inf"))

    def listen(self, now_s: float) -> None:
        """To those again who have said more than their share."""
        for ear in self._ears:
            if ear.due_s <= now_s:
                ear.listen()

    def close(self) -> None:
        if self._door is not None:
            self._door.close()

    def _forget_the_gone(self) -> None:
        for ear in [ear for ear in self._ears if not ear.channel.is_open]:
            ear.close()
            self._ears.remove(ear)
            ear.channel.close()
