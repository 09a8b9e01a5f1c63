"""Plain lines: what they say while a job runs, and the line they close with."""

import io
import re
import sys
from pathlib import Path

import pytest

from memwatch.cli.plain import PlainView
from memwatch.model.wording import RunSummary, closing_line, ending, how_it_ended
from tests.helpers import memwatch

START = {"t": 1000.0, "event": "start", "run": "20261117-1", "diagnose_as": "last"}


def said(*events: dict[str, object]) -> list[str]:
    stream = io.StringIO()
    view = PlainView(stream)
    for event in events:
        view.show(event)
    return stream.getvalue().splitlines()


def test_a_run_in_which_something_happened_closes_with_a_summary() -> None:
    warn = {"t": 1001.0, "event": "verdict", "level": "warn", "reason": "full in 6 s"}
    sample = {"t": 1001.0, "event": "sample", "job_bytes": 3 << 30}
    stop = {"t": 1002.0, "event": "action", "action": "stop", "by": "guard", "reason": "full in 1 s"}
    end = {"t": 1062.0, "event": "exit", "code": 124, "signal": 15, "by": "guard"}
    assert said(START, sample, warn, stop, end)[-1] == (
        "memwatch: the guard stopped the job after 1 min 02 s; peak memory 3.0 GiB; 1 warning; "
        "to see why: memwatch diagnose last"
    )


def test_a_progress_line_has_the_memory_that_the_guard_reads_and_the_closing_line_its_peak() -> None:
    sample = {"t": 1001.0, "event": "sample", "job_bytes": 300 << 20}
    progress = {"t": 1001.1, "event": "progress", "done": 1, "total": 1, "rss_bytes": 900 << 20}
    end = {"t": 1011.0, "event": "exit", "code": 0, "peak_job_bytes": 310 << 20}
    before, after = said(START, sample, progress, end)
    assert before.endswith("  memory 300.0 MiB")
    assert after == "memwatch: the job finished in 11 s; peak memory 310.0 MiB"


FIREFOX = {"pid": 7, "start_ticks": 1, "parent_pid": 1, "state": "S", "rss_bytes": 6 << 30, "swap_bytes": 0,
           "cpu_s": 1.0, "command": "/usr/bin/firefox -p secret"}  # fmt: skip
PAUSE = {"t": 1002.0, "event": "action", "action": "pause", "by": "guard", "result": "done", "pids": [9],
         "reason": "RAM is full", "deadline_in_s": 60.0, "next": "stop"}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "unless"),
    [
        pytest.param({"resume_needs_bytes": 3 << 29}, "1.5 GiB more are free (firefox uses 6.0 GiB)", id="machine"),
        pytest.param({"resume_needs_bytes": 3 << 29, "limit_path": "/job"}, "1.5 GiB more are free", id="limit"),
        pytest.param({}, "memory is freed", id="unknown"),
    ],
)
def test_a_pause_says_how_much_must_be_free_and_who_is_biggest(facts: dict[str, object], unless: str) -> None:
    sample = {"t": 1001.0, "event": "sample", "job_bytes": 1, "clock_s": 1.0, "others": [FIREFOX]}
    verdict = {"t": 1001.0, "event": "verdict", "level": "act", "reason": "RAM is full", **facts}
    assert said(START, sample, verdict, PAUSE)[-1].endswith(f"; it will be stopped in 1 min 00 s unless {unless}")


def test_a_short_run_about_which_there_is_nothing_to_say_leaves_standard_error_to_the_job() -> None:
    assert said(START, {"t": 1001.0, "event": "exit", "code": 3}) == []
    (line,) = said(START, {"t": 1060.0, "event": "exit", "code": 0, "peak_job_bytes": 5 << 20})
    assert line == "memwatch: the job finished in 1 min 00 s; peak memory 5.0 MiB"


def test_a_real_run_with_progress_closes_with_its_peak(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("some words to count\n" * 20_000)
    done = memwatch("run", "--record", tmp_path / "run.jsonl", "tokenize", text)
    assert done.code == 0
    last = done.err.splitlines()[-1]
    assert re.fullmatch(r"memwatch: the job finished in [\dmins. ]+; peak memory \d+\.\d MiB", last), done.err


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"code": 0}, "the job finished"),
        ({"code": 9}, "the job ended with code 9"),
        ({"code": 143, "signal": 15}, "the job was killed by SIGTERM (not sent by memwatch)"),
        (
            {"code": 137, "signal": 9, "kernel_oom": True},
            "the job was killed by SIGKILL after an OOM kill by the kernel",
        ),
        ({"code": 137, "kernel_oom": True}, "the job ended with code 137 after an OOM kill by the kernel"),
        ({"code": 124, "signal": 15, "by": "guard"}, "the guard stopped the job"),
        ({"code": 143, "signal": 15, "by": "user"}, "you stopped the job"),
        ({"code": "many", "signal": [1]}, "the job was killed by signal [1] (not sent by memwatch)"),
        ({}, "the job ended with code None"),
    ],
)
def test_every_view_calls_an_end_the_same(event: dict[str, object], words: str) -> None:
    assert ending(event) == words


def test_a_negative_code_is_the_signal_that_killed_a_process() -> None:
    assert how_it_ended(-9) == "was killed by SIGKILL"
    assert how_it_ended(137) == "ended with code 137"


def test_what_is_not_known_is_left_out_of_the_closing_line() -> None:
    assert closing_line(RunSummary(code=4)) == "the job ended with code 4"
    assert closing_line(RunSummary(None, {"code": 0, "left_behind": 1 << 40})) == "the job finished"


def test_a_job_that_leaves_a_process_behind_is_told_of_also_after_a_short_run() -> None:
    end = {"t": 1001.0, "event": "exit", "code": 0, "left_behind": 1}
    assert said(START, end) == ["memwatch: the job finished in 1.0 s; 1 of its processes runs on without a guard"]


def test_a_failing_job_of_a_script_is_not_commented_on() -> None:
    done = memwatch("run", "--no-record", "--", sys.executable, "-c", "import sys; sys.exit('my own words')")
    assert (done.code, done.err) == (1, "my own words\n")


def test_a_confined_job_gets_a_line_now_and_then() -> None:
    words = "confined to 450.0 MiB: 1.2 GiB in swap"
    verdict = {"event": "verdict", "level": "watch", "reason": words, "confined_bytes": 450 << 20}
    confine = {"t": 1000.0, "event": "action", "action": "confine", "by": "guard", "reason": "450.0 MiB; full in 1 s"}
    lines = said(START, confine, *(verdict | {"t": 1000.0 + second} for second in range(70)))
    assert lines == [
        "memwatch: confined the job to the memory it has: 450.0 MiB; full in 1 s",
        *[f"memwatch: {words}"] * 2,
    ]
