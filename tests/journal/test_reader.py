"""Journals are readable whatever happened to them, and nothing is invented."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwatch.journal.reader import MOST_LINE_BYTES, parse_event, read_events
from memwatch.journal.run_list import RunInfo
from tests.journal.examples import kinds, read_samples, sample, whole_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    assert whole_run(path).path == str(path)
    return path


def test_a_whole_run_is_read_in_order(run: Path) -> None:
    assert kinds(run) == ["start", "sample", "progress", "sample", "verdict", "action", "output", "exit"]


def test_samples_are_read_back_as_they_were(run: Path) -> None:
    assert read_samples(run) == [sample(1000.0), sample(1001.0, job_bytes=300 << 20)]


def test_a_journal_cut_at_any_byte_is_readable_and_nothing_is_invented(run: Path, tmp_path: Path) -> None:
    data, whole = run.read_bytes(), list(read_events(run))
    cut_run = tmp_path / "cut.jsonl"
    for length in range(len(data) + 1):
        cut_run.write_bytes(data[:length])
        read = list(read_events(cut_run))
        assert read == whole[: len(read)]
        assert len(read) >= data[:length].count(b"\n")
        if length % 97 == 0:
            RunInfo.read(cut_run)


@settings(max_examples=60)
@given(st.data())
def test_a_hole_anywhere_costs_only_the_lines_it_touches(run: Path, tmp_path_factory: pytest.TempPathFactory,
                                                         data: st.DataObject) -> None:  # fmt: skip
    bytes_, whole = run.read_bytes(), list(read_events(run))
    begin = data.draw(st.integers(0, len(bytes_)))
    end = data.draw(st.integers(begin, len(bytes_)))
    filling = data.draw(st.sampled_from([b"", b"\0" * (end - begin), b"\xff\xfe", b"\n", b'{"t":1,"eve']))
    holed = tmp_path_factory.mktemp("holed") / "run.jsonl"
    holed.write_bytes(bytes_[:begin] + filling + bytes_[end:])
    read = list(read_events(holed))
    untouched_before = bytes_[:begin].count(b"\n")
    untouched_after = max(bytes_[end:].count(b"\n") - 1, 0)
    assert read[:untouched_before] == whole[:untouched_before]
    assert untouched_after == 0 or read[-untouched_after:] == whole[-untouched_after:]


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param(b"\0" * 5000, id="zeros"),
        pytest.param(b"\n\n\r\n", id="empty lines"),
        pytest.param(b"17\n", id="a number"),
        pytest.param(b'["t", "event"]\n', id="a list"),
        pytest.param(b'{"t": 1}\n', id="no event"),
        pytest.param(b'{"event": "sample"}\n', id="no time"),
        pytest.param(b'{"t": NaN, "event": "sample"}\n', id="no time that is a number"),
        pytest.param(b'{"t": 1' + b"0" * 400 + b', "event": "sample"}\n', id="a time larger than any float"),
        pytest.param(b'{"t": 1, "event": "\xff"}\n', id="not UTF-8"),
        pytest.param(b'{"t":1,"event":"x","deep":' + b"[" * 100_000 + b"\n", id="too deep"),
        pytest.param(b'{"t":1,"event":"x","n":' + b"1" * 10_000 + b"}\n", id="too large a number"),
        pytest.param(b'{"t":1,"event":"x","text":"' + b"a" * (2 * MOST_LINE_BYTES) + b'"}\n', id="a huge line"),
    ],
)
def test_junk_between_lines_is_passed_over(run: Path, tmp_path: Path, junk: bytes) -> None:
    lines = run.read_bytes().splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([*lines[:3], junk, *lines[3:]]))
    assert list(read_events(path)) == list(read_events(run))
    assert RunInfo.read(path).peak_job_bytes == 300 << 20


def test_a_huge_line_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 28)  # Zeros, none of them on the disk.
    tracemalloc.start()
    assert list(read_events(path)) == []
    assert tracemalloc.get_traced_memory()[1] < 4 * MOST_LINE_BYTES
    tracemalloc.stop()


def test_events_of_unknown_kinds_pass_through(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"t":1,"event":"eclipse","of":"the moon"}\n')
    assert list(read_events(path)) == [{"t": 1, "event": "eclipse", "of": "the moon"}]


def test_zeros_before_a_line_do_not_hide_it() -> None:
    assert parse_event(b'\0\0\0\0{"t":1,"event":"x"}\n') == {"t": 1, "event": "x"}
