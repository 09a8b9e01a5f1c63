"""A real hog in a cage with real swap: when it is warned about, when it is stopped, and how much has gone to swap."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memwatch.model.units import MIB
from tests.cage import NoSwap, cage, needs_cage, swap_file
from tests.guard.processes import Watched
from tests.guard.test_pressure import HOG

pytestmark = needs_cage

LIMIT_MIB = 1400
RATE_MIB_S = 100


@pytest.fixture(scope="module", autouse=True)
def swap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(swap_file(tmp_path_factory.mktemp("swap"), 768 * MIB))
        except NoSwap as reason:
            pytest.skip(str(reason))
        yield


def journal_of(path: Path, **config: object) -> list[dict[str, Any]]:
    """Of a hog that takes 200 MiB more than there is, if it is let."""
    command = (sys.executable, "-c", HOG, RATE_MIB_S, LIMIT_MIB + 200)
    with cage(LIMIT_MIB * MIB) as made, Watched(*command, cage=made, record=str(path), **config) as watched:
        watched.event("start")
        if config.get("on_pressure") == "warn":
            while swap_used(watched.event("sample")) < 64 * MIB:
                pass
            watched.tell("kill")
        watched.event("exit")
    return [json.loads(line) for line in path.read_text().splitlines()]


def swap_used(sample: dict[str, Any]) -> int:
    """By the cage alone: the machine's counters also have what other tests push out."""
    return max((limit["swap_used_bytes"] for limit in sample.get("limits", ())), default=0)


def swapped_out(events: list[dict[str, Any]]) -> list[tuple[float, int]]:
    """(when, bytes)."""
    return [(e["t"], swap_used(e)) for e in events if e["event"] == "sample"]


def action_t(events: list[dict[str, Any]], name: str) -> float:
    return next(float(e["t"]) for e in events if e["event"] == "action" and e["action"] == name)


def test_it_is_acted_on_before_anything_much_is_in_swap(tmp_path: Path) -> None:
    events = journal_of(tmp_path / "run.jsonl", pause_timeout_s=1)
    assert events[-1]["code"] == 124
    assert action_t(events, "warn") <= action_t(events, "pause") <= action_t(events, "stop")
    assert max(size for t, size in swapped_out(events) if t <= action_t(events, "stop") + 1) <= 64 * MIB


def test_it_is_warned_about_five_seconds_before_the_first_page_goes_out(tmp_path: Path) -> None:
    """Nobody acts here, so that there is a first page."""
    events = journal_of(tmp_path / "run.jsonl", on_pressure="warn")
    first_out_t = next(t for t, size in swapped_out(events) if size > 0)
    assert first_out_t - action_t(events, "warn") >= 5
