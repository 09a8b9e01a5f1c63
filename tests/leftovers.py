"""A pytest plugin: a test that fails leaves no process behind. What it has started is known by its environment."""

import os
import signal
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from tests.helpers import HANG_S

VARIABLE = "MEMWATCH_TEST_STARTED_BY"
_numbers = count()
_has_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_has_failed] = item.stash.get(_has_failed, False) or report.failed
    return report


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    mark = f"{os.getpid()}-{next(_numbers)}"
    monkeypatch.setenv(VARIABLE, mark)
    yield
    if request.node.stash.get(_has_failed, False):
        end_all(f"{VARIABLE}={mark}".encode())


def end_all(mark: bytes) -> None:
    """Again until there are none: what was killed may have left a child that was just being born."""
    deadline = time.monotonic() + HANG_S
    while (pids := marked(mark)) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def marked(mark: bytes) -> list[int]:
    """A process that has ended and was not waited for has no environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found
