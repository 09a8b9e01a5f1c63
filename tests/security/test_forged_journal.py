"""A journal that somebody else has written: every word an escape sequence, every number absurd."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import memwatch
from tests.security.terminal import HOSTILE, obeyed, on_terminal

ABSURD = [-1, 0, 10**400, 2**63, -1e308, 1e308, math.nan, math.inf, True, None, HOSTILE, [HOSTILE], {HOSTILE: HOSTILE}]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("real") / "run.jsonl"
    done = memwatch("run", "--ui", "none", "--record", path, "--", "sleep", "1.2")
    assert done.code == 0, done.err
    events = [json.loads(line) for line in path.read_text().splitlines()]
    more: list[dict[str, Any]] = [
        {"event": "verdict", "level": "act", "reason": "it is full", "seconds_left": 3.0, "signals": ["swap"]},
        {"event": "action", "action": "pause", "pids": [1], "by": "guard", "result": "done", "reason": "it is full",
         "deadline_in_s": 5.0, "next": "stop"},
        {"event": "progress", "done": 1, "total": 2, "unit": "bytes", "eta_s": 1.0},
        {"event": "output", "text": "words"},
        {"event": "gap", "lost_lines": 3, "reason": "a full disk"},
    ]  # fmt: skip
    return [*events[:-1], *({"t": events[-1]["t"]} | event for event in more), events[-1]]


def forged(value: Any, word: object, number: object, key: str = "") -> Any:
    """The same with every word and every number replaced, but for what makes it an event."""
    if isinstance(value, dict):
        return {name: forged(item, word, number, name) for name, item in value.items()}
    if isinstance(value, list):
        return [forged(item, word, number) for item in value]
    if key == "event" or isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return value if word is None else word
    return number if key != "t" else value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    runs = tmp_path / "memwatch" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    return runs


def write(path: Path, events: list[Any]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def check(*command: object) -> None:
    code, text = on_terminal(*command)
    assert obeyed(text) == set(), command
    assert "Traceback" not in text
    assert "unexpected error" not in text, text
    assert code in (0, 1, 3)


def test_all_of_them_together_are_a_table(real: list[dict[str, Any]], folder: Path) -> None:
    for i, number in enumerate(ABSURD):
        write(folder / f"20260101-000000-{i}.jsonl", [forged(event, None, number) for event in real])
        write(
            folder / f"20260101-000001-{i}.jsonl", [{**forged(event, HOSTILE, number), "t": number} for event in real]
        )
    (folder / f"20260101-000002-{HOSTILE}.jsonl").write_text("x")
    check("runs")
    check("runs", "--json")


@pytest.mark.parametrize("number", [10**400, math.nan, HOSTILE], ids=["huge", "nan", "a word"])
def test_one_of_them_can_be_looked_at_in_every_way(number: object, real: list[dict[str, Any]], folder: Path) -> None:
    path = write(folder / "20260101-000000-1.jsonl", [forged(event, HOSTILE, number) for event in real])
    check("diagnose", path, "--show-commands")
    for kind in ("--csv", "--json", "--html"):
        check("export", path, kind, "-", "--show-commands")


def test_lines_without_end_are_passed_over(real: list[dict[str, Any]], folder: Path) -> None:
    path = write(folder / "20260101-000000-1.jsonl", ["x" * (5 << 20), *real])
    with path.open("a") as file:
        file.write("[" * 100_000 + "\n" + '{"t": 1, "event": "' + "y" * (5 << 20))
    check("runs")
    check("export", path, "--csv", "-")
    check("attach", path)
