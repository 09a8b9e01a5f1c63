"""Makes the pictures in this folder from scripted runs (tests/tui/script.py): `make screenshots`.

The screens are those of the real app, at a fixed size and time, so a picture changes only when the app does;
tests/tui/test_screenshots.py compares them.
"""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import resvg_py
from textual.pilot import Pilot

from memwatch.journal.events import encode
from memwatch.journal.reader import JournalIndex
from memwatch.tui.app import MemwatchApp
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import ViewKind
from memwatch.tui.replay_app import ReplayApp
from memwatch.tui.sources.replay_source import ReplaySource
from memwatch.tui.themes import DARK, LIGHT
from tests.tui import script

HERE = Path(__file__).parent
WIDE, SMALL = (120, 36), (80, 24)
# Its letters are as wide as Textual's pictures want them, at this size; and it has all the characters of our charts.
FONT = "DejaVu Sans Mono"
FONT_SIZE = "20.265px"

# Where Rich puts the cells of a terminal in its pictures.
LEFT, TOP, COLUMN_WIDTH, ROW_HEIGHT = 9.0, 41.0, 12.2, 24.4
# Verdict, progress, memory, pressure and processes, as README.md numbers them.
PARTS_OF_THE_SCREEN = ((83, 1), (16, 2), (24, 6), (92, 6), (30, 19))

Steps = Callable[[Pilot[Any]], Awaitable[None]]
Labels = Sequence[tuple[int, int]]


async def nothing(pilot: Pilot[Any]) -> None:
    """No key is pressed."""


async def picture(
    path: Path, app: MemwatchApp, size: tuple[int, int], steps: Steps = nothing, labels: Labels = ()
) -> None:
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await steps(pilot)
        await pilot.pause()
        svg = app.export_screenshot(title="memwatch", simplify=True)
    svg = with_labels(drawn_alike_everywhere(svg), labels)
    path.with_suffix(".svg").write_text(svg)
    path.with_suffix(".png").write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=svg)))


def drawn_alike_everywhere(svg: str) -> str:
    """No fonts from the network, and no numbers that are new each time."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    svg = svg.replace("Fira Code, monospace", f"{FONT}, monospace")
    svg = svg.replace("font-size: 20px", f"font-size: {FONT_SIZE}")
    return svg.replace("font-family: arial", "font-family: DejaVu Sans, sans-serif")


def with_labels(svg: str, labels: Labels) -> str:
    """The picture with a numbered disc at each (column, row) of the screen: README.md explains the numbers."""
    drawn = ""
    for number, (column, row) in enumerate(labels, 1):
        x, y = LEFT + COLUMN_WIDTH * column, TOP + ROW_HEIGHT * (row + 0.5)
        drawn += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="15" fill="#e5484d" stroke="#ffffff" stroke-width="2"/>'
            f'<text x="{x:.1f}" y="{y + 7:.1f}" text-anchor="middle" fill="#ffffff" '
            f'style="font: bold 20px DejaVu Sans, sans-serif">{number}</text>'
        )
    return svg.replace("</svg>", f"{drawn}</svg>")


def live(events: list[dict[str, Any]], kind: ViewKind = ViewKind.RUN, theme: str = DARK.name) -> MemwatchApp:
    return MemwatchApp(script.ScriptedSource(events, kind), Look(), theme)


async def make_pictures(folder: Path) -> None:
    await picture(folder / "calm", live(script.calm()), WIDE)
    await picture(folder / "warning", live(script.warning()), WIDE)
    await picture(folder / "parts", live(script.warning()), WIDE, labels=PARTS_OF_THE_SCREEN)
    await picture(folder / "paused", live(script.paused()), WIDE)
    await picture(folder / "sharded", live(script.sharded()), WIDE)
    await picture(folder / "80x24", live(script.warning()), SMALL)
    await picture(folder / "light", live(script.warning(), theme=LIGHT.name), WIDE)
    await picture(folder / "watch", live(script.watched(), ViewKind.WATCH), WIDE)
    await picture(folder / "zoom", live(script.warning()), WIDE, lambda pilot: pilot.press("z"))
    await picture(folder / "replay", replay(folder), WIDE, stop_at_the_warning)


def replay(folder: Path) -> ReplayApp:
    journal = folder / ".replay.jsonl"
    events = sorted([*script.sharded(), script.ended(330)], key=lambda event: float(str(event["t"])))
    journal.write_bytes(b"".join(map(encode, (event for event in events if event["event"] != "output"))))
    try:
        return ReplayApp(ReplaySource(JournalIndex(journal)), Look(), DARK.name, str(journal))
    finally:
        journal.unlink()


async def stop_at_the_warning(pilot: Pilot[Any]) -> None:
    await pilot.press("home", "n")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    asyncio.run(make_pictures(HERE))
