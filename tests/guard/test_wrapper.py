"""A wrapper that scripts can trust: codes, streams, signals and the environment pass through."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard.processes import Guarded, children, send, state_of, wait_until
from tests.helpers import HANG_S, error_of, linux_only, memwatch


def run(*command: object, **options: object) -> "subprocess.CompletedProcess[str]":
    arguments = [sys.executable, "-m", "memwatch", "run", "--no-record", "--", *map(str, command)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=HANG_S, **options)  # type: ignore[call-overload, no-any-return]


SCRIPT = "#!/bin/sh\nexit 9\n"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("true",), 0),
        (("false",), 1),
        (("sh", "-c", "exit 42"), 42),
        (("sh", "-c", "exit 255"), 255),
        (("sh", "-c", "kill -9 $$"), 137),
        (("sh", "-c", "kill -TERM $$"), 143),
        (("sh", "-c", "kill -SEGV $$"), 139),
        (("sh", "-c", "kill -INT $$"), 130),
        (("env", "X=1", "sh", "-c", "exit 3"), 3),
        (("timeout", "0.1", "sleep", "20"), 124),
        (("sh", "-c", "true | false"), 1),
        (("./script.sh",), 9),
        (("no-such-command",), 127),
        (("./no-such-file",), 127),
        (("",), 127),
        (("./not-executable",), 126),
        ((".",), 126),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_exit_codes_are_those_of_the_bare_command(command: tuple[str, ...], code: int, tmp_path: Path) -> None:
    (tmp_path / "script.sh").write_text(SCRIPT)
    (tmp_path / "script.sh").chmod(0o755)
    (tmp_path / "not-executable").write_text("x")
    assert run(*command, cwd=tmp_path).returncode == code
    # As env, the program, has it.
    bare = subprocess.run(["env", *command], cwd=tmp_path, capture_output=True).returncode
    assert (bare if bare >= 0 else 128 - bare) == code


def test_a_command_that_is_not_there_is_named_in_one_sentence() -> None:
    done = memwatch("run", "--no-record", "--", "no-such-command")
    assert error_of(done) == "memwatch: cannot run no-such-command: No such file or directory"


def test_two_dashes_are_needed_for_a_foreign_command() -> None:
    done = memwatch("run", "true")
    assert done.code == 2
    assert "memwatch run -- true" in error_of(done)
    assert memwatch("run").code == 2


def test_a_foreign_command_may_be_called_tokenize(tmp_path: Path) -> None:
    (tmp_path / "tokenize").write_text(SCRIPT)
    (tmp_path / "tokenize").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert run("tokenize", env=environment).returncode == 9


def test_streams_pass_untouched() -> None:
    data = bytes(range(256)) * 1000
    command = [
        sys.executable,
        "-m",
        "memwatch",
        "run",
        "--no-record",
        "--",
        "sh",
        "-c",
        "cat; cat >&2 <&0; echo err >&2",
    ]
    done = subprocess.run(command, input=data, capture_output=True, timeout=HANG_S)
    assert done.stdout == data
    assert done.stderr == b"err\n"


def test_a_pipe_ends_when_the_job_ends() -> None:
    """No helper of ours may hold the job's output open."""
    done = subprocess.run(
        f"{sys.executable} -m memwatch run --no-record -- echo one | cat; echo two",
        shell=True, capture_output=True, text=True, timeout=HANG_S,
    )  # fmt: skip
    assert done.stdout == "one\ntwo\n"


def test_options_of_the_command_are_not_ours() -> None:
    assert run("echo", "--ui", "--help", "-x", "--").stdout == "--ui --help -x --\n"


def test_nothing_but_memwatch_variables_is_added_to_the_environment() -> None:
    before = {**os.environ, "KEEP": "me"}
    done = run("env", "-0", env=before)
    after = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert {name for name in after if name not in before} == {"MEMWATCH_CHANNEL"}
    assert all(after[name] == value for name, value in before.items() if name != "_")


def _signals(done: "subprocess.CompletedProcess[str]") -> int:
    return int(done.stdout.split()[1], 16)


@pytest.mark.parametrize("line", ["SigIgn", "SigBlk"])
def test_signals_are_found_as_usual(line: str) -> None:
    """Python ignores SIGPIPE for itself, and the guard ignores more; the job must not inherit that."""
    command = ("grep", line, "/proc/self/status")
    # As bare as can be; but make, for one, leaves a signal of its own ignored.
    bare = subprocess.run(command, capture_output=True, text=True)
    assert _signals(run(*command)) == _signals(bare)


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    show = ("grep", "SigIgn", "/proc/self/status")
    command = ("nohup", sys.executable, "-m", "memwatch", "run", "--no-record", "--", *show)
    guarded = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    bare = subprocess.run(("nohup", *show), capture_output=True, text=True)
    assert _signals(guarded) == _signals(bare)
    assert _signals(guarded) & 1 << (signal.SIGHUP - 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_to_memwatch_reaches_the_job(number: signal.Signals, tmp_path: Path) -> None:
    script = (
        f"trap 'echo got it; exit 5' {number.name[3:]}; echo ready > {tmp_path}/ready; while :; do sleep 0.02; done"
    )
    with Guarded("sh", "-c", script) as guarded:
        wait_until((tmp_path / "ready").exists)
        send(guarded.front.pid, number)
        code, out, _ = guarded.finish()
    assert (code, out) == (5, "got it\n")


def test_timeout_around_memwatch_ends_the_job(tmp_path: Path) -> None:
    command = (
        f"timeout 5 {sys.executable} -m memwatch run --no-record -- sh -c 'echo $$ > {tmp_path}/pid; sleep 100; true'"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 124
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: state_of(pid) is None, "the job ends")


@linux_only
def test_a_job_that_forks_away_is_told_of_and_let_go(tmp_path: Path) -> None:
    away = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 100' >/dev/null 2>&1 </dev/null &"
    script = f"{away} while ! [ -s {tmp_path}/pid ]; do sleep 0.02; done; exit 4"
    done = run("sh", "-c", script)
    pid = int((tmp_path / "pid").read_text())
    try:
        assert done.returncode == 4
        assert "1 of its processes runs on without a guard" in done.stderr
        assert state_of(pid) is not None
    finally:
        send(pid, signal.SIGKILL)


@linux_only
def test_the_job_runs_behind_the_desktop_unless_told_otherwise() -> None:
    show = "nice; cat /proc/self/oom_score_adj; ps -o pgid= -p $$; echo $$"
    niceness, oom_score, group, pid = run("sh", "-c", show).stdout.split()
    assert (niceness, oom_score, group) == ("5", "1000", pid)
    command = [sys.executable, "-m", "memwatch", "run", "--no-record", "--priority", "normal", "--", "nice"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "0\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--reserve", "lots"), "is not a size"),
        (("--reserve", "200%"), "less than 100%"),
        (("--reserve", "90T"), "leaves nothing to the job"),
        (("--pause-timeout", "soon"), "is not a number of seconds"),
        (("--on-pressure", "panic"), "is not one of"),
    ],
)
def test_wrong_options_end_in_one_sentence(options: tuple[str, ...], words: str) -> None:
    done = memwatch("run", "--no-record", *options, "--", "true")
    assert done.code == 2
    assert words in error_of(done)


def test_children_is_not_empty_for_a_guarded_job() -> None:
    """The helper that other tests stand on."""
    with Guarded("sleep", "30") as guarded:
        assert guarded.job in children(guarded.guard)
        assert guarded.watcher != guarded.job
