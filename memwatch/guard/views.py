"""The views of a run: the front that started the guard, and those that attached. All get the same events."""

import selectors
import time
from collections.abc import Callable

from memwatch.channel import Channel
from memwatch.guard.attach_socket import AttachSocket
from memwatch.guard.message_reader import MessageHandler, MessageReader
from memwatch.journal.events import Event

# Each takes a descriptor, of which the guard needs some for its work.
MOST_VIEWS = 16


class Views:
    """A view that stalls misses something; one that is gone is forgotten. Neither keeps the guard from its work."""

    def __init__(self, selector: selectors.BaseSelector, handle: MessageHandler) -> None:
        self._selector = selector
        self._handle = handle
        self._readers: list[MessageReader] = []
        self._attach_socket: AttachSocket | None = None

    def add(self, channel: Channel) -> None:
        """Send events to a view from now on, and read its commands."""
        self._readers.append(MessageReader(self._selector, channel, self._handle, time.monotonic))

    def open_attach_socket(self, journal_path: str, greeting: Callable[[], list[Event]]) -> None:
        """Let views attach from now on. `greeting` is what each of them gets first."""
        try:
            attach_socket = AttachSocket(journal_path)
        except OSError:
            return  # A folder that takes no sockets: this run cannot be joined.

        def admit() -> None:
            channel = attach_socket.admit()
            if channel is None:
                return
            self._forget_the_gone()
            if len(self._readers) >= MOST_VIEWS:
                channel.close()
                return
            for event in greeting():
                channel.send(event)
            self.add(channel)

        self._attach_socket = attach_socket
        self._selector.register(attach_socket, selectors.EVENT_READ, admit)

    def send(self, event: Event) -> None:
        """To all views; those that have gone are forgotten."""
        for reader in self._readers:
            reader.channel.send(event)
        self._forget_the_gone()

    @property
    def due_s(self) -> float:
        """When `resume_reading` is to be called again."""
        return min((reader.due_s for reader in self._readers), default=float("inf"))

    def resume_reading(self, now_s: float) -> None:
        """Read those views again that had used up their share."""
        for reader in self._readers:
            if reader.due_s <= now_s:
                reader.resume_reading()

    def close(self) -> None:
        if self._attach_socket is not None:
            self._attach_socket.close()

    def _forget_the_gone(self) -> None:
        for reader in [reader for reader in self._readers if not reader.channel.is_open]:
            reader.close()
            self._readers.remove(reader)
            reader.channel.close()
