"""A question in the middle of the screen, or something to read. One key answers; Escape cancels."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Input

from memwatch.tui.draw.lines import BLANK, Line, Span, joined, line, text_of, width_of, wrapped
from memwatch.tui.draw.look import Frame, Look
from memwatch.tui.model.picture import Picture
from memwatch.tui.screens.panel_widget import ROLE_CLASSES, Drawing, PanelWidget

MARGIN = 8  # columns, for the frame and the space inside it


@dataclass(frozen=True, slots=True)
class Choice:
    key: str
    words: str
    value: str
    role: str = "key"


class Dialog(ModalScreen[str]):
    """Dismissed with the value of a choice, or with "" if the user cancels."""

    COMPONENT_CLASSES: ClassVar[set[str]] = ROLE_CLASSES

    def __init__(self, title: str, text: list[Line], choices: list[Choice], look: Look) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._choices = choices
        self._look = replace(look, frame=Frame.BOX)
        self._is_answered = False

    def compose(self) -> ComposeResult:
        panel = PanelWidget(Drawing(self._lines, title=lambda *_: line(Span(self._title, "title"))), "question")
        wanted = max(width_of(row) for row in [*self._rows(MARGIN * 1000), line(self._title)]) + MARGIN
        width = min(wanted, self.app.size.width)
        panel.styles.width = width
        panel.styles.height = len(self._rows(width - MARGIN)) + 2
        yield panel

    def on_mount(self) -> None:
        self.query_one(PanelWidget).show(Picture(), self._look)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        for choice in self._choices:
            if event.key == choice.key or event.character == choice.key:
                self.answer(choice.value)
                return
        if event.key in ("escape", "q", "n", "ctrl+c") or not self._choices:
            self.answer("")

    def action_choose(self, value: str) -> None:
        self.answer(value)

    def answer(self, value: str) -> None:
        """Dismiss the dialog, once: a second key may come before it is gone, and would act on another screen."""
        if not self._is_answered:
            self._is_answered = True
            self.dismiss(value)

    def _rows(self, width: int) -> list[Line]:
        """Where there is little room, words go on in the next row, and each choice has its own."""
        keys = [_choice(choice) for choice in (*self._choices, Choice("Esc", "back", ""))]
        in_a_row = joined(keys, "   ")
        text = [row for part in self._text for row in _fitted(part, width)]
        return [BLANK, *text, BLANK, *([in_a_row] if width_of(in_a_row) <= width else keys), BLANK]

    def _lines(self, picture: Picture, look: Look, width: int, height: int) -> list[Line]:
        inner = width + 4 - MARGIN
        return [line("  ", row) if row else BLANK for row in self._rows(inner)]


def _choice(choice: Choice) -> Line:
    action = f"screen.choose('{choice.value}')"
    return line(Span(f"[{choice.key}]", choice.role, action=action), Span(f" {choice.words}", action=action))


def _fitted(row: Line, width: int) -> list[Line]:
    """The row, wrapped to the width if it has no colours."""
    is_plain = all(not span.role for span in row)
    if not is_plain or width_of(row) <= width:
        return [row]
    return [line(text) for text in wrapped(text_of(row), width, 4)]


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
