"""The driver of tasks with a pool that only pretends: which segments it repeats, names, and how much it holds."""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwatch.cluster.driver import SegmentDriver
from memwatch.cluster.kept_journals import found_problems
from memwatch.cluster.nodes import NodeStatus, NodeWatch, announce
from memwatch.cluster.ray_connection import connected, why_not_connected
from memwatch.cluster.ray_task import reserve_fraction
from memwatch.cluster.run_folder import RunFolder, SharedPlan
from memwatch.cluster.run_report import RunReporter
from memwatch.cluster.segment_tasks import TaskResult
from memwatch.errors import MemwatchError, UsageError

SLOTS, RUNNING = 16, 5
Outcome = Callable[[int, int], TaskResult]


def done(number: int, attempt: int) -> TaskResult:
    return TaskResult(number, "m", "host", tokens=7)


class PretendedPool:
    """`outcome` is what becomes of the n-th attempt at a segment."""

    slots = SLOTS
    most_running = RUNNING

    def __init__(self, outcome: Outcome = done) -> None:
        self.outcome = outcome
        self.under_way: list[int] = []
        self.attempts: Counter[int] = Counter()
        self.most_under_way = 0
        self.avoided: dict[int, set[str]] = {}
        self.is_cancelled = False

    def submit(self, number: int, avoid: Collection[str]) -> None:
        self.under_way.append(number)
        self.avoided[number] = set(avoid)
        self.attempts[number] += 1
        self.most_under_way = max(self.most_under_way, len(self.under_way))

    def finished(self, timeout_s: float) -> list[TaskResult]:
        number = self.under_way.pop(0)
        return [self.outcome(number, self.attempts[number])]

    def cancel(self) -> None:
        self.is_cancelled = True
        self.under_way.clear()


class NoSignals:
    stop: int | None = None
    shard = False
    wakeup = None

    def drain(self) -> None:
        """Nothing comes."""


def driver_of(out: Path, segments: int, pool: PretendedPool, signals: Any = None, beat_s: float = 5.0) -> SegmentDriver:
    folder = RunFolder(str(out))
    plan = SharedPlan({}, [{"path": "in.txt", "size_bytes": segments}], [[0, n, n + 1] for n in range(segments)])
    noticed: Any = signals or NoSignals()
    reporter = RunReporter(None, noticed, [1] * segments, 2, NodeWatch(folder), beat_s)
    return SegmentDriver(folder, plan, pool, reporter, NodeStatus("driver", "host", None, None, 0), beat_s)


def test_every_segment_is_made_once_and_few_are_under_way(tmp_path: Path) -> None:
    pool = PretendedPool()
    driver = driver_of(tmp_path, 100, pool)
    driver.run()
    assert pool.attempts == dict.fromkeys(range(100), 1)
    assert pool.most_under_way == SLOTS
    assert driver.progress.tokens_here == 700


def test_tasks_that_wait_for_a_cpu_are_not_shown_as_running(tmp_path: Path) -> None:
    """They were: eight segments on two CPUs."""
    seen: list[int] = []

    def outcome(number: int, attempt: int) -> TaskResult:
        seen.append(driver.progress.running)
        return done(number, attempt)

    driver = driver_of(tmp_path, 20, PretendedPool(outcome))
    driver.run()
    assert max(seen) == RUNNING


def test_an_error_is_repeated_elsewhere(tmp_path: Path) -> None:
    def outcome(number: int, attempt: int) -> TaskResult:
        fails = number == 5 and attempt < 3
        return TaskResult(number, f"m{attempt}", "host", problem="no disk") if fails else done(number, attempt)

    pool = PretendedPool(outcome)
    driver_of(tmp_path, 10, pool).run()
    assert pool.attempts[5] == 3
    assert pool.avoided[5] == {"m1", "m2"}


def test_what_is_said_of_the_last_segment_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was lost where the run ended within a second of the last report."""

    def outcome(number: int, attempt: int) -> TaskResult:
        return TaskResult(number, "m", "node7", problem="bad") if number == 9 else done(number, attempt)

    with pytest.raises(MemwatchError):
        driver_of(tmp_path, 10, PretendedPool(outcome)).run()
    assert "segment 9 failed 3 times and is left out: bad (node node7)" in capsys.readouterr().err


@pytest.mark.parametrize("lives", [True, False])
def test_another_driver_in_the_folder_is_mentioned_if_it_lives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lives: bool
) -> None:
    """One that was killed leaves its status behind."""
    folder, other = RunFolder(str(tmp_path)), NodeStatus("driver-b-7", "b", None, None, 0)
    announce(folder, other)

    def outcome(number: int, attempt: int) -> TaskResult:
        if lives:
            announce(folder, replace(other, beat=number))
        return done(number, attempt)

    driver = driver_of(tmp_path, 30, PretendedPool(outcome), beat_s=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memwatch.cluster.run_report.PROGRESS_INTERVAL_S", 0.0)
        patch.setattr("memwatch.cluster.run_report.READING_SHARE", 1e9)
        driver.run()
    assert ("another command works in this folder" in capsys.readouterr().err) == lives


def test_after_three_errors_the_segment_is_named_with_its_node_and_the_others_finish(tmp_path: Path) -> None:
    def outcome(number: int, attempt: int) -> TaskResult:
        return TaskResult(number, "m", "node7", problem="bad") if number == 5 else done(number, attempt)

    pool = PretendedPool(outcome)
    driver = driver_of(tmp_path, 10, pool)
    with pytest.raises(MemwatchError, match=r"segment 5 of 10 failed: bad \(node node7\)"):
        driver.run()
    assert len(driver.progress.done) == 9
    assert [(problem.number, problem.node) for problem in found_problems(RunFolder(str(tmp_path)))] == [
        (5, "node7")
    ] * 3


def test_another_version_on_a_node_ends_the_run_at_once(tmp_path: Path) -> None:
    pool = PretendedPool(lambda number, _: TaskResult(number, "m", "h", problem="node h has 1", ends_run=True))
    with pytest.raises(MemwatchError, match="node h has 1"):
        driver_of(tmp_path, 10, pool).run()
    assert pool.is_cancelled
    assert sum(pool.attempts.values()) <= SLOTS


def test_a_signal_cancels_what_is_under_way(tmp_path: Path) -> None:
    signals = NoSignals()
    signals.stop = 2
    pool = PretendedPool()
    with pytest.raises(MemwatchError, match="repeat the same command"):
        driver_of(tmp_path, 100, pool, signals).run()
    assert pool.is_cancelled


def test_memory_is_flat_over_ten_thousand_segments(tmp_path: Path) -> None:
    """A number in a set and a number in a queue for each: some hundred bytes, and nothing that grows in time."""
    segments = 10_000
    driver = driver_of(tmp_path, segments, PretendedPool())
    held: list[int] = []

    def outcome(number: int, attempt: int) -> TaskResult:
        if number % 1000 == 999:
            held.append(tracemalloc.get_traced_memory()[0])
        return done(number, attempt)

    driver._pool.outcome = outcome  # type: ignore[attr-defined]
    tracemalloc.start()
    try:
        driver.run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400 * segments
    assert held[-1] - held[0] < 300 * segments


@pytest.mark.parametrize("address", ["ray://head:10001", "local", ""])
def test_a_local_cluster_or_a_ray_client_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        connected(address)


def test_ray_address_in_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "local")
    with pytest.raises(UsageError, match="starts no Ray cluster"):
        connected("auto")


def test_without_the_extra_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MemwatchError, match=r"pip install 'memwatch\[ray\]'"):
        connected("auto")


@pytest.mark.parametrize(("threshold", "reserve"), [(None, 0.08), ("0.9", 0.13), ("junk", 0.08), ("1.0", 0.03)])
def test_the_guard_keeps_below_the_memory_monitor_of_ray(threshold: str | None, reserve: float) -> None:
    assert reserve_fraction(threshold) == pytest.approx(reserve)


def test_another_version_of_ray_or_python_is_one_sentence() -> None:
    text = (
        "Version mismatch: The cluster was started with:\n    Ray: 2.50.0\n    Python: 3.12.1\n"
        "This process on 10.0.0.1 was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\n"
    )
    assert why_not_connected("auto", text) == (
        "the Ray cluster has Ray 2.50.0 and Python 3.12.1, this process Ray 2.60.0 and Python 3.11.7; "
        "install the same versions"
    )
    assert why_not_connected("head:6379", "anything").startswith(
        "no Ray cluster at head:6379; start one with: ray start"
    )
