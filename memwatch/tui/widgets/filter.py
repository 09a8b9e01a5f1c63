"""The line in which one types what processes to see."""

from typing import TYPE_CHECKING, cast

from textual import events
from textual.widgets import Input

if TYPE_CHECKING:
    from memwatch.tui.app import MemwatchApp


class Filter(Input):
    def __init__(self, wanted: str) -> None:
        super().__init__(wanted, placeholder="processes whose command or pid has…", id="filter", compact=True)

    def on_mount(self) -> None:
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        cast("MemwatchApp", self.app).filter_by(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.remove()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            cast("MemwatchApp", self.app).filter_by("")
            self.remove()
