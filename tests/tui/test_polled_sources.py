"""The screen of a run on many machines ends by itself when the run is complete, and says what failed."""

import asyncio
from contextvars import ContextVar

import pytest

from memwatch.errors import MemwatchError
from memwatch.tui.app import Left, MemwatchApp
from memwatch.tui.draw.look import Look
from memwatch.tui.sources import Event
from memwatch.tui.sources.polled_sources import FolderSource
from tests.tui import script
from tests.tui.running import run_async

REFUSED = MemwatchError("cannot list s3://b/x: permission denied")


@pytest.mark.parametrize("failure", [None, REFUSED, PermissionError(13, "Permission denied", "out")])
def test_the_screen_ends_with_the_run_or_with_its_failure(failure: Exception | None) -> None:
    looks = 0

    def look(now_t: float) -> list[Event]:
        nonlocal looks
        looks += 1
        if looks < 3:
            return script.attached()
        if failure is not None:
            raise failure
        return [{"t": now_t, "event": "exit", "code": 0, "signal": None, "by": None}]

    source = FolderSource(look, 0.01)
    app = MemwatchApp(source, Look())

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            while app.return_value is None:
                await pilot.pause(0.01)

    run_async(run())
    assert app.return_value == Left.ENDED
    assert source.is_over == (failure is None)
    assert (source.failure is not None) == (failure is not None)


def test_what_a_look_brings_arrives_in_the_context_of_the_app() -> None:
    """Without it every timer of Textual that a change sets fails, and the screen ends with a LookupError."""
    app: ContextVar[str] = ContextVar("app", default="none")
    source = FolderSource(lambda _: [], 0.01)
    seen: list[str] = []

    async def run() -> None:
        app.set("this one")
        source.start(lambda _: seen.append(app.get()), lambda: None)
        while not seen:
            await asyncio.sleep(0.01)
        source.stop()

    run_async(run())
    assert set(seen) == {"this one"}
