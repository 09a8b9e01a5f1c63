"""A job under guard, and a look at everyone concerned."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from memwatch.channel import Channel
from memwatch.guard.order import GuardConfig, give_order
from tests.cage import Cage
from tests.helpers import HANG_S


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def command_of(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
    return []


def state_of(pid: int) -> str | None:
    """One letter, T for stopped; None if it is gone."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return None if state in "ZX" else state
    return None


def is_paused(pid: int) -> bool:
    """Held by the guard (t), or stopped by a signal (T). A parent in vfork (D) waits in the kernel for its child."""
    state = state_of(pid)
    return state in ("t", "T") or (state == "D" and any(map(is_paused, children(pid))))


def send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_until(condition: Callable[[], object], what: str = "") -> None:
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.005)


class Guarded:
    """`memwatch run OPTIONS -- COMMAND`: the front, the guard, its watcher and the job."""

    def __init__(
        self, *command: object, options: tuple[object, ...] = (), keeps_record: bool = False, **popen: object
    ) -> None:
        arguments = [
            sys.executable,
            "-m",
            "memwatch",
            "run",
            *(() if keeps_record else ("--no-record",)),
            *map(str, options),
            "--",
            *map(str, command),
        ]
        self.front = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **popen
        )  # type: ignore[call-overload]
        self.known: set[int] = set()

    def __enter__(self) -> "Guarded":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in [self.front.pid, *self.known]:
            send(pid, signal.SIGKILL)
        self.front.communicate(timeout=HANG_S)

    @property
    def guard(self) -> int:
        wait_until(lambda: children(self.front.pid), "the guard starts")
        return children(self.front.pid)[0]

    @property
    def job(self) -> int:
        guard = self.guard
        wait_until(lambda: len(children(guard)) >= 2, "the job starts")
        watcher, job = children(guard)[:2]
        wait_until(lambda: "memwatch.guard" not in command_of(job), "the job has become what it is")
        self.known |= {guard, watcher, job}
        return job

    @property
    def watcher(self) -> int:
        return children(self.guard)[0]

    def finish(self) -> tuple[int, str, str]:
        out, err = self.front.communicate(timeout=HANG_S)
        assert "Traceback" not in err, err
        return self.front.returncode, out, err


class Entrance(Protocol):
    """Where a guard can be started in: a cage, or under other restrictions."""

    def command(self, *command: object) -> list[str]:
        """The command line that enters and becomes `command`."""


class NoPtrace:
    """Where ptrace is forbidden, as in some containers: a pause takes SIGSTOP."""

    def command(self, *command: object) -> list[str]:
        return [sys.executable, "-m", "tests.guard.no_ptrace", *map(str, command)]


class Watched:
    """A guard without a front: the test is its view, hears every event and gives commands."""

    def __init__(self, *command: object, cage: "Cage | Entrance | None" = None, **config: object) -> None:
        ours, theirs = socket.socketpair()
        self.events: list[dict[str, Any]] = []
        arguments = [sys.executable, "-m", "memwatch.guard", str(theirs.fileno())]
        if cage is not None:
            arguments = cage.command(*arguments)
        self.guard = subprocess.Popen(arguments, pass_fds=[theirs.fileno()], start_new_session=True)
        theirs.close()
        described = GuardConfig(keeps_record="record" in config, **config)  # type: ignore[arg-type]
        self.terminal = give_order(ours, described, [*map(str, command)])
        self.channel = Channel(ours)
        self.pids: list[int] = []

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        # The job too if nobody has asked for its pid: it would outlive its guard.
        for pid in [*children(self.guard.pid), self.guard.pid, *self.pids]:
            send(pid, signal.SIGKILL)
        self.guard.wait(HANG_S)
        self.channel.close()
        if self.terminal is not None:
            os.close(self.terminal)

    def tell(self, command: str, **more: object) -> None:
        self.channel.send({"command": command, **more})

    def has(self, name: str, **facts: object) -> dict[str, Any] | None:
        """An event with these facts, if it has come."""
        self.events += self.channel.receive()
        return next((e for e in self.events if e["event"] == name and facts.items() <= e.items()), None)

    def event(self, name: str, **facts: object) -> dict[str, Any]:
        """Wait for an event with these facts."""
        wait_until(lambda: self.has(name, **facts), f"{name} {facts}")
        event = self.has(name, **facts)
        assert event is not None
        self.events.remove(event)
        if name == "start":
            self.pids.append(event["pid"])
        return event
