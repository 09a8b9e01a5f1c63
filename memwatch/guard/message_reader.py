"""Reads the messages of views and of the job at a limited rate, so that nobody who floods the guard stops its work."""

import selectors
from collections import deque
from collections.abc import Callable
from typing import Any

from memwatch.channel import Channel

# A person presses no more keys, and a job reports no more often; further messages are dropped.
SHARE_S = 1.0
MOST_MESSAGES = 50
MOST_READS = 10

MessageHandler = Callable[[dict[str, Any]], None]


class MessageReader:
    """One channel. When its share is used up it is not read until `due_s`; the other end then has to wait."""

    def __init__(
        self, selector: selectors.BaseSelector, channel: Channel, handle: MessageHandler, clock: Callable[[], float]
    ) -> None:
        self.channel = channel
        self._selector = selector
        self._handle = handle
        self._clock = clock
        self._messages = self._reads = 0
        self._since_s = clock()
        self._is_registered = False
        self.due_s = float("inf")
        self.resume_reading()

    def resume_reading(self) -> None:
        if not self._is_registered:
            self._is_registered = True
            self._selector.register(self.channel, selectors.EVENT_READ, self._read)
        self.due_s = float("inf")

    def read_remaining(self) -> None:
        """At the end of the other side: handle its newest messages, at most one share of them."""
        newest: deque[dict[str, Any]] = deque(maxlen=MOST_MESSAGES)
        for _ in range(MOST_READS):
            messages = self.channel.receive() if self.channel.is_open else []
            if not messages:
                break
            newest.extend(messages)
        for message in newest:
            self._handle(message)

    def close(self) -> None:
        self._unregister()
        self.due_s = float("inf")

    def _read(self) -> None:
        now_s = self._clock()
        if now_s - self._since_s >= SHARE_S:
            self._since_s, self._messages, self._reads = now_s, 0, 0
        self._reads += 1
        for message in self.channel.receive():
            if self._messages < MOST_MESSAGES:
                self._messages += 1
                self._handle(message)
        if not self.channel.is_open:
            self.close()
        elif self._reads >= MOST_READS or self._messages >= MOST_MESSAGES:
            self._unregister()
            self.due_s = self._since_s + SHARE_S

    def _unregister(self) -> None:
        if self._is_registered:
            self._is_registered = False
            self._selector.unregister(self.channel)
