"""Screens as people see them, against stored pictures; pytest tests/tui --store-screens stores what is seen now.

A picture holds what every cell shows and in which colour; numbers that Textual makes up anew each time are taken out.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Region

from memwatch.tui.app import MemwatchApp
from memwatch.tui.draw.glyphs import ASCII, MONOCHROME, UNICODE, Glyphs
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import ViewKind
from memwatch.tui.screens.panel_widget import PanelWidget
from tests.tui import script
from tests.tui.running import run_async

STORED = Path(__file__).parent / "stored"

Events = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time of day is part of the picture."""
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def picture_of(
    events: list[dict[str, Any]],
    size: tuple[int, int],
    keys: tuple[str, ...] = (),
    glyphs: Glyphs = UNICODE,
    theme: str = "memwatch-dark",
    kind: ViewKind = ViewKind.RUN,
) -> str:
    app = MemwatchApp(script.ScriptedSource(events, kind), Look(glyphs), theme)
    taken: list[str] = []

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
            taken.append(app.export_screenshot(title="memwatch", simplify=True))

    run_async(run())
    return normalised(taken[0])


def normalised(svg: str) -> str:
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    # Fonts are fetched from the network, which a stored picture should not ask for.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)


@pytest.mark.parametrize(
    ("name", "events", "size", "keys", "glyphs", "theme", "kind"),
    [
        ("calm-120x36", script.calm, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("warning-120x36", script.warning, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("paused-120x36", script.paused, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("sharded-120x36", script.sharded, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("warning-80x24", script.warning, (80, 24), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("calm-80x24", script.calm, (80, 24), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("paused-60x15", script.paused, (60, 15), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("warning-40x10", script.warning, (40, 10), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("help-80x24", script.brief, (80, 24), ("question_mark",), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("stop-80x24", script.brief, (80, 24), ("x",), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("quit-40x10", script.brief, (40, 10), ("q",), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("zoom-120x36", script.warning, (120, 36), ("z",), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("light-120x36", script.warning, (120, 36), (), UNICODE, "memwatch-light", ViewKind.RUN),
        ("ascii-80x24", script.warning, (80, 24), (), ASCII, "memwatch-dark", ViewKind.RUN),
        ("monochrome-120x36", script.warning, (120, 36), (), MONOCHROME, "memwatch-dark", ViewKind.RUN),
        ("watch-120x36", script.watched, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.WATCH),
        ("nodes-120x36", script.on_nodes, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("nodes-80x24", script.on_nodes, (80, 24), (), UNICODE, "memwatch-dark", ViewKind.RUN),
        ("attach-120x36", script.attached, (120, 36), (), UNICODE, "memwatch-dark", ViewKind.ATTACH),
        ("attach-80x24", script.attached, (80, 24), (), UNICODE, "memwatch-dark", ViewKind.ATTACH),
        ("attach-40x10", script.attached, (40, 10), (), UNICODE, "memwatch-dark", ViewKind.ATTACH),
        ("watch-80x24", script.watched, (80, 24), (), UNICODE, "memwatch-dark", ViewKind.WATCH),
    ],
    ids=lambda value: value if isinstance(value, str) and "x" in value else "",
)  # fmt: skip
def test_a_screen_looks_as_it_did(
    name: str, events: Events, size: tuple[int, int], keys: tuple[str, ...], glyphs: Glyphs, theme: str, kind: ViewKind,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    seen = picture_of(events(), size, keys, glyphs, theme, kind)
    path = STORED / f"{name}.svg"
    if request.config.getoption("--store-screens"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen)
    assert seen == path.read_text(), f"{name} looks different; look at it, then store it with --store-screens"


@pytest.mark.parametrize(
    "size", [(1, 1), (3, 2), (20, 5), (59, 40), (60, 12), (99, 29), (100, 30), (200, 12), (300, 100)]
)
def test_there_is_no_size_it_cannot_show(size: tuple[int, int]) -> None:
    svg = picture_of(script.brief(), size)
    assert "Traceback" not in svg


def test_a_terminal_may_change_its_size_at_any_time() -> None:
    app = MemwatchApp(script.ScriptedSource(script.brief()), Look())

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            for size in [(80, 24), (40, 10), (60, 15), (10, 2), (200, 60), (120, 36)]:
                await pilot.resize_terminal(*size)
                await pilot.pause()
            memory = app.screen.query_one("#memory", PanelWidget)
            assert memory.display
            assert memory.size.height == 9

    run_async(run())


def test_only_what_changed_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = script.ScriptedSource(script.brief())
    app = MemwatchApp(source, Look())
    drawn: list[str] = []
    cells: list[int] = []
    refresh = PanelWidget.refresh

    def noted(panel: PanelWidget, *regions: Region, **options: Any) -> PanelWidget:
        drawn.append(str(panel.id))
        cells.extend(region.area for region in regions)
        return refresh(panel, *regions, **options)

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            monkeypatch.setattr(PanelWidget, "refresh", noted)
            app.draw()
            assert drawn == [], "nothing has changed"
            source.tell(script.output(20, "\rone more line"))
            app.draw()
            assert set(drawn) == {"output"}
            assert sum(cells) < 250

    run_async(run())


def test_in_ascii_there_is_nothing_else() -> None:
    svg = picture_of(script.warning(), (120, 36), glyphs=ASCII)
    shown = "".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)).replace("&#160;", " ")
    assert shown.isascii(), {c for c in shown if not c.isascii()}
