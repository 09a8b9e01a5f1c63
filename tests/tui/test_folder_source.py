"""The screen of a run on many machines ends by itself when the run is complete, and says what failed."""

import pytest

from memwatch.errors import MemwatchError
from memwatch.tui.app import Left, MemwatchApp
from memwatch.tui.draw.look import Look
from memwatch.tui.sources import Event
from memwatch.tui.sources.folder_source import FolderSource
from tests.tui import script
from tests.tui.running import run_async


@pytest.mark.parametrize("fails", [False, True])
def test_the_screen_ends_with_the_run_or_with_its_failure(fails: bool) -> None:
    looks = 0

    def look(now_t: float) -> list[Event]:
        nonlocal looks
        looks += 1
        if looks < 3:
            return script.attached()
        if fails:
            raise MemwatchError("cannot list s3://b/x: permission denied")
        return [{"t": now_t, "event": "exit", "code": 0, "signal": None, "by": None}]

    source = FolderSource(look, 0.01)
    app = MemwatchApp(source, Look())

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            while app.return_value is None:
                await pilot.pause(0.01)

    run_async(run())
    assert app.return_value == Left.ENDED
    assert source.is_over != fails
    assert (source.failure is not None) == fails
