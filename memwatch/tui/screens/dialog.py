"""A question in the middle of the screen, or something to read. One key answers; Escape takes it back."""

from dataclasses import dataclass, replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from memwatch.tui.draw.lines import BLANK, Line, Span, joined, line, width_of
from memwatch.tui.draw.look import Frame, Look
from memwatch.tui.model.picture import Picture
from memwatch.tui.widgets.panel import ROLE_CLASSES, Drawing, Panel


@dataclass(frozen=True, slots=True)
class Choice:
    key: str
    words: str
    value: str
    role: str = "key"


class Dialog(ModalScreen[str]):
    """Dismissed with the value of a choice, or with "" if the user thought better of it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = ROLE_CLASSES

    def __init__(self, title: str, text: list[Line], choices: list[Choice], look: Look) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._choices = choices
        self._look = replace(look, frame=Frame.BOX)

    def compose(self) -> ComposeResult:
        panel = Panel(Drawing(self._lines, title=lambda *_: line(Span(self._title, "title"))), "question")
        panel.styles.width = max(width_of(row) for row in [*self._rows(), line(self._title)]) + 8
        panel.styles.height = len(self._rows()) + 2
        yield panel

    def on_mount(self) -> None:
        self.query_one(Panel).show(Picture(), self._look)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        for choice in self._choices:
            if event.key == choice.key or event.character == choice.key:
                self.dismiss(choice.value)
                return
        if event.key in ("escape", "q", "n", "ctrl+c") or not self._choices:
            self.dismiss("")

    def action_choose(self, value: str) -> None:
        self.dismiss(value)

    def _rows(self) -> list[Line]:
        keys = [
            line(
                Span(f"[{choice.key}]", choice.role, action=f"screen.choose('{choice.value}')"),
                Span(f" {choice.words}", action=f"screen.choose('{choice.value}')"),
            )
            for choice in self._choices
        ]
        cancel = line(Span("[Esc]", "key", action="screen.choose('')"), Span(" back", action="screen.choose('')"))
        return [BLANK, *self._text, BLANK, joined([*keys, cancel], "   "), BLANK]

    def _lines(self, picture: Picture, look: Look, width: int, height: int) -> list[Line]:
        return [line("  ", row) if row else BLANK for row in self._rows()]
