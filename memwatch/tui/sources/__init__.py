"""Where events come from. A source owns a RunModel and calls back when it has changed."""

from collections.abc import Callable
from typing import Any, Protocol

from memwatch.tui.model.picture import Picture, ViewKind

Event = dict[str, Any]


class EventSource(Protocol):
    @property
    def kind(self) -> ViewKind: ...

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        """Inside a running event loop: from now on call `changed` with new events, and `ended` after the last one."""

    def stop(self) -> None: ...

    def picture(self) -> Picture: ...

    def send(self, message: Event) -> bool:
        """A command for the guard. False if there is no guard."""
