"""The job's own output, captured for a view: through a terminal of the job's own, which never slows it down."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from memwatch.journal.reader import read_events
from tests.guard.processes import Watched, is_paused, send, state_of, wait_until


def captured(*command: object, **config: Any) -> Watched:
    return Watched(*command, captures_output=True, terminal_rows=11, terminal_columns=66, **config)


def text_of(watched: Watched) -> str:
    return "".join(event["text"] for event in watched.events if event["event"] == "output")


def has_written(watched: Watched, text: str) -> None:
    def written() -> bool:
        watched.has("nothing")  # takes in what has come
        return text in text_of(watched)

    wait_until(written, f"the job writes {text!r}")


def test_the_job_finds_a_terminal_of_the_size_it_was_given() -> None:
    with captured("sh", "-c", "test -t 1 && test -t 2 && stty size </dev/tty; cat; echo end; exit 7") as watched:
        assert watched.event("exit")["code"] == 7
        assert text_of(watched) == "11 66\r\nend\r\n"  # And cat found an empty input, not us.


def test_both_streams_come_in_the_order_they_were_written() -> None:
    with captured("sh", "-c", "for i in 1 2 3; do echo out$i; echo err$i >&2; done") as watched:
        watched.event("exit")
        assert text_of(watched).split() == ["out1", "err1", "out2", "err2", "out3", "err3"]


def test_a_new_size_reaches_the_job(tmp_path: Path) -> None:
    script = "trap 'stty size </dev/tty' WINCH; echo ready; while :; do sleep 0.05; done"
    with captured("sh", "-c", script) as watched:
        has_written(watched, "ready")
        watched.tell("resize", rows=5, columns=44)
        has_written(watched, "5 44")


def test_a_flood_slows_nobody_down_and_its_end_arrives() -> None:
    with captured("sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo the end") as watched:
        assert watched.event("exit")["code"] == 0
        assert text_of(watched).endswith("the end\r\n")


def test_a_character_cut_in_two_is_put_together() -> None:
    script = "printf '\\303'; sleep 0.3; printf '\\244\\377!'"
    with captured("sh", "-c", script) as watched:
        watched.event("exit")
        assert text_of(watched) == "ä\N{REPLACEMENT CHARACTER}!"


def test_the_journal_keeps_the_last_words(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with captured(sys.executable, "-c", "print('before'); 1/0", record=str(journal)) as watched:
        assert watched.event("exit")["code"] == 1
    kinds = [(event["event"], event.get("text", "")) for event in read_events(journal)]
    assert kinds[-1][0] == "exit"
    assert kinds[-2][0] == "output"
    assert "before" in str(kinds[-2][1])
    assert "ZeroDivisionError" in str(kinds[-2][1])


def test_the_journal_keeps_what_was_written_before_an_action(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with captured("sh", "-c", "echo at work; exec sleep 100", record=str(journal)) as watched:
        has_written(watched, "at work")
        watched.tell("kill")
        assert watched.event("exit")["by"] == "user"
    events = [event for event in read_events(journal) if event["event"] in ("action", "output")]
    assert [(event["event"], event.get("text")) for event in events][:2] == [
        ("action", None),
        ("output", "at work\r\n"),
    ]


def test_whoever_leaves_a_process_behind_does_not_keep_the_guard_waiting(tmp_path: Path) -> None:
    with captured("sh", "-c", f"setsid sleep 100 & echo $! > {tmp_path}/pid; exit 3") as watched:
        assert watched.event("exit")["code"] == 3
        watched.pids.append(int((tmp_path / "pid").read_text()))


def test_a_killed_guard_does_not_take_the_jobs_terminal_away() -> None:
    """The front holds it too."""
    with captured("sh", "-c", "echo ready; while :; do echo x || exit 9; sleep 0.05; done") as watched:
        job = watched.event("start")["pid"]
        has_written(watched, "ready")
        send(watched.guard.pid, signal.SIGKILL)
        watched.guard.wait()
        assert watched.terminal is not None
        os.set_blocking(watched.terminal, True)
        for _ in range(5):
            assert b"x" in os.read(watched.terminal, 4096)
        assert state_of(job) is not None


def test_a_paused_job_with_a_terminal_of_its_own_is_not_left_stopped() -> None:
    with captured("sleep", "1000") as watched:
        job = watched.event("start")["pid"]
        watched.tell("pause")
        wait_until(lambda: is_paused(job))
        send(watched.guard.pid, signal.SIGKILL)
        wait_until(lambda: not is_paused(job))
