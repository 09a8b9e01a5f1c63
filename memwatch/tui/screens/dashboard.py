"""The dashboard: all panels, laid out for the terminal there is.

    header                          what runs, how it is
    banner                          the guard's verdict, and what can be done about it
    progress
    memory        | pressure        \\
    swap          | gpu              } vitals, where the terminal is small
    nodes                           of a run on many machines
    processes     | others
    output
    events
    timeline                        of a replay
    footer                          the keys
"""

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen

from memwatch.tui.draw import (
    banner,
    edges,
    gpu_panel,
    memory_panel,
    nodes_panel,
    others,
    pressure,
    process_table,
    progress_panel,
    swap,
    text_panels,
    tiny,
    vitals,
)
from memwatch.tui.draw.layout import ScreenLayout, ShownPanels, layout_for
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.screens.panel_widget import ROLE_CLASSES, Drawing, PanelWidget

ROWS = {
    "memory": "upper",
    "pressure": "upper",
    "swap": "middle",
    "gpu": "middle",
    "processes": "lower",
    "others": "lower",
}
PROCESSES = Drawing(
    scrolled=process_table.lines,
    rows=process_table.row_count,
    title=process_table.title,
    subtitle=process_table.subtitle,
)
OUTPUT = Drawing(
    scrolled=text_panels.output_lines,
    rows=text_panels.output_row_count,
    title=text_panels.output_title,
    subtitle=text_panels.output_subtitle,
    from_end=True,
)
EVENTS = Drawing(
    scrolled=text_panels.event_lines, rows=text_panels.event_row_count, title=text_panels.event_title, from_end=True
)
NODES = Drawing(scrolled=nodes_panel.lines, rows=nodes_panel.row_count, title=nodes_panel.title)
DEFAULT_ZOOM = "memory"


class Dashboard(Screen[None]):
    AUTO_FOCUS = ""
    COMPONENT_CLASSES: ClassVar[set[str]] = ROLE_CLASSES

    def __init__(self, picture: Picture, look: Look, timeline: Drawing | None = None) -> None:
        super().__init__()
        self._timeline = timeline
        self._layout: ScreenLayout | None = None
        self._is_compact = False
        self._zoomed: str | None = None
        self._picture = picture
        self._look = look

    def compose(self) -> ComposeResult:
        yield PanelWidget(Drawing(edges.header_lines), "header")
        yield PanelWidget(Drawing(banner.lines), "banner")
        yield PanelWidget(Drawing(progress_panel.lines, title=progress_panel.title), "progress", can_focus=True)
        with Horizontal(id="upper", classes="row"):
            yield PanelWidget(
                Drawing(memory_panel.lines, title=memory_panel.title, subtitle=memory_panel.subtitle),
                "memory",
                can_focus=True,
            )
            yield PanelWidget(Drawing(pressure.lines, title=pressure.title), "pressure", can_focus=True)
        with Horizontal(id="middle", classes="row"):
            yield PanelWidget(Drawing(swap.lines, title=swap.title), "swap", can_focus=True)
            yield PanelWidget(Drawing(gpu_panel.lines, title=gpu_panel.title), "gpu", can_focus=True)
        yield PanelWidget(Drawing(vitals.lines, title=vitals.title, subtitle=vitals.subtitle), "vitals", can_focus=True)
        yield PanelWidget(NODES, "nodes", can_focus=True)
        with Horizontal(id="lower", classes="row"):
            yield PanelWidget(PROCESSES, "processes", can_focus=True)
            yield PanelWidget(Drawing(others.lines, title=others.title), "others", can_focus=True)
        yield PanelWidget(OUTPUT, "output", can_focus=True)
        yield PanelWidget(EVENTS, "events", can_focus=True)
        yield PanelWidget(Drawing(tiny.lines), "tiny")
        if self._timeline is not None:
            yield PanelWidget(self._timeline, "timeline")
        yield PanelWidget(Drawing(edges.footer_lines), "footer")

    def on_resize(self) -> None:
        self.show(self._picture, self._look)

    def show(self, picture: Picture, look: Look) -> None:
        self._picture, self._look = picture, look
        self._lay_out()
        assert self._layout is not None
        shown = replace(look, frame=self._layout.frame)
        for panel in self.query(PanelWidget):
            if panel.id in self._layout.heights:
                panel.show(picture, shown)

    def toggle_compact(self) -> bool:
        self._is_compact = not self._is_compact
        self.show(self._picture, self._look)
        return self._is_compact

    def toggle_zoom(self) -> None:
        """The panel that has the focus alone, or all again."""
        focused = self.focused.id if isinstance(self.focused, PanelWidget) else None
        self._zoomed = (focused or DEFAULT_ZOOM) if self._zoomed is None else None
        self.show(self._picture, self._look)

    def leave_zoom(self) -> None:
        if self._zoomed is not None:
            self.toggle_zoom()

    def scroll_focused(self, rows: int) -> None:
        panel = self.focused if isinstance(self.focused, PanelWidget) else self.query_one("#processes", PanelWidget)
        panel.scroll_by(rows)

    def _lay_out(self) -> None:
        shown = ShownPanels(
            has_job=self._picture.has_job,
            has_output=self._picture.has_job,
            has_progress=self._picture.progress is not None,
            has_swap=not memory_panel.has_no_swap(self._picture),
            has_gpu=bool(gpu_panel.cards(self._picture)),
            has_timeline=self._timeline is not None,
            has_nodes=bool(self._picture.nodes),
            has_machine=self._picture.kind != ViewKind.ATTACH,
        )
        layout = layout_for(*self.size, self._is_compact, shown, self._zoomed)
        if layout == self._layout:
            return
        self._layout = layout
        heights = layout.heights
        for panel in self.query(PanelWidget):
            panel.display = panel.id in heights
            if panel.id in heights and panel.id not in ROWS:
                panel.styles.height = heights[panel.id]
        for row in self.query(Horizontal):
            inside = [heights[name] for name, of_row in ROWS.items() if of_row == row.id and name in heights]
            row.display = bool(inside)
            row.styles.height = max(inside, default=0)
