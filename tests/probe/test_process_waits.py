"""Signals that wait for a stopped process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.guard.hold import ThreadHolder
from memwatch.model.sample import Process
from memwatch.probe.process_waits import pending_signals
from memwatch.probe.stat import parse_stat
from tests.guard.processes import send, state_of, wait_until

READY = "import signal, sys, time; {}; print(flush=True); time.sleep(1000)"
USUAL = "signal.signal(signal.SIGINT, signal.SIG_DFL)"
BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])"
IGNORED = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
ALL_BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"


@pytest.fixture
def stopped(request: pytest.FixtureRequest) -> Iterator[int]:
    command = [sys.executable, "-c", READY.format(request.param)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        send(process.pid, signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T")
        yield process.pid
        process.kill()


@pytest.mark.parametrize("stopped", [USUAL], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_would_end_it_waits(stopped: int, number: signal.Signals) -> None:
    assert not pending_signals(stopped)
    send(stopped, signal.SIGUSR1)
    assert not pending_signals(stopped)
    send(stopped, number)
    assert pending_signals(stopped) == {number}


@pytest.mark.parametrize("stopped", [BLOCKED, IGNORED], indirect=True)
def test_what_it_would_not_hear_anyway_does_not_count(stopped: int) -> None:
    send(stopped, signal.SIGTERM)
    assert not pending_signals(stopped)


def test_nothing_waits_for_one_that_is_gone() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert not pending_signals(process.pid)
    assert not pending_signals(os.getpid())


@pytest.mark.parametrize("stopped", [USUAL, IGNORED], indirect=True)
def test_what_waits_for_a_held_process_is_what_it_would_receive(stopped: int) -> None:
    """Held by ptrace, even ignored signals wait; and SIGCONT does not let it run on."""
    ignores = signal.SIGTERM in signals_ignored(stopped)
    holder = ThreadHolder()
    stat = parse_stat(Path(f"/proc/{stopped}/stat").read_bytes())
    assert holder.hold(Process(stopped, stat.start_ticks, 1, "T", 0, 0, 0.0, None, None, "python")) == 0
    wait_until(lambda: state_of(stopped) == "t")
    send(stopped, signal.SIGTERM)
    send(stopped, signal.SIGCONT)
    assert state_of(stopped) == "t"
    assert pending_signals(stopped) == ({signal.SIGCONT} if ignores else {signal.SIGCONT, signal.SIGTERM})
    holder.release()


@pytest.mark.parametrize("stopped", [ALL_BLOCKED], indirect=True)
def test_sigcont_counts_though_it_is_blocked(stopped: int) -> None:
    """As shells do between fork and exec. A job that was held there did not run on when its user continued it."""
    holder = ThreadHolder()
    stat = parse_stat(Path(f"/proc/{stopped}/stat").read_bytes())
    assert holder.hold(Process(stopped, stat.start_ticks, 1, "T", 0, 0, 0.0, None, None, "python")) == 0
    wait_until(lambda: state_of(stopped) == "t")
    send(stopped, signal.SIGTERM)
    send(stopped, signal.SIGCONT)
    assert pending_signals(stopped) == {signal.SIGCONT}
    holder.release()


def signals_ignored(pid: int) -> set[int]:
    line = next(x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("SigIgn:"))
    return {number for number in range(1, 65) if int(line.split()[1], 16) >> (number - 1) & 1}
