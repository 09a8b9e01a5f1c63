"""The pictures in screenshots/ and in the README show the screen as it is now; `make screenshots` makes them again."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from screenshots.make import HERE, make_pictures
from tests.tui.running import run_async

ROOT = HERE.parent


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_pictures_are_what_the_command_makes(tmp_path: Path) -> None:
    """PNG is left out: it depends on the fonts of the machine, and is made of the SVG."""
    run_async(make_pictures(tmp_path))
    made = {path.name: path.read_text() for path in tmp_path.glob("*.svg")}
    stored = {path.name: path.read_text() for path in HERE.glob("*.svg")}
    assert made.keys() == stored.keys()
    assert [name for name in made if made[name] != stored[name]] == [], "make screenshots, and look at the difference"
    assert {path.stem for path in HERE.glob("*.png")} == {path.stem for path in HERE.glob("*.svg")}


def test_the_pictures_of_the_readme_exist() -> None:
    names = re.findall(r"screenshots/[\w-]+\.(?:png|svg)", (ROOT / "README.md").read_text())
    assert names
    assert [name for name in names if not (ROOT / name).is_file()] == []
