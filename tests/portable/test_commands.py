"""The commands where psutil is all there is: tokenize, estimate, watch, doctor, runs, diagnose, the full screen."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.guard.processes import children, command_of, state_of, wait_until
from tests.helpers import HANG_S, memwatch, read_tokens
from tests.tui.terminal import RUN, Terminal

pytestmark = pytest.mark.usefixtures("portable")


def test_tokenize_gives_the_exact_tokens(real_text: Path, real_tokens: "np.ndarray", tmp_path: Path) -> None:
    done = memwatch("run", "tokenize", real_text, "--out", tmp_path / "out", "--val-ratio", 0, "--workers", 2)
    assert done.code == 0, done.err
    assert np.array_equal(read_tokens(tmp_path / "out" / "train.bin"), real_tokens)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["peak_rss_bytes"] > 0


def test_estimate_knows_the_memory_of_this_machine(real_text: Path) -> None:
    done = memwatch("estimate", real_text, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["memory"]["available"] > 0


def test_doctor_names_what_is_missing_and_advises_nothing_that_only_linux_has() -> None:
    done = memwatch("doctor", "--json")
    assert done.code == 0, done.err
    checks = {check["name"]: check for check in json.loads(done.out)["checks"]}
    missing = {name for name, check in checks.items() if check["word"] == "missing"}
    assert {"pressure (PSI)", "cgroup", "systemd scope", "GPU", "pauses", "orphans"} <= missing
    assert checks["memory"]["word"] == "ok"
    advice = " ".join(check["advice"] for check in checks.values())
    assert "kernel command line" not in advice
    assert "Linux 5.9" not in advice


def test_doctor_fits_a_narrow_terminal() -> None:
    lines = memwatch("doctor", env={**os.environ, "COLUMNS": "80"}).out.splitlines()
    assert "psutil" in lines[0]
    assert all(len(line) <= 80 for line in lines if line.startswith("  "))


def test_a_run_is_listed_replayed_and_diagnosed(tmp_path: Path) -> None:
    assert memwatch("run", "--", "sh", "-c", "exit 6").code == 6
    [run] = json.loads(memwatch("runs", "--json").out)["runs"]
    assert run["exit_code"] == 6
    exported = memwatch("export", "last", "--csv", tmp_path / "run.csv")
    assert exported.code == 0, exported.err
    diagnosed = memwatch("diagnose", "last")
    assert diagnosed.code in (0, 3), diagnosed.err


def test_a_killed_guard_is_seen_as_gone_by_runs() -> None:
    done = memwatch("run", "--ui", "none", "--", "sh", "-c", "sleep 2; kill -9 $PPID; sleep 0.2; exit 3")
    assert done.code == 125
    [run] = json.loads(memwatch("runs", "--json").out)["runs"]
    assert run["state"] not in ("running", "done")


def test_watch_shows_the_machine_in_a_terminal() -> None:
    with Terminal(*RUN, "watch") as terminal:
        terminal.see("memory", "GiB", "q quit")
        terminal.press("q")
        assert terminal.end() == 0


def test_the_full_screen_pauses_resumes_and_ends_a_job() -> None:
    with Terminal(
        *RUN, "run", "--", sys.executable, "-uc", "print('begun'); import time; time.sleep(1000)"
    ) as terminal:
        terminal.see("RUNNING", "begun", "calm")  # A key that is pressed during the first frame can be lost.
        guard = next(pid for pid in children(terminal.pid) if "memwatch.guard" in command_of(pid))
        job = next(pid for pid in children(guard) if "-uc" in command_of(pid))
        terminal.press("p")
        terminal.see("PAUSED", "by you")
        wait_until(lambda: state_of(job) == "T", "the job is stopped")
        terminal.press("p")
        terminal.see("RUNNING")
        wait_until(lambda: state_of(job) != "T", "the job runs again")
        terminal.press("x")
        terminal.see("stop the job?")
        terminal.press("x")
        assert terminal.end() == 128 + signal.SIGTERM


def test_ctrl_c_ends_a_paused_job_in_a_terminal(tmp_path: Path) -> None:
    """Nobody sees a signal that waits for a stopped process, so during a pause the terminal is the front's."""
    script = f"trap 'echo interrupted; exit 9' INT; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"
    with Terminal(*RUN, "run", "--ui", "plain", "--", "sh", "-c", script) as terminal:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the job runs")
        journal = journal_of_this_run()
        assert memwatch_pause(journal)
        job = int((tmp_path / "pid").read_text())
        wait_until(lambda: state_of(job) == "T", "the job is stopped")
        terminal.press("\x03")
        assert terminal.end() == 9
        assert "interrupted" in terminal.text


def test_a_job_in_a_terminal_that_is_paused_when_its_guard_is_killed_runs_on_or_ends(tmp_path: Path) -> None:
    """It is an orphan of its session from then on, and the kernel hangs it up: most programs end by SIGHUP."""
    script = f"trap '' HUP; echo $$ > {tmp_path}/pid; while ! [ -e {tmp_path}/go ]; do sleep 0.1; done"
    with Terminal(*RUN, "run", "--ui", "plain", "--", "sh", "-c", script) as terminal:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the job runs")
        assert memwatch_pause(journal_of_this_run())
        job = int((tmp_path / "pid").read_text())
        wait_until(lambda: state_of(job) == "T", "the job is stopped")
        guard = next(pid for pid in children(terminal.pid) if "memwatch.guard" in command_of(pid))
        os.kill(guard, signal.SIGKILL)
        wait_until(lambda: state_of(job) != "T", "the job is not left stopped")
        (tmp_path / "go").touch()
        assert terminal.end() == 125
        assert "its exit code is unknown" in terminal.text


def journal_of_this_run() -> Path:
    runs = Path(os.environ["XDG_STATE_HOME"]) / "memwatch" / "runs"
    wait_until(lambda: list(runs.glob("*.sock")), "the guard's attach socket opens")
    return next(iter(runs.glob("*.jsonl")))


def memwatch_pause(journal: Path) -> bool:
    """As a view that attaches, in a process that uses the same kind of socket."""
    code = (
        "import sys, time; from memwatch.guard.attach_socket import connect; guard = connect(sys.argv[1])\n"
        "guard.send({'command': 'pause'}); time.sleep(0.5)"
    )
    return subprocess.run([sys.executable, "-c", code, str(journal)], timeout=HANG_S).returncode == 0
