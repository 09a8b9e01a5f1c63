"""A journal as a table: what each column means, and that no spreadsheet runs what is in it."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from memwatch.journal.events import Event, sample_event, verdict_event
from memwatch.journal.run_export import COLUMNS, write_table
from memwatch.model.sample import Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB
from tests.journal.examples import sample


def rows(*events: Event) -> list[dict[str, str]]:
    file = io.StringIO()
    count = write_table(events, file)
    found = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert len(found) == count
    return found


def row(of: Sample) -> dict[str, str]:
    (only,) = rows(sample_event(of))
    return only


def test_every_sample_is_a_row_with_every_column() -> None:
    told = row(sample(1000.5))
    assert list(told) == list(COLUMNS)
    assert told["time_utc"] == "1970-01-01T00:16:40.500Z"
    assert float(told["t_s"]) == 1000.5
    assert int(told["total_bytes"]) == 24 * GIB
    assert int(told["job_rss_bytes"]) + int(told["job_swap_bytes"]) == 100 * MIB
    assert (told["limit_path"], told["limit_used_bytes"]) == ("/user.slice", str(GIB))
    assert (told["gpus"], told["gpu_used_fraction"], told["gpu_memory_used_bytes"]) == ("1", "0.5", "")


def test_what_is_not_known_is_empty_and_never_0() -> None:
    told = row(Sample(1.0, 1.0, None))
    known = {name for name, value in told.items() if value}
    assert known == {"time_utc", "t_s", "clock_s", "stands_for"}


def test_rates_are_those_since_the_row_before() -> None:
    first = replace(sample(1000.0), pressure=Pressure(0, 0, 0), paging=Paging(0, 0, 0, 0))
    second = replace(sample(1002.0), pressure=Pressure(1_000_000, 500_000, 0), paging=Paging(512, 1024, 10, 20))
    before, after = rows(sample_event(first), sample_event(second))
    assert before["stall_some_fraction"] == before["swap_in_bytes_s"] == ""
    assert float(after["stall_some_fraction"]) == 0.5
    assert float(after["stall_full_fraction"]) == 0.25
    assert float(after["swap_in_bytes_s"]) == MIB
    assert float(after["swap_out_bytes_s"]) == 2 * MIB
    assert (float(after["major_faults_s"]), float(after["refaults_s"])) == (5.0, 10.0)


def test_counters_that_began_anew_tell_no_rate() -> None:
    first, second = sample(1000.0), replace(sample(2000.0), clock_s=3.0)
    *_, after = rows(sample_event(first), sample_event(second))
    assert after["stall_some_fraction"] == after["swap_in_bytes_s"] == ""


def test_the_level_is_the_one_that_was_decided_last() -> None:
    told = rows(sample_event(sample()), verdict_event(1000.0, "warn", "soon", 9.0), sample_event(sample()))
    assert [each["level"] for each in told] == ["", "warn"]


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", '"=1', "a,b\nc"])
def test_no_spreadsheet_runs_what_is_in_a_cell(name: str) -> None:
    other = Process(1, 1, 1, "S", GIB, 0, 0.0, None, None, name)
    told = row(replace(sample(), others=(other,)))
    cell = told["biggest_other_name"]
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell.isprintable()


def test_swap_and_others_are_told() -> None:
    big = Process(7, 1, 1, "S", GIB, GIB, 0.0, None, None, "/usr/lib/firefox --profile secret")
    told = row(replace(sample(), memory=Memory(24 * GIB, GIB, 8 * GIB, 2 * GIB), others=(big,)))
    assert int(told["swap_used_bytes"]) == 6 * GIB
    assert (told["biggest_other_pid"], told["biggest_other_name"]) == ("7", "firefox")
    assert int(told["biggest_other_bytes"]) == 2 * GIB


def test_a_sample_of_another_kind_is_passed_over() -> None:
    broken: dict[str, Any] = {"t": 1.0, "event": "sample", "memory": "much"}
    assert rows(broken, {"t": 1.0, "event": "start"}) == []
