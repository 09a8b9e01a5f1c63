"""Exports from the screen."""

from pathlib import Path

from memwatch.tui.exporting import export
from tests.tui.running import run_async


def test_what_goes_wrong_is_said_in_one_sentence(tmp_path: Path) -> None:
    async def run() -> None:
        said = await export(str(tmp_path / "no-such-run.jsonl"), "html", tmp_path)
        assert said.startswith("cannot export: ")
        assert "\n" not in said

    run_async(run())
    assert list(tmp_path.iterdir()) == []
