"""What a job says of its progress is shown as far as it can be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwatch.cli.plain import PlainView, line_for, progress_line
from memwatch.journal.events import PROGRESS_NUMBERS, plausible_progress
from memwatch.model.wording import ending

VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text()))
KEYS = st.one_of(st.sampled_from([*sorted(PROGRESS_NUMBERS), "unit", "source", "name"]), st.text())


def test_numbers_are_kept_and_nonsense_in_their_place_is_not() -> None:
    said = {"done": 1, "total": math.nan, "rate": 10**400, "eta_s": "soon", "unit": "files", "rss_bytes": None, "x": []}
    assert plausible_progress(said) == {"done": 1, "unit": "files", "rss_bytes": None}


@given(st.dictionaries(KEYS, VALUES))
def test_there_is_always_a_line_and_it_is_harmless(said: dict[str, object]) -> None:
    assert progress_line(said).isprintable()


@given(st.sampled_from(["note", "refused", "failed", "verdict", "action", "exit", "start", "progress"]),
       st.dictionaries(st.sampled_from(["text", "level", "action", "reason", "deadline_in_s", "next", "signal", "code",
                                        "by", "left_behind", "kernel_oom", "done", "total"]),
                       st.one_of(VALUES, st.sampled_from(["act", "pause", "stop"]))))  # fmt: skip
def test_no_event_is_a_views_end(kind: str, facts: dict[str, object]) -> None:
    line_for({**facts, "event": kind})
    PlainView().show({**facts, "event": kind})


@pytest.mark.parametrize(
    ("by", "words"),
    [
        pytest.param(None, "the job was killed by SIGKILL (not sent by memwatch)", id="somebody else"),
        pytest.param("guard", "the guard stopped the job", id="the guard"),
        pytest.param("user", "you stopped the job", id="the user"),
    ],
)
def test_the_ending_says_who_killed_the_job(by: str | None, words: str) -> None:
    assert ending({"event": "exit", "code": 137, "signal": 9, "by": by}) == words
