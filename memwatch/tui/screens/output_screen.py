"""The job's whole output, as far as it is kept, below the guard's verdict: a countdown must not go unseen."""

from dataclasses import replace
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from memwatch.tui.draw import banner, edges, text_panels
from memwatch.tui.draw.lines import Line, Span, cut, joined, line
from memwatch.tui.draw.look import Frame, Look
from memwatch.tui.model.picture import Picture
from memwatch.tui.screens.panel_widget import PAGE, ROLE_CLASSES, Drawing, PanelWidget


class OutputScreen(Screen[None]):
    COMPONENT_CLASSES: ClassVar[set[str]] = ROLE_CLASSES
    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,l,q", "dismiss", "back", show=False),
        Binding("up,k", "rows(-1)", show=False),
        Binding("down,j", "rows(1)", show=False),
        Binding("pageup", f"rows(-{PAGE})", show=False),
        Binding("pagedown", f"rows({PAGE})", show=False),
        Binding("home", "rows(-100000)", show=False),
        Binding("end", "end", show=False),
    ]

    def compose(self) -> ComposeResult:
        first = PanelWidget(Drawing(edges.header_lines), "header")
        first.styles.height = 1
        yield first
        second = PanelWidget(Drawing(banner.lines), "banner")
        second.styles.height = 1
        yield second
        yield PanelWidget(
            Drawing(scrolled=text_panels.output_lines, rows=text_panels.output_row_count, from_end=True), "whole"
        )
        last = PanelWidget(Drawing(_keys), "keys")
        last.styles.height = 1
        yield last

    def show(self, picture: Picture, look: Look) -> None:
        for panel in self.query(PanelWidget):
            panel.show(picture, replace(look, frame=Frame.NONE))

    def action_rows(self, count: int) -> None:
        self.query_one("#whole", PanelWidget).scroll_by(count)

    def action_end(self) -> None:
        self.query_one("#whole", PanelWidget).scroll_to_end()


def _keys(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    keys = ("Esc", "back"), ("PgUp PgDn", "scroll"), ("End", "follow"), ("p", "pause, resume"), ("x", "stop")
    shown = joined(line(Span(key, "key"), Span(f" {word}", "dim")) for key, word in keys)
    return [cut(line(" ", shown), width)]
