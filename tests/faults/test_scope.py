"""The job's scope, on a real machine with systemd and cgroup v2. `make test-vm` boots one where this is none."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwatch.guard.scope.placement import NoScope, find_place
from memwatch.model.units import GIB, MIB
from tests.guard.processes import Guarded, send, state_of, wait_until
from tests.helpers import HANG_S, Finished, memwatch

try:
    find_place()
except NoScope as error:
    pytest.skip(f"no scope can be had here, because {error}; make test-vm", allow_module_level=True)

MANAGER = [] if os.geteuid() == 0 else ["--user"]
SHOW = 'own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); echo "$own"; cat "$own/memory.max" "$own/memory.events"'
# Takes what there is, at a rate in MiB/s.
HOG = """
import sys, time
held, rate = [], float(sys.argv[1]) * 2**20
start = time.monotonic()
while True:
    while len(held) * (4 << 20) < (time.monotonic() - start) * rate:
        held.append(bytearray(b"x") * (4 << 20))
    time.sleep(0.02)
"""
# Somebody else's program: it has some memory, uses all of it again and again, and says when.
BYSTANDER = """
import sys, time
held = bytearray(int(sys.argv[1]) << 20)
while True:
    for at in range(0, len(held), 4096):
        held[at] = 1
    print(time.monotonic(), flush=True)
    time.sleep(0.05)
"""


def total_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# Whoever runs the tests on a machine of their own has other plans for it than to have it filled or stopped.
only_in_a_guest = pytest.mark.skipif(total_bytes() > 4 * GIB, reason="done to a guest only: make test-vm")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", BYSTANDER, "50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def events(record: Path, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in record.read_text().splitlines() if line.endswith("}")]
    return [line for line in lines if line["event"] == name]


def run(record: Path, *command: object, **options: object) -> Finished:
    return memwatch("run", "--record", record, "--", *command, **options)


def containment(record: Path) -> dict[str, Any]:
    (start,) = events(record, "start")
    found = start["containment"]
    assert isinstance(found, dict)
    return found


def limit_of(pid: int) -> int:
    path = Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::")
    return int(Path(f"/sys/fs/cgroup{path}/memory.max").read_text())


def test_the_job_runs_in_its_own_scope_from_its_first_instruction(record: Path) -> None:
    done = run(record, "sh", "-c", SHOW)
    assert (done.code, done.err) == (0, "")
    folder, limit = done.out.splitlines()[:2]
    facts = containment(record)
    assert facts["scope"] == Path(folder).name
    assert facts["scope"].startswith("memwatch-")
    assert facts["memory_max_bytes"] == int(limit)
    assert "scope_missing" not in facts
    # Between what a small job needs and what there is.
    assert 256 * MIB < int(limit) < total_bytes()


def test_it_has_as_many_tasks_as_without_a_scope(record: Path) -> None:
    done = run(record, "sh", "-c", 'cat "/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/pids.max"')
    assert done.out == "max\n"


def test_nothing_is_left_of_it(record: Path) -> None:
    assert run(record, "sh", "-c", "kill -9 $$").code == 137
    listing = ["systemctl", *MANAGER, "list-units", "--all", "--no-legend", containment(record)["scope"]]
    wait_until(lambda: not subprocess.run(listing, capture_output=True, text=True).stdout, "the scope is gone")


@only_in_a_guest
def test_a_frozen_guard_does_not_let_the_job_take_the_machine(bystander: "subprocess.Popen[str]") -> None:
    script = f'"$0" -c "$1" 400; echo "ended $?"; {SHOW}'
    with Guarded("sh", "-c", script, sys.executable, HOG, options=("--on-pressure", "warn")) as guarded:
        job = guarded.job
        send(guarded.guard, signal.SIGSTOP)
        assert guarded.front.stdout is not None
        said = [guarded.front.stdout.readline().strip() for _ in range(3)]
        left = [guarded.front.stdout.readline().split() for _ in range(5)]
        assert said[0] == "ended 137"
        assert "memwatch-" in said[1]
        assert int(dict(left)["oom_kill"]) == 1
        now_s = time.monotonic()
        beats = bystander.stdout
        assert beats is not None
        wait_until(lambda: float(beats.readline()) > now_s, "the bystander is alive and well")
        send(guarded.guard, signal.SIGCONT)
        assert guarded.finish()[0] == 0
        assert state_of(job) is None


@only_in_a_guest
def test_the_guard_acts_before_the_kernel(record: Path) -> None:
    done = memwatch("run", "--record", record, "--pause-timeout", "1", "--", sys.executable, "-c", HOG, "60")
    assert done.code == 124, done.err
    # Before the end it is held for moments, and tried again: it grows whenever it runs.
    actions = [event["action"] for event in events(record, "action")]
    assert actions[0] == "warn"
    assert actions[-2:] == ["pause", "stop"]
    assert set(actions[:-1]) == {"warn", "pause", "resume"}
    (ended,) = events(record, "exit")
    assert (ended["by"], ended["signal"]) == ("guard", signal.SIGTERM)
    # Not because of its own limit, which would be half a reserve too early.
    (verdict,) = [event for event in events(record, "verdict") if event["level"] == "act"][:1]
    assert "memory limit" not in verdict["reason"]


@only_in_a_guest
def test_the_limit_follows_what_other_programs_take_and_free() -> None:
    with Guarded("sleep", "1000") as guarded:
        at_first = limit_of(guarded.job)
        taker = subprocess.Popen([sys.executable, "-c", BYSTANDER, "400"], stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: limit_of(guarded.job) < at_first - 200 * MIB, "the limit is lowered")
        finally:
            taker.kill()
            taker.wait()
        wait_until(lambda: limit_of(guarded.job) > at_first - 100 * MIB, "the limit is raised again")


def test_what_runs_under_a_limit_stays_under_it(record: Path) -> None:
    within = ["systemd-run", *MANAGER, "--scope", "--quiet", "-p", "MemoryMax=700M"]
    command = [sys.executable, "-m", "memwatch", "run", "--record", str(record), "--", "sh", "-c", SHOW]
    done = subprocess.run([*within, *command], capture_output=True, text=True, timeout=HANG_S, check=True)
    assert done.stdout.splitlines()[1] == str(700 * MIB)
    facts = containment(record)
    assert facts["scope"] is None
    assert "has a limit of its own (memory.max), which the job must not escape" in facts["scope_missing"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run something as somebody else")
def test_without_a_login_the_job_runs_without_a_scope_and_the_journal_says_so(record: Path) -> None:
    for folder in record.parents:  # Somebody else is to write there.
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o777)
    away = ["systemd-run", "--wait", "--pipe", "--quiet", "-p", "User=nobody", f"--setenv=PYTHONPATH={Path.cwd()}"]
    command = ["python3", "-m", "memwatch", "run", "--record", str(record), "--", "sh", "-c", "exit 4"]
    assert subprocess.run([*away, *command], timeout=HANG_S).returncode == 4
    facts = containment(record)
    assert facts["scope"] is None
    assert "is not part of a login of this user" in facts["scope_missing"]


@only_in_a_guest
@pytest.mark.skipif(os.geteuid() == 0, reason="nobody stops the system's own manager")
def test_a_manager_that_hangs_does_not_keep_the_job_from_running(record: Path) -> None:
    shown = subprocess.run(["systemctl", "show", "-P", "MainPID", f"user@{os.geteuid()}"], capture_output=True)
    manager = int(shown.stdout)
    os.kill(manager, signal.SIGSTOP)
    try:
        assert run(record, "sh", "-c", "exit 5").code == 5
    finally:
        os.kill(manager, signal.SIGCONT)
    facts = containment(record)
    assert facts == {**facts, "scope": None, "scope_missing": "systemd made no scope: it does not answer"}


def test_ctrl_c_and_codes_are_as_ever(record: Path) -> None:
    assert run(record, "sh", "-c", "exit 42").code == 42
    with Guarded("sleep", "1000") as guarded:
        assert guarded.job
        send(guarded.front.pid, signal.SIGINT)
        assert guarded.finish()[0] == 130
    with Guarded("sleep", "1000") as guarded:
        assert guarded.job
        send(guarded.front.pid, signal.SIGTERM)
        assert guarded.finish()[0] == 143
    assert memwatch("run", "--no-record", "--", "no-such-command").code == 127


def test_doctor_has_tried_it() -> None:
    done = memwatch("doctor", "--json")
    (check,) = [check for check in json.loads(done.out)["checks"] if check["name"] == "systemd scope"]
    assert check["word"] == "ok", check
    assert "if started now" in check["found"]
