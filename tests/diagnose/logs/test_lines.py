"""The forms of a log line."""

import pytest

from memwatch.diagnose.logs.log_lines import Dates, LogLine
from memwatch.diagnose.logs.pasted import parse_line

pytestmark = pytest.mark.usefixtures("in_utc")

NOW_T = 1794844800.0  # 2026-11-16 16:00 UTC
DATES = Dates(NOW_T, booted_t=1794800000.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1794813543.026736 desk kernel: text: more", LogLine(1794813543.026736, "kernel", "text: more")),
        ("1794813543.026736 desk earlyoom[12]: text", LogLine(1794813543.026736, "earlyoom", "text")),
        ("[11709.026736] text", LogLine(1794811709.026736, "kernel", "text")),
        ("<4>[   12.5][ T1423] text", LogLine(1794800012.5, "kernel", "text")),
        ("[Mon Nov 16 07:19:03 2026] text", LogLine(1794813543.0, "kernel", "text")),
        ("2026-11-16T07:19:03.5+00:00 desk kernel: [ 12.3] text", LogLine(1794813543.5, "kernel", "text")),
        ("2026-11-16T07:19:03,500000+00:00 text", LogLine(1794813543.5, "kernel", "text")),
        ("2026-11-16T08:19:03.5+01:00 desk systemd-oomd[3]: text", LogLine(1794813543.5, "systemd-oomd", "text")),
        ("Nov 16 07:19:03 desk kernel: [11709.026736] text", LogLine(1794813543.0, "kernel", "text")),
        ("Nov  6 07:19:03 desk nohang[3]: text", LogLine(1793949543.0, "nohang", "text")),
        (
            "[12.5]  two blanks before are a stack's",
            LogLine(1794800012.5, "kernel", " two blanks before are a stack's"),
        ),
    ],
)
def test_each_form_is_read(text: str, expected: LogLine) -> None:
    assert parse_line(text, DATES) == expected


@pytest.mark.parametrize("text", ["", "-- No entries --", "Feb 31 07:19:03 desk kernel: x", "\0\0\0", "1794813543 no"])
def test_what_is_no_log_line_is_passed_over(text: str) -> None:
    assert parse_line(text, DATES) is None


def test_a_line_of_december_read_in_january_is_of_last_year() -> None:
    january = Dates(1798848000.0)  # 2027-01-02
    line = parse_line("Dec 31 23:00:00 desk kernel: x", january)
    assert line is not None
    assert line.t == 1798758000.0


def test_without_the_time_of_boot_a_time_since_boot_is_unknown() -> None:
    assert parse_line("[11709.026736] text", Dates(NOW_T)) == LogLine(None, "kernel", "text")


def test_a_line_of_a_megabyte_costs_little() -> None:
    line = parse_line("[1.0] " + "x" * 1_000_000, DATES)
    assert line is not None
    assert len(line.text) < 10_000
