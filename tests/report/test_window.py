"""The part of a record that a report shows."""

from dataclasses import replace

from memwatch.diagnose.findings import Diagnosis
from memwatch.report.window import AFTER_S, BEFORE_S, window_around
from tests.report.examples import BEGIN_T, diagnosis


def test_what_was_found_is_shown_with_what_led_up_to_it() -> None:
    begin_t, end_t = window_around(diagnosis(), BEGIN_T - 3 * 86400, BEGIN_T + 86400)
    assert (begin_t, end_t) == (BEGIN_T + 418 - BEFORE_S, BEGIN_T + 690 + AFTER_S)


def test_no_more_is_shown_than_was_looked_at() -> None:
    assert window_around(diagnosis(), BEGIN_T, BEGIN_T + 700) == (BEGIN_T, BEGIN_T + 700)


def test_without_a_time_all_of_it_is_shown() -> None:
    timeless = replace(diagnosis().findings[0], start_t=None, end_t=None)
    assert window_around(Diagnosis((timeless,)), 1.0, 2.0) == window_around(Diagnosis(), 1.0, 2.0) == (1.0, 2.0)
