"""Where events come from. A source owns a Story and tells when there is something new in it."""

from collections.abc import Callable
from typing import Any, Protocol

from memwatch.tui.model.picture import Picture, ViewKind

Event = dict[str, Any]


class EventSource(Protocol):
    @property
    def kind(self) -> ViewKind: ...

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        """Inside a running event loop: from now on tell what is new, and when there is no more to come."""

    def stop(self) -> None: ...

    def picture(self) -> Picture: ...

    def send(self, message: Event) -> bool:
        """A command for the guard. False if there is none to hear it."""
