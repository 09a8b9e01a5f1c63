"""What RunsTogether asks for in the name of a run, with another run beside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from memwatch.decide.action_state import ActionState
from memwatch.decide.actions import By
from memwatch.decide.forecast import Forecast
from memwatch.decide.reserve import Reserve
from memwatch.decide.turns import ALONE, GuardedRun, RunState
from memwatch.decide.verdict import Decider
from memwatch.guard.registry import Registry
from memwatch.guard.runs_together import RunsTogether
from memwatch.model.sample import Memory, Process, Sample
from memwatch.model.units import GIB

OLDER = GuardedRun("older", "sort", 1, 1, RunState.RUNNING, 8 * GIB, 8 * GIB, grew_s=1.0)
STOPPED = ActionState(stopped_s=1.0, stopped_by=By.GUARD)


def seen(clock_s: float, job_gib: int) -> Sample:
    job = Process(7, 70, 1, "R", job_gib * GIB, 0, 1.0, None, None, "hog", own_bytes=job_gib * GIB)
    return Sample(clock_s, clock_s, Memory(16 * GIB, GIB, 0, 0), job=(job,))


def test_a_run_that_is_being_stopped_waits_for_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # GIVEN a run that grows beside an older one in a room that is full soon
    monkeypatch.setenv("MEMWATCH_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(Registry, "others", lambda self: [OLDER])
    together = RunsTogether("this", ("hog",), 7, Reserve())
    look = Forecast(1.0, headroom_bytes=0, capacity_bytes=16 * GIB, reserve_bytes=GIB, seconds_left=0.0)
    together.turn(seen(0.5, 1), look, Decider().decide(look), ActionState())
    running = together.turn(seen(1.0, 2), look, Decider().decide(look), ActionState())
    assert running.waits_for == OLDER
    # WHEN it is sent SIGTERM
    stopped = together.turn(seen(1.1, 3), replace(look, clock_s=1.1), Decider().decide(look), STOPPED)
    # THEN nobody is told that it waits
    assert stopped == ALONE
    together.close()
