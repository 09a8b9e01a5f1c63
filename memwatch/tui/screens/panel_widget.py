"""PanelWidget: lines that a pure function draws, put on the screen; and of those only what has changed."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from memwatch.tui.draw.lines import BLANK, ROLES, Line, Span, in_ascii, padded
from memwatch.tui.draw.look import Look, framed, inner_size
from memwatch.tui.model.picture import Picture
from memwatch.tui.model.terminal_text import Ink

PAGE = 10
# What is left of roles without colours.
BOLD = ("strong", "title", "key", "focus", "warn", "act", "forecast")
DIM = ("dim", "faint", "frame")
REVERSED = ("on-warn", "on-act")

Draw = Callable[[Picture, Look, int, int], list[Line]]
DrawScrolled = Callable[[Picture, Look, int, int, int], list[Line]]
Name = Callable[[Picture, Look], Line]
Count = Callable[[Picture, Look, int], int]


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a panel shows. `scrolled` draws from an offset that the user moves; `from_end` counts it from the end, and
    `rows` returns how many there are for a width."""

    lines: Draw | None = None
    scrolled: DrawScrolled | None = None
    rows: Count | None = None
    title: Name | None = None
    subtitle: Name | None = None
    from_end: bool = False


# Screens have them as COMPONENT_CLASSES. Not each panel: to style hundreds takes half of the time to the first frame.
ROLE_CLASSES = {f"role--{role}" for role in ROLES}


class PanelWidget(Widget):
    """Must be on a screen that has the ROLE_CLASSES."""

    def __init__(self, drawing: Drawing, id: str, can_focus: bool = False) -> None:
        super().__init__(id=id)
        self.can_focus = can_focus
        self._drawing = drawing
        self._shown: list[Line] = []
        self._picture: Picture | None = None  # Until there is one, nothing is drawn: it might not fit the terminal.
        self._look = Look()
        self._top = 0
        self._styles_known: dict[tuple[str, str, Ink | None], Style] = {}

    def show(self, picture: Picture, look: Look) -> None:
        if look.has_colours != self._look.has_colours:
            self._styles_known.clear()
        self._picture, self._look = picture, look
        self._redraw()

    @property
    def lines(self) -> list[Line]:
        return self._shown

    def render_line(self, y: int) -> Strip:
        spans = self._shown[y] if y < len(self._shown) else BLANK
        strip = Strip([Segment(span.text, self._style(span)) for span in spans])
        return strip.adjust_cell_length(self.size.width, self._style(Span("")))

    def notify_style_update(self) -> None:
        self._styles_known.clear()
        super().notify_style_update()

    def on_resize(self) -> None:
        self._redraw()

    def on_focus(self) -> None:
        self._redraw()

    def on_blur(self) -> None:
        self._redraw()

    def on_click(self, event: events.Click) -> None:
        action = self._action_at(event.x, event.y)
        if action:
            event.stop()
            self.app.call_later(self.app.run_action, action)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if self._drawing.scrolled is not None:
            event.stop()
            self.scroll_by(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if self._drawing.scrolled is not None:
            event.stop()
            self.scroll_by(-3)

    def scroll_by(self, rows: int) -> None:
        """Scroll by so many rows, but not past the first or the last."""
        if self._picture is None or self._drawing.rows is None:
            return
        width, height = self._inner()
        most = max(self._drawing.rows(self._picture, self._look, width) - height, 0)
        self._top = min(max(self._top + (-rows if self._drawing.from_end else rows), 0), most)
        self._redraw()

    def scroll_to_end(self) -> None:
        self._top = 0
        self._redraw()

    def _redraw(self) -> None:
        width, height = self.size
        if self._picture is None or not width or not height:
            return
        lines = self._drawn(self._picture, width, height)
        if self._look.glyphs.is_ascii:
            lines = [in_ascii(line) for line in lines]
        before, self._shown = self._shown, lines
        if len(before) != len(lines):
            self.refresh()
            return
        changed = [_changed(old, new, y) for y, (old, new) in enumerate(zip(before, lines, strict=True)) if old != new]
        if changed:
            self.refresh(*changed)

    def _drawn(self, picture: Picture, width: int, height: int) -> list[Line]:
        drawing, look, inner = self._drawing, self._look, self._inner()
        if drawing.scrolled is not None:
            lines = drawing.scrolled(picture, look, *inner, self._top)
        else:
            assert drawing.lines is not None
            lines = drawing.lines(picture, look, *inner)
        if drawing.title is None:
            return [padded(row, width) for row in [*lines[:height], *[BLANK] * (height - len(lines))]]
        title = drawing.title(picture, look)
        right = BLANK if drawing.subtitle is None else drawing.subtitle(picture, look)
        return framed(lines, look.frame, title, right, (width, height), look.glyphs, self.has_focus)

    def _inner(self) -> tuple[int, int]:
        """The size inside the frame, which only a panel with a title has."""
        width, height = self.size
        return (width, height) if self._drawing.title is None else inner_size(self._look.frame, width, height)

    def _action_at(self, x: int, y: int) -> str:
        for span in self._shown[y] if y < len(self._shown) else BLANK:
            x -= cell_len(span.text)
            if x < 0:
                return span.action
        return ""

    def _style(self, span: Span) -> Style:
        key = (span.role, span.on, span.ink)
        if key not in self._styles_known:
            self._styles_known[key] = self._made_style(*key)
        return self._styles_known[key]

    def _made_style(self, role: str, on: str, ink: Ink | None) -> Style:
        if not self._look.has_colours:
            return Style(bold=role in BOLD or None, dim=role in DIM or None, reverse=on in REVERSED or None)
        style = self.rich_style if ink is None else self.rich_style + inked_style(ink)
        if on:
            behind = self.screen.get_component_rich_style(f"role--{on}")
            # A banner has a background of its own; for all else it is the colour it would be drawn in.
            is_banner = on.startswith("on-")
            style += Style(color=behind.color, bgcolor=behind.bgcolor) if is_banner else Style(bgcolor=behind.color)
        if role:
            own = self.screen.get_component_rich_style(f"role--{role}")
            color = None if on.startswith("on-") else own.color
            style += Style(color=color, bold=own.bold, dim=own.dim, italic=own.italic)
        return style


def _changed(old: Line, new: Line, y: int) -> Region:
    """The part of a line that differs."""
    start = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        start += cell_len(after.text)
    width = sum(cell_len(span.text) for span in new)
    end = width
    for before, after in zip(reversed(old), reversed(new), strict=False):
        if before != after or end - cell_len(after.text) < start:
            break
        end -= cell_len(after.text)
    return Region(start, y, max(end - start, 1), 1)


def inked_style(ink: Ink) -> Style:
    return Style(
        color=_color(ink.front),
        bgcolor=_color(ink.back),
        bold=ink.bold or None,
        dim=ink.dim or None,
        italic=ink.italic or None,
        underline=ink.underlined or None,
        reverse=ink.reversed or None,
    )


def _color(value: int | str | None) -> Color | None:
    if value is None:
        return None
    return Color.from_ansi(value) if isinstance(value, int) else Color.parse(value)
