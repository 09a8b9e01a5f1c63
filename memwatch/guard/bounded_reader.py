"""Hears what views and the job say, each within its share: whoever floods the guard does not keep it from its work."""

import selectors
from collections import deque
from collections.abc import Callable
from typing import Any

from memwatch.channel import Channel

# A person presses no more keys, and a job has no more to tell; what is said beyond that is passed over.
SHARE_S = 1.0
MOST_MESSAGES = 50
MOST_READS = 10

Heed = Callable[[dict[str, Any]], None]


class Ear:
    """One channel. With its share used up it goes unread, until `due_s`; its other end then has to wait."""

    def __init__(
        self, selector: selectors.BaseSelector, channel: Channel, heed: Heed, clock: Callable[[], float]
    ) -> None:
        self.channel = channel
        self._selector = selector
        self._heed = heed
        self._clock = clock
        self._messages = self._reads = 0
        self._since_s = clock()
        self._is_listening = False
        self.due_s = float("inf")
        self.listen()

    def listen(self) -> None:
        if not self._is_listening:
            self._is_listening = True
            self._selector.register(self.channel, selectors.EVENT_READ, self._hear)
        self.due_s = float("inf")

    def take_the_last(self) -> None:
        """What was said at the end, when nobody will say any more: the newest, within one share."""
        said: deque[dict[str, Any]] = deque(maxlen=MOST_MESSAGES)
        for _ in range(MOST_READS):
            messages = self.channel.receive() if self.channel.is_open else []
            if not messages:
                break
            said.extend(messages)
        for message in said:
            self._heed(message)

    def close(self) -> None:
        self._rest()
        self.due_s = float("inf")

    def _hear(self) -> None:
        now_s = self._clock()
        if now_s - self._since_s >= SHARE_S:
            self._since_s, self._messages, self._reads = now_s, 0, 0
        self._reads += 1
        for message in self.channel.receive():
            if self._messages < MOST_MESSAGES:
                self._messages += 1
                self._heed(message)
        if not self.channel.is_open:
            self.close()
        elif self._reads >= MOST_READS or self._messages >= MOST_MESSAGES:
            self._rest()
            self.due_s = self._since_s + SHARE_S

    def _rest(self) -> None:
        if self._is_listening:
            self._is_listening = False
            self._selector.unregister(self.channel)
