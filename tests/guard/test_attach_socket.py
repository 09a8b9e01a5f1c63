"""Other views join a running guard, and leave it."""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memwatch.errors import MemwatchError
from memwatch.guard import attach_socket as join
from memwatch.journal.reader import parse_event
from tests.guard.processes import Watched, send, state_of, wait_until
from tests.helpers import open_to_others


class Visitor:
    def __init__(self, journal: Path) -> None:
        self.channel = join.connect(str(journal))
        self.events: list[dict[str, Any]] = []

    def event(self, name: str, **facts: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            self.events += self.channel.receive()
            return next((e for e in self.events if e["event"] == name and facts.items() <= e.items()), None)

        wait_until(found, f"{name} {facts}")
        event = found()
        assert event is not None
        return event


Visit = Callable[[Path], Visitor]


@pytest.fixture
def visit() -> Iterator[Visit]:
    visitors: list[Visitor] = []

    def come(journal: Path) -> Visitor:
        visitors.append(Visitor(journal))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.channel.close()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_visitor_hears_and_commands(journal: Path, visit: Visit) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        job = watched.event("start")["pid"]
        visitor = visit(journal)
        visitor.event("joined")
        visitor.channel.send({"command": "pause"})
        assert visitor.event("action", action="pause")["pids"] == [job]
        watched.event("action", action="pause")  # The front hears of it too.
        visitor.channel.close()
        watched.tell("resume")
        watched.event("action", action="resume")  # And the guard has not minded.
        wait_until(lambda: state_of(job) == "S")


def test_the_past_is_in_the_journal_and_the_present_on_the_line(journal: Path, visit: Visit) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("sample")
        visitor = visit(journal)
        size = visitor.event("joined")["journal_bytes"]
        watched.tell("kill")
        visitor.event("exit")
        past = [parse_event(line) for line in journal.read_bytes()[:size].splitlines()]
    assert past[0] is not None
    assert past[0]["event"] == "start"
    seen = [event for event in past if event is not None] + visitor.events
    times = [(event["t"], event["event"]) for event in seen if event["event"] == "sample"]
    assert len(times) == len(set(times))
    assert times == sorted(times)


def test_the_door_is_for_its_owner_alone(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("start")
        path = Path(join.socket_path(str(journal)))
        wait_until(path.exists)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    attach_socket = join.AttachSocket(str(journal.with_name("other.jsonl")))
    monkeypatch.setattr(join, "peer_of", lambda line: (1, 12345))
    stranger = socket.socket(socket.AF_UNIX)
    stranger.connect(join.socket_path(str(journal.with_name("other.jsonl"))))
    assert attach_socket.admit() is None
    assert stranger.recv(1) == b""
    stranger.close()
    attach_socket.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_cannot_come_in(journal: Path) -> None:
    open_to_others(journal.parent)
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("start")
        path = join.socket_path(str(journal))
        wait_until(Path(path).exists)
        script = f"import os, socket; os.setuid(65534); socket.socket(socket.AF_UNIX).connect({path!r})"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert "PermissionError" in done.stderr


def test_a_path_longer_than_a_sockets_address_will_do(tmp_path: Path, visit: Visit) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    with Watched("sleep", "1000", record=str(folder / "run.jsonl")) as watched:
        watched.event("sample")
        visit(folder / "run.jsonl").event("joined")


def test_who_finds_the_door_can_come_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, listen = str(tmp_path / "run.jsonl"), socket.socket.listen
    was_found: list[bool] = []

    def look_and_listen(line: socket.socket, most: int) -> None:
        was_found.append(os.path.exists(join.socket_path(journal)))
        listen(line, most)

    monkeypatch.setattr(socket.socket, "listen", look_and_listen)
    door = join.AttachSocket(journal)
    join.connect(journal).close()
    with pytest.raises(OSError, match="exists"):
        join.AttachSocket(journal)  # Another guard's is left alone.
    door.close()
    assert was_found == [False, True]
    assert list(tmp_path.iterdir()) == []


def test_the_door_is_gone_with_the_guard(journal: Path) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("sample")
        watched.tell("kill")
        watched.event("exit")
        assert not Path(join.socket_path(str(journal))).exists()
    with pytest.raises(MemwatchError, match="has ended"):
        join.connect(str(journal))


def test_a_door_that_a_killed_guard_left_is_no_guard(journal: Path) -> None:
    # The job runs on without its guard, so it must end by itself.
    with Watched("sleep", "30", record=str(journal)) as watched:
        watched.event("sample")
        send(watched.guard.pid, signal.SIGKILL)
        watched.guard.wait()
        assert Path(join.socket_path(str(journal))).exists()
        with pytest.raises(MemwatchError, match="has ended"):
            join.connect(str(journal))


def test_nonsense_does_not_end_the_guard(journal: Path, visit: Visit) -> None:
    with Watched("sleep", "1000", record=str(journal)) as watched:
        watched.event("sample")
        visitor = visit(journal)
        visitor.event("joined")
        for nonsense in ({}, {"command": "signal", "number": "x"}, {"command": "signal", "number": 10**9},
                         {"command": ["pause"]}, {"command": "resize", "rows": -1}, {"command": "warn"}):  # fmt: skip
            assert visitor.channel.send(nonsense)
        visitor.channel.send({"command": "guard_off"})
        visitor.event("note")
        assert watched.guard.poll() is None
