"""The journal's budget, as a pure object and as what a run's journal weighs."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.journal.reader import read_events
from memwatch.journal.size_budget import BYTES_AN_HOUR, JournalBudget
from memwatch.journal.writer import LISTED_PROCESSES, Journal
from memwatch.model.sample import Process
from tests.journal.examples import read_samples, sample, started

HOUR_S = 3600


def tree(processes: int) -> tuple[Process, ...]:
    command = "python train.py --workers 300 --out data/with/a/rather/long/path --seed 1234567"
    return tuple(
        Process(4000 + n, 123456789, 3999, "S", (n + 1) << 20, 0, 12.34, 1 << 30, 1 << 29, command, n << 20, 12345)
        for n in range(processes)
    )


@given(
    lines=st.lists(st.tuples(st.floats(0.0, 10.0), st.integers(1, 60_000), st.booleans()), max_size=200),
)
def test_samples_never_take_more_than_the_burst_and_what_came_in(lines: list[tuple[float, int, bool]]) -> None:
    budget = JournalBudget(bytes_a_second=1000, burst_bytes=100_000)
    t, spent = 5000.0, 0
    for passed_s, size_bytes, is_calm in lines:
        t += passed_s
        if budget.allows_sample(t, size_bytes, is_calm):
            budget.spend(t, size_bytes)
            spent += size_bytes
    assert spent <= 100_000 + 1000 * (t - 5000.0) + 1


def test_half_of_the_burst_is_kept_for_when_it_matters() -> None:
    budget = JournalBudget(bytes_a_second=0, burst_bytes=100_000)
    while budget.allows_sample(0.0, 1000, is_calm=True):
        budget.spend(0.0, 1000)
    in_danger = 0
    while budget.allows_sample(0.0, 1000, is_calm=False):
        budget.spend(0.0, 1000)
        in_danger += 1
    assert in_danger == 50


def test_a_clock_that_is_set_back_or_forward_gives_no_more_than_a_bucket() -> None:
    budget = JournalBudget(bytes_a_second=1000, burst_bytes=100_000)
    budget.spend(1000.0, 100_000)
    assert not budget.allows_sample(10.0, 1, is_calm=False)
    assert budget.allows_sample(1e9, 100_000, is_calm=False)
    assert not budget.allows_sample(1e9, 100_001, is_calm=False)


def hour(path: Path, processes: int, rate_hz: int, level: str = "calm") -> Journal:
    journal = started(path)
    job = tree(processes)
    for tick in range(HOUR_S * rate_hz):
        t = 1000.0 + tick / rate_hz
        now = replace(sample(t), job=job)
        now = replace(now, others=job[:8]) if tick % (10 * rate_hz) == 0 else now
        journal.sample(now)
        journal.verdict(level, "RAM is not full within the next minute at the present rate", None, t=t, signals=[])
        journal.progress({"done": tick, "total": HOUR_S * rate_hz, "unit": "rows", "rate": 123.456}, t=t)
    journal.exit(0, None, None, t=1000.0 + HOUR_S)
    journal.close()
    return journal


@pytest.mark.parametrize(
    ("processes", "rate_hz", "level"),
    [
        pytest.param(1, 10, "calm", id="one-process"),
        pytest.param(300, 2, "calm", id="300-processes"),
        pytest.param(300, 2, "warn", id="300-processes-in-danger-for-an-hour"),
    ],
)
def test_an_hour_weighs_5_mb_whatever_the_tree(tmp_path: Path, processes: int, rate_hz: int, level: str) -> None:
    path = tmp_path / "run.jsonl"
    hour(path, processes, rate_hz, level)
    assert path.stat().st_size <= BYTES_AN_HOUR
    samples = read_samples(path)
    gaps_s = [later.t - earlier.t for earlier, later in pairwise(samples)]
    assert max(gaps_s) < 15
    assert samples[-1].t >= 1000.0 + HOUR_S - 1  # The last one before the exit is always there.
    assert any(each.others for each in samples[-20:])


def test_a_large_tree_is_written_as_its_biggest_and_the_rest_and_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    whole = replace(sample(), job=tree(300))
    journal.sample(whole)
    journal.close()
    (read,) = read_samples(path)
    assert [process.pid for process in read.job] == [4300 - LISTED_PROCESSES + n for n in range(LISTED_PROCESSES)]
    assert read.job_processes == 300
    assert read.job_bytes == whole.job_bytes
    assert read.job_rss_bytes == whole.job_rss_bytes


def test_what_happens_is_written_with_the_sample_before_it_and_every_one_after(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    job = tree(300)
    for tick in range(6000):
        journal.sample(replace(sample(1000.0 + tick / 10), job=job))
    journal.action("pause", [4000], "guard", "stopped 1 process", t=1600.0)
    for tick in range(100):
        journal.sample(replace(sample(1600.1 + tick / 10), job=job))
    journal.close()
    written = list(read_events(path))
    at = next(number for number, event in enumerate(written) if event["event"] == "action")
    assert written[at - 1]["t"] == pytest.approx(1599.9)
    assert sum(event["event"] == "sample" for event in written[at:]) == 100


def test_progress_of_many_kilobytes_leaves_room_for_samples(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    for tick in range(3600):
        journal.progress({"done": tick, "text": "x" * 12_000}, t=1000.0 + tick)
        journal.sample(sample(1000.0 + tick))
    journal.exit(0, None, None, t=4600.0)
    journal.close()
    assert path.stat().st_size <= BYTES_AN_HOUR
    assert sum(event["event"] == "sample" for event in read_events(path)) > 1000
    assert sum(event["event"] == "progress" for event in read_events(path)) > 50
