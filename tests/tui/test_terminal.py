"""End to end, in a real terminal: what people do, and what must not happen to their job."""

import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memwatch.guard import attach_socket as join
from tests.conftest import Reference
from tests.guard.processes import children, command_of, is_paused, send, state_of, wait_until
from tests.helpers import read_tokens
from tests.tui.terminal import RUN, Terminal

FULL_SCREEN = b"\x1b[?1049h"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "memwatch" / "runs"


def journal_in(state: Path) -> Path:
    wait_until(lambda: list(state.glob("*.sock")), "the guard's attach socket opens")
    return next(iter(state.glob("*.jsonl")))


def job_of(terminal: Terminal) -> int:
    """The job itself: the guard's second child."""
    wait_until(lambda: any(len(children(guard)) >= 2 for guard in children(terminal.pid)), "the job starts")
    guard = next(guard for guard in children(terminal.pid) if len(children(guard)) >= 2)
    job = children(guard)[1]
    wait_until(lambda: "memwatch.guard" not in command_of(job), "the job has become what it is")
    return job


def test_the_tokenizer_is_paused_resumed_and_sharded_and_loses_no_token(
    long_text: Path, gpt2_reference: Reference, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(long_text.read_bytes() * 2)
    tokens = np.array(gpt2_reference(text.read_bytes().decode()), dtype="<u2")
    out = tmp_path / "out"
    options = ("--out", str(out), "--val-ratio", "0", "--engine", "tiktoken", "--workers", "1")
    with Terminal(*RUN, "run", "tokenize", str(text), *options) as terminal:
        # A key that is pressed during the first frame can be lost.
        terminal.see("RUNNING", "progress", "memory", "p pause", "left above")
        job = job_of(terminal)
        terminal.press("p")
        terminal.see("PAUSED", "by you")
        assert is_paused(job)
        terminal.press("p")
        terminal.see("RUNNING")
        wait_until(lambda: not is_paused(job), "the job runs on")
        terminal.press("s")
        terminal.see("switch to shards?")
        terminal.press("s")
        terminal.see("◆ shards")
        assert terminal.end() == 0
        assert "the job finished" in terminal.text
    shards = sorted(out.glob("train_shard_*.bin"))
    # On a busy machine the text may end before a second shard begins.
    assert shards, "it did switch"
    assert not (out / "train.bin").exists()
    assert np.array_equal(np.concatenate([read_tokens(shard) for shard in shards]), tokens)


def test_what_the_job_says_last_stays_on_the_terminal_and_its_code_is_ours(tmp_path: Path) -> None:
    script = (
        f"import pathlib, time\nprint('begun')\nwhile not pathlib.Path('{tmp_path}/go').exists(): time.sleep(0.05)\n"
    )
    with Terminal(*RUN, "run", "--", sys.executable, "-uc", script + "raise SystemError('of all things')") as terminal:
        terminal.see("RUNNING", "begun")
        (tmp_path / "go").touch()
        assert terminal.end() == 1
        assert "SystemError: of all things" in terminal.text
        assert "the job ended with code 1" in terminal.text


def test_a_reserve_that_cannot_be_kept_is_refused_in_one_sentence() -> None:
    with Terminal(*RUN, "run", "--reserve", "90T", "--", "true") as terminal:
        assert terminal.end() == 2
        assert "leaves nothing to the job" in " ".join(terminal.text.split())


def test_what_is_done_in_no_time_needs_no_screen() -> None:
    with Terminal(*RUN, "run", "--", "sh", "-c", "echo quick; exit 9") as terminal:
        assert terminal.end() == 9
        assert "quick" in terminal.text
        assert "the job ended with code 9" in terminal.text


def test_a_command_that_is_not_there_is_named_in_one_sentence() -> None:
    with Terminal(*RUN, "run", "--", "no-such-command") as terminal:
        assert terminal.end() == 127
        assert "memwatch: cannot run no-such-command: No such file or directory" in terminal.text


def test_what_is_typed_before_the_screen_is_up_does_nothing(tmp_path: Path) -> None:
    with Terminal(*RUN, "run", "--", "sh", "-c", f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done") as terminal:
        terminal.press("KKxx")
        terminal.see("RUNNING", "╭─ memory", "╭─ events")
        (tmp_path / "go").touch()
        assert terminal.end() == 0, "nobody stopped or killed it"


def test_a_process_that_the_job_leaves_behind_is_told_of_when_the_screen_is_left(tmp_path: Path) -> None:
    """The screen hid it; and the closing line is the same as in plain mode."""
    script = f"nohup sleep 1000 > {tmp_path}/out 2>&1 & echo $! > {tmp_path}/pid; "
    script += f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    try:
        with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
            terminal.see("RUNNING", "╭─ memory")
            (tmp_path / "go").touch()
            assert terminal.end() == 0
            assert "1 of its processes runs on without a guard" in " ".join(terminal.text.split())
    finally:
        send(_pid_in(tmp_path / "pid"), signal.SIGKILL)


def test_the_job_has_as_many_columns_as_its_panel(tmp_path: Path) -> None:
    script = f"stty size <&1; while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; stty size <&1"
    with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("36 116")
        (tmp_path / "go").touch()
        assert terminal.end() == 0
        assert "36 120" not in terminal.text, "neither at its start nor once the screen was up"


LASTS = "echo $$ > {pid}; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done"


def _lasting(tmp_path: Path) -> tuple[str, Path]:
    pid = tmp_path / "pid"
    return LASTS.format(pid=pid), pid


def _pid_in(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().strip(), "the job starts")
    return int(path.read_text())


def test_when_the_terminal_goes_away_the_job_goes_on_under_guard(tmp_path: Path, state: Path) -> None:
    script, pid_file = _lasting(tmp_path)
    with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("RUNNING", "line 3")
        job, journal = _pid_in(pid_file), journal_in(state)
        terminal.hang_up()
        wait_until(lambda: state_of(terminal.pid) is None, "the front ends")
    try:
        assert state_of(job) is not None
        guard = join.connect(str(journal))
        guard.send({"command": "pause"})
        wait_until(lambda: is_paused(job), "the guard still obeys")
        guard.send({"command": "stop"})
        wait_until(lambda: state_of(job) is None, "the job ends")
        guard.close()
    finally:
        send(job, signal.SIGKILL)


def test_one_can_leave_and_come_back(tmp_path: Path, state: Path) -> None:
    script, pid_file = _lasting(tmp_path)
    with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("RUNNING", "line 3")
        terminal.press("d")
        assert terminal.end() == 0
        assert f"memwatch attach {journal_in(state).stem}" in terminal.text
    job = _pid_in(pid_file)
    try:
        assert state_of(job) is not None
        with Terminal(*RUN, "attach", columns=80, rows=24) as terminal:
            terminal.see("RUNNING", "the job started", "line")
            terminal.press("x")
            terminal.see("stop the job?")
            terminal.press("x")
            assert terminal.end() == 143
        assert state_of(job) is None
    finally:
        send(job, signal.SIGKILL)


BREAKS = """
import sys
from memwatch.tui.app import MemwatchApp
draw = MemwatchApp.draw
count = 0
def breaks(self):
    global count
    count += 1
    if count > 3:
        raise ValueError("a bug")
    draw(self)
MemwatchApp.draw = breaks
from memwatch.cli import main
sys.exit(main())
"""


def test_a_screen_that_fails_gives_way_to_lines_and_the_job_goes_on(tmp_path: Path) -> None:
    script = f"while ! [ -e {tmp_path}/go ]; do echo here; sleep 0.3; done; echo still here; exit 7"
    with Terminal(sys.executable, "-c", BREAKS, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("the screen failed (ValueError: a bug); the job keeps running")
        (tmp_path / "go").touch()
        terminal.see("still here")
        assert terminal.end() == 7
        assert b"Traceback" not in terminal.raw


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"LC_ALL": "C"}, "the locale is not UTF-8; --ascii draws the full screen without it"),
        ({"LC_ALL": "de_DE.ISO-8859-1"}, "the locale is not UTF-8"),
        ({"TERM": "dumb"}, "TERM=dumb cannot show the full screen"),
    ],
)
def test_a_terminal_that_cannot_draw_gets_lines_and_is_told_why(environment: dict[str, Any], why: str) -> None:
    with Terminal(*RUN, "run", "--", "echo", "hello", **environment) as terminal:
        assert terminal.end() == 0
        assert "hello" in terminal.text
        assert FULL_SCREEN not in terminal.raw
        assert f"plain lines, because {why}" in terminal.text


def test_an_interpreter_that_is_typed_into_gets_the_terminal() -> None:
    # The prompt of Python 3.13 and later loses what is typed while it starts, also without memwatch.
    with Terminal(*RUN, "run", "--", sys.executable, "-q", PYTHON_BASIC_REPL="1") as terminal:
        terminal.see("needs the terminal for itself", ">>> ")
        terminal.press("print(6 * 7)\n")
        terminal.see("42")
        terminal.press("exit(5)\n")
        assert terminal.end() == 5
        assert FULL_SCREEN not in terminal.raw


def test_the_full_screen_is_refused_to_what_needs_the_terminal() -> None:
    with Terminal(*RUN, "run", "--ui", "full", "--", "less", "/etc/passwd") as terminal:
        assert terminal.end() == 2
        assert "less needs the terminal for itself; use --ui plain" in terminal.text


def test_a_job_that_waits_for_input_on_the_screen_is_told_of() -> None:
    """`cat /dev/tty` reads from its terminal as many prompts for a password do."""
    with Terminal(*RUN, "run", "--", "cat", "/dev/tty") as terminal:
        terminal.see("the job waits for input", "--ui plain")
        terminal.press("x")
        terminal.see("stop the job?")
        terminal.press("x")
        terminal.end()


def test_who_leaves_a_paused_job_is_told_that_it_stays_paused(tmp_path: Path, state: Path) -> None:
    script, pid_file = _lasting(tmp_path)
    try:
        with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
            terminal.see("RUNNING", "line 3")
            terminal.press("p")
            terminal.see("PAUSED")
            terminal.press("d")
            assert terminal.end() == 0
            assert "the job stays paused until you resume it" in " ".join(terminal.text.split())
        with closing(join.connect(str(journal_in(state)))) as guard:
            guard.send({"command": "kill"})
            wait_until(lambda: state_of(_pid_in(pid_file)) is None, "the job ends")
    finally:
        send(_pid_in(pid_file), signal.SIGKILL)


def test_full_can_be_asked_for_where_only_ascii_can_be_drawn() -> None:
    with Terminal(*RUN, "run", "--ui", "full", "--", "sleep", "1000", LC_ALL="C") as terminal:
        terminal.see("RUNNING", "+- memory")
        terminal.press("\x03")
        assert terminal.end() == 130
        assert terminal.raw.isascii()


def test_no_color_means_none() -> None:
    with Terminal(*RUN, "run", "--", "sleep", "1000", NO_COLOR="1") as terminal:
        terminal.see("RUNNING", "memory")
        terminal.press("\x03")
        terminal.end()
    cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
    colours = {cell.fg for cell in cells} | {cell.bg for cell in cells}
    assert colours <= {"default"}


def test_a_signal_to_memwatch_reaches_the_job_also_from_a_screen(tmp_path: Path) -> None:
    script = f"trap 'echo got it; exit 5' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done"
    with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("RUNNING")
        send(terminal.pid, signal.SIGTERM)
        assert terminal.end() == 5
        assert "got it" in terminal.text


def test_a_screen_stays_small() -> None:
    """60 MiB are promised."""
    with Terminal(*RUN, "run", "--", "yes", "a line of output") as terminal:
        terminal.see("RUNNING", "a line of output", "other big processes", "╭─ events")
        status = Path(f"/proc/{terminal.pid}/status").read_text()
        kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
        terminal.press("\x03")
        terminal.end()
    assert kib < 60 * 1024


def test_the_first_ctrl_c_is_the_jobs(tmp_path: Path) -> None:
    script = f"trap 'echo interrupted; exit 3' INT; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done"
    with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("RUNNING")
        _pid_in(tmp_path / "pid")
        terminal.press("\x03")
        assert terminal.end() == 3
        assert "interrupted" in terminal.text


def test_a_guard_that_is_killed_does_not_take_the_job_with_it(tmp_path: Path) -> None:
    wait = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    script = f"echo $$ > {tmp_path}/pid; {wait}; for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done; exit 4"
    with Terminal(*RUN, "run", "--", "sh", "-c", script) as terminal:
        terminal.see("RUNNING")
        job = _pid_in(tmp_path / "pid")
        guard = next(guard for guard in children(terminal.pid) if job in children(guard))
        send(guard, signal.SIGKILL)
        terminal.see("the guard was killed; the job keeps running without protection")
        (tmp_path / "go").touch()
        terminal.see("line 6")
        assert terminal.end() == 4


def test_watch_shows_the_machine_and_q_leaves() -> None:
    with Terminal(*RUN, "watch") as terminal:
        terminal.see("memwatch watch", "memory", "pressure", "biggest processes", "calm")
        terminal.press("q")
        assert terminal.end() == 0


def test_a_run_can_be_played_again(state: Path) -> None:
    with Terminal(*RUN, "run", "--", "sh", "-c", "echo the only words; sleep 2.5; exit 6") as terminal:
        assert terminal.end() == 6
    with Terminal(*RUN, "replay") as terminal:
        terminal.see("memwatch replay", "sh -c echo the only words", "of 00:00:0")
        terminal.press("\x1b[F")  # End
        terminal.see("ENDED 6", "the job ended with code 6", "the only words")
        terminal.press("q")
        assert terminal.end() == 0


def test_ctrl_z_stops_the_screen_alone_and_fg_brings_it_back_whole(tmp_path: Path) -> None:
    script, pid_file = _lasting(tmp_path)
    (tmp_path / "job.sh").write_text(script)
    with Terminal("bash", "--norc", "-i") as terminal:
        terminal.press(f"{sys.executable} -m memwatch run -- sh {tmp_path}/job.sh\n")
        terminal.see("RUNNING", "╭─ memory", "line 3")
        terminal.press("\x1a")
        terminal.see("Stopped")
        assert state_of(_pid_in(pid_file)) in ("S", "R", "D"), "the job goes on"
        terminal.press("clear; fg\n")
        terminal.see("RUNNING", "╭─ memory", "╭─ events", "q quit")
        terminal.press("q")
        terminal.see("leave?")
        terminal.press("x")
        terminal.see("you stopped the job")
        terminal.press("exit\n")
        terminal.end()
