"""Signals that wait for a stopped process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from memwatch.probe.pending import is_told_to_end
from tests.guard.processes import send, state_of, wait_until

READY = "import signal, sys, time; {}; print(flush=True); time.sleep(1000)"
USUAL = "signal.signal(signal.SIGINT, signal.SIG_DFL)"
BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])"
IGNORED = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


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
    assert not is_told_to_end(stopped)
    send(stopped, signal.SIGUSR1)
    assert not is_told_to_end(stopped)
    send(stopped, number)
    assert is_told_to_end(stopped)


@pytest.mark.parametrize("stopped", [BLOCKED, IGNORED], indirect=True)
def test_what_it_would_not_hear_anyway_does_not_count(stopped: int) -> None:
    send(stopped, signal.SIGTERM)
    assert not is_told_to_end(stopped)


def test_nothing_waits_for_one_that_is_gone() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert not is_told_to_end(process.pid)
    assert not is_told_to_end(os.getpid())
