"""Exports from the screen."""

from pathlib import Path

import pytest

from memwatch.journal.events import encode
from memwatch.tui.exporting import export
from tests.tui import script
from tests.tui.running import run_async


@pytest.mark.parametrize("form", ["html", "csv", "json"])
def test_a_run_is_exported_into_a_new_file(form: str, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    journal.write_bytes(b"".join(map(encode, script.brief())))
    said: list[str] = []

    async def run() -> None:
        said.append(await export(str(journal), form, tmp_path))

    run_async(run())
    (written,) = tmp_path.glob(f"memwatch-*.{form}")
    assert said == [f"exported to {written.name}"]
    assert written.stat().st_size


def test_what_goes_wrong_is_said_in_one_sentence(tmp_path: Path) -> None:
    async def run() -> None:
        said = await export(str(tmp_path / "no-such-run.jsonl"), "html", tmp_path)
        assert said.startswith("cannot export: ")
        assert "\n" not in said

    run_async(run())
    assert list(tmp_path.iterdir()) == []
