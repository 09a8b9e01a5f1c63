"""Which source of progress counts, and what is told of the whole run: with a job that is simulated."""

from dataclasses import replace
from typing import Any

import pytest

from memwatch.decide.earlier_runs import EarlierRun
from memwatch.guard import progress_watch
from memwatch.guard.progress_watch import JobProgress
from memwatch.model.sample import Memory, Process, Sample
from memwatch.model.units import GIB, MIB


class Events:
    """Keeps what a guard would journal and send to views."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.needs: list[dict[str, Any]] = []

    def progress(self, message: dict[str, Any]) -> None:
        self.shown.append(message)

    def need(self, facts: dict[str, Any]) -> None:
        self.needs.append(facts)


class Output:
    def __init__(self, is_captured: bool) -> None:
        self.is_captured = is_captured
        self.text = ""

    def unread(self) -> tuple[str, bool]:
        text, self.text = self.text, ""
        return text, False


def watch_of(is_captured: bool = False) -> tuple[Any, Events, Output]:
    events, output = Events(), Output(is_captured)
    made: Any = JobProgress
    return made(["python", "p.py", "x.txt"], events, output, lambda *_: None), events, output


def sample_at(clock_s: float, job_bytes: int) -> Sample:
    job = Process(999_999_999, 1, 1, "R", job_bytes, 0, 0.0, None, None, "p.py")
    return replace(Sample(clock_s, clock_s, Memory(64 * GIB, 32 * GIB, 0, 0)), job=(job,))


@pytest.fixture(autouse=True)
def no_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_watch, "earlier_runs", lambda *_: [])


def run_until(watch: Any, until: float, room_bytes: int) -> list[str]:
    warnings = []
    for step in range(1, round(until * 200) + 1):
        job_bytes = 200 * MIB + 10 * GIB * step // 200
        watch.report({"done": step, "total": 200, "unit": "steps"})
        warnings.append(watch.look(sample_at(step * 3.0, job_bytes), room_bytes - job_bytes))
    return [warning for warning in warnings if warning is not None]


def test_a_job_that_will_not_fit_is_warned_of_once_long_before() -> None:
    watch, events, _ = watch_of()
    (warning,) = run_until(watch, 0.5, 8 * GIB)
    # It grows evenly, so that both ends of the range are shown as the same number.
    assert warning.startswith("needs 10 GiB at the end, 8.0 GiB are there: full at 7")
    assert warning.endswith("`memwatch diagnose --script p.py` shows why")
    first = next(facts for facts in events.needs if facts)
    assert first["fraction"] < 0.05
    assert [facts["warning"] for facts in events.needs if "warning" in facts] == [warning]
    facts = watch.exit_facts()
    assert facts["work_total"] == 200
    assert len(facts["curve"]) <= 33
    assert facts["curve"][-1] == [100, 200 * MIB + 5 * GIB]


def test_a_job_that_fits_is_told_of_and_not_warned_of() -> None:
    watch, events, _ = watch_of()
    assert run_until(watch, 0.9, 13 * GIB) == []
    assert events.needs[-1]["need_bytes"] == pytest.approx(10.2 * GIB, rel=0.05)


def test_an_earlier_run_is_told_of_before_anything_was_seen() -> None:
    watch, events, _ = watch_of()
    watch._earlier = [EarlierRun(200, 12 * GIB)]
    run_until(watch, 0.01, 8 * GIB)
    assert events.needs[0]["need_bytes"] == 12 * GIB
    assert events.needs[0]["runs"] == 1


def test_what_a_confined_job_may_have_in_swap_is_there_for_it() -> None:
    watch, events, _ = watch_of()
    for step in range(1, 101):
        watch.report({"done": step, "total": 200})
        job_bytes = 10 * GIB * step // 200
        assert watch.look(sample_at(step * 3.0, job_bytes), GIB - job_bytes, swap_bytes=14 * GIB) is None
    assert events.needs[-1]["there_bytes"] == 15 * GIB


def test_a_small_job_is_not_worth_a_word() -> None:
    watch, events, _ = watch_of()
    for step in range(1, 150):
        watch.report({"done": step, "total": 200})
        watch.look(sample_at(step * 3.0, 20 * MIB), GIB)
    assert events.needs == []


def test_a_bar_is_read_until_the_job_reports_by_itself() -> None:
    watch, events, output = watch_of(is_captured=True)
    output.text = "epochs:  45%|####5     | 45/100 [00:04<00:05,  9.9it/s]\r"
    watch.look(sample_at(1.0, MIB), GIB)
    assert events.shown == [
        {"done": 45.0, "total": 100, "unit": "%", "eta_s": 5.0, "source": "its output", "name": "epochs"}
    ]
    watch.report({"done": 1, "total": 10})
    output.text = "epochs:  46%|####6     | 46/100 [00:04<00:05,  9.9it/s]\r"
    watch.look(sample_at(3.0, MIB), GIB)
    assert events.shown[1:] == [{"done": 1, "total": 10}]


def test_nonsense_from_a_job_is_passed_over() -> None:
    watch, events, _ = watch_of()
    nonsense: list[tuple[object, object]] = [
        (5, 0),
        (-1, 10),
        ("x", 10),
        (5, None),
        (float("inf"), 10),
        (5, float("nan")),
    ]
    for done, total in nonsense:
        watch.report({"done": done, "total": total})
        watch.look(sample_at(1.0, GIB), GIB)
    assert events.needs == []
