"""Healthy jobs under memwatch, in cages: none is stopped, none is paused for long, each ends as it would without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benign.inputs import Inputs
from tests.benign.jobs import JOBS
from tests.benign.record import inputs_in
from tests.benign.run import MOST_PAUSED_S, paused_s, run
from tests.cage import needs_cage

BY_NAME = {job.name: job for job in JOBS}
# The hardest for a guard, and quick. All of them: --campaign, or `make benign` for a table.
CHOSEN = (
    ("numpy-ones-near-the-edge", 3),
    ("numpy-products", 3),
    ("list-of-integers", 3),
    ("java-pretouch", 3),
    ("node-buffer", 3),
    ("steps-of-512", 3),
    ("mmap-populate-near-the-edge", 1),
    ("sawtooth-fast", 1),
    ("bursts-near-the-edge", 1),
    ("checkpoints", 1),
    ("idle-processes", 1),
    ("forks-that-share", 1),
    ("exit-code-3", 1),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "benign_run" not in metafunc.fixturenames:
        return
    chosen: tuple[tuple[str, int], ...] = CHOSEN
    if metafunc.config.getoption("--campaign"):
        chosen = tuple((job.name, cage_gib) for cage_gib in (1, 3, 8) for job in JOBS if cage_gib in job.cages)
    metafunc.parametrize("benign_run", [pytest.param(each, id=f"{each[0]}-{each[1]}GiB") for each in chosen])


@pytest.fixture(scope="module")
def inputs() -> Iterator[Inputs]:
    with inputs_in(None) as made:
        yield made


@needs_cage
def test_a_healthy_job_is_left_alone(benign_run: tuple[str, int], inputs: Inputs, tmp_path: Path) -> None:
    name, cage_gib = benign_run
    job = BY_NAME[name]
    if (missing := job.missing()) is not None:
        pytest.skip(f"there is no {missing} here")
    outcome = run(job, cage_gib, inputs, tmp_path / "run.jsonl")
    reasons = [event.get("reason") for event in outcome.warnings]
    assert not outcome.stopped, reasons
    assert outcome.paused_s <= MOST_PAUSED_S, reasons
    assert outcome.code == job.code


def action(t: float, name: str) -> dict[str, object]:
    return {"t": t, "event": "action", "action": name}


@pytest.mark.parametrize(
    ("events", "seconds"),
    [
        pytest.param([], 0, id="no events"),
        pytest.param([action(1, "warn"), action(2, "pause"), action(5, "resume")], 3, id="one pause"),
        pytest.param([action(1, "pause"), action(2, "resume"), action(4, "pause"), action(8, "stop")], 5, id="two"),
        pytest.param([action(1, "pause"), action(2, "pause"), action(4, "resume")], 3, id="paused again while paused"),
        pytest.param([action(1, "pause"), {"t": 9, "event": "exit"}], 8, id="never resumed"),
    ],
)
def test_pauses_add_up(events: list[dict[str, object]], seconds: float) -> None:
    assert paused_s(events) == seconds
