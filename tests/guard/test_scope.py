"""The job's scope, with a systemd that is played by the test. For the real one: tests/faults/test_scope.py."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memwatch.decide.reserve import Reserve
from memwatch.guard.scope import job_scope as scope_module
from memwatch.guard.scope.dbus_message import HEADER_BYTES, Field, Message, MessageType, decode, encode, message_length
from memwatch.guard.scope.job_scope import JobScope
from memwatch.guard.scope.placement import find_place, seek_place
from memwatch.model.sample import Limit, Memory, Sample
from memwatch.model.units import GIB, MIB
from tests.helpers import HANG_S
from tests.probe import trees
from tests.probe.trees import Tree

JOB_PID = 4242
RESERVE = Reserve(2 * GIB)
JOB_PATH = "/org/freedesktop/systemd1/job/7"
SLICE = "/user.slice/user-{user}.slice/user@{user}.service/app.slice"
NONSENSE = b"l\2\0\1" + bytes(8) + b"\10\0\0\0" + b"\xff" * 8
Answer = Callable[["FakeSystemd", Message, int], list[bytes]]


def machine(available: int = 10 * GIB, *limits: Limit, clock_s: float = 0.0) -> Sample:
    return Sample(t=0, clock_s=clock_s, memory=Memory(16 * GIB, available, 8 * GIB, 6 * GIB), limits=limits)


@dataclass
class FakeSystemd:
    tree: Tree
    answer: Answer
    calls: list[tuple[str, bytes]] = field(default_factory=list)
    slice_path: str = ""
    lines: list[socket.socket] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            self.lines.append(line)
            threading.Thread(target=self._talk_on, args=[line], daemon=True).start()

    def _talk_on(self, line: socket.socket) -> None:
        with line, suppress(OSError, ValueError):
            self._talk(line.makefile("rwb"))

    def hang_up(self) -> None:
        for line in self.lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _talk(self, stream: Any) -> None:
        assert stream.read(1) == b"\0"
        assert stream.readline() == b"AUTH EXTERNAL %s\r\n" % str(os.geteuid()).encode().hex().encode()
        assert stream.readline() == b"BEGIN\r\n"
        stream.write(b"OK 0123456789abcdef\r\n")
        stream.flush()
        while head := stream.read(HEADER_BYTES):
            data = head + stream.read(message_length(head) - HEADER_BYTES)
            call = decode(data)
            self.calls.append((str(call.member), data))
            for reply in self.answer(self, call, int.from_bytes(data[8:12], "little")):
                stream.write(reply)
            stream.flush()

    def put_job_into(self, name: str, memory_max: str | None) -> None:
        path = f"{self.slice_path}/{name}"
        self.tree.write(f"proc/{JOB_PID}/cgroup", f"0::{path}\n")
        self.tree.write(f"sys/fs/cgroup{path}/memory.current", f"{300 * MIB}\n")
        if memory_max is not None:
            self.tree.write(f"sys/fs/cgroup{path}/memory.max", f"{memory_max}\n")
            self.tree.write(f"sys/fs/cgroup{path}/memory.swap.max", f"{3 * GIB}\n")


def returned(serial: int) -> bytes:
    return encode(MessageType.RETURN, 1, {Field.REPLY_TO: ("u", serial)}, "o", [JOB_PATH])


def refused(serial: int, text: str) -> bytes:
    return encode(MessageType.ERROR, 1, {Field.REPLY_TO: ("u", serial)}, "s", [text])


def removed(result: str = "done", job: str = JOB_PATH) -> bytes:
    return encode(MessageType.SIGNAL, 2, {Field.MEMBER: ("s", "JobRemoved")}, "uoss", [7, job, "x.scope", result])


def obliging(fake: FakeSystemd, call: Message, serial: int) -> list[bytes]:
    fake.put_job_into(str(call.body[0]), str(9 * GIB))
    # Others' news come in between.
    return [removed("failed", "/org/freedesktop/systemd1/job/6"), returned(serial), removed()]


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Callable[[Answer], tuple[FakeSystemd, JobScope]]]:
    tree = trees.bare(tmp_path)
    tree.write("proc/self/mountinfo", "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n")
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
    slice_path = SLICE.format(user=os.geteuid())
    tree.write("proc/self/cgroup", f"0::{slice_path}/terminal.scope\n")
    tree.write(f"proc/{JOB_PID}/cgroup", f"0::{slice_path}/terminal.scope\n")
    folder = tmp_path / "run" / "user" / str(os.geteuid()) / "systemd"
    folder.mkdir(parents=True)
    listener = socket.socket(socket.AF_UNIX)
    before = Path.cwd()
    os.chdir(folder)  # A socket's path must be short.
    listener.bind("private")
    os.chdir(before)
    listener.listen()
    threads: list[threading.Thread] = []
    played: list[tuple[FakeSystemd, JobScope]] = []

    def play(answer: Answer) -> tuple[FakeSystemd, JobScope]:
        fake = FakeSystemd(tree, answer, slice_path=slice_path)
        threads.append(threading.Thread(target=fake.serve, args=[listener], daemon=True))
        threads[-1].start()
        place = find_place(tree.proc, tree.sys, str(tmp_path / "run"))
        played.append((fake, JobScope(place, tree.proc)))
        return played[-1]

    yield play
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for fake, scope in played:
        scope.close()
        fake.hang_up()
    for thread in threads:
        thread.join(HANG_S)


Play = Callable[[Answer], tuple[FakeSystemd, JobScope]]


def test_what_is_in_force_is_what_was_read_back(systemd: Play) -> None:
    fake, scope = systemd(obliging)
    scope.take_in(JOB_PID, machine(), RESERVE)
    facts = scope.facts.as_json()
    name = decode(fake.calls[0][1]).body[0]
    assert facts == {"scope": name, "memory_max_bytes": 9 * GIB, "swap_max_bytes": 3 * GIB}
    assert [member for member, _ in fake.calls] == ["StartTransientUnit"]
    asked = fake.calls[0][1]
    assert (9 * GIB).to_bytes(8, "little") in asked  # 10 GiB are available, half of the reserve is not for the job.
    assert b"MemoryMax\0" in asked
    assert b"MemoryHigh" not in asked
    assert b"app.slice\0" in asked
    assert JOB_PID.to_bytes(4, "little") in asked


def test_a_systemd_that_knows_no_oom_policy_is_asked_without(systemd: Play) -> None:
    def older(fake: FakeSystemd, call: Message, serial: int) -> list[bytes]:
        if b"OOMPolicy" in fake.calls[-1][1]:
            return [refused(serial, "Cannot set property OOMPolicy, or unknown property.")]
        return obliging(fake, call, serial)

    fake, scope = systemd(older)
    scope.take_in(JOB_PID, machine(), RESERVE)
    assert scope.facts.name is not None
    assert len(fake.calls) == 2


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        pytest.param(lambda serial: [refused(serial, "Not today.")], "systemd made no scope: Not today.", id="refused"),
        pytest.param(lambda serial: [returned(serial), removed("failed")], "has failed", id="failed"),
        pytest.param(
            lambda serial: [b"l\2\0\1" + bytes(8) + b"\10\0\0\0" + b"\xff" * 8], "not a D-Bus message", id="nonsense"
        ),
        pytest.param(lambda serial: [b"\xff" * 40], "too long", id="endless"),
        pytest.param(lambda serial: [returned(serial), removed()], "but the job is in /user.slice", id="not moved"),
        pytest.param(lambda serial: [], "it does not answer", id="silent"),
    ],
)
def test_what_was_not_had_is_not_claimed(
    systemd: Play, monkeypatch: pytest.MonkeyPatch, replies: Callable[[int], list[bytes]], why: str
) -> None:
    monkeypatch.setattr(scope_module, "PATIENCE_S", 0.5)
    _, scope = systemd(lambda fake, call, serial: replies(serial))
    scope.take_in(JOB_PID, machine(), RESERVE)
    facts = scope.facts.as_json()
    assert facts["scope"] is None
    assert why in str(facts["scope_missing"])


@pytest.mark.parametrize("memory_max", ["max", None])
def test_a_scope_without_a_limit_is_not_claimed(systemd: Play, memory_max: str | None) -> None:
    def toothless(fake: FakeSystemd, call: Message, serial: int) -> list[bytes]:
        fake.put_job_into(str(call.body[0]), memory_max)
        return [returned(serial), removed()]

    _, scope = systemd(toothless)
    scope.take_in(JOB_PID, machine(), RESERVE)
    assert scope.facts.missing == "systemd made a scope, but it limits no memory"


def test_where_there_is_no_systemd_nobody_is_asked(tmp_path: Path) -> None:
    tree = trees.container_v2(tmp_path)
    place = seek_place(tree.proc, tree.sys, str(tmp_path / "run"))
    scope = JobScope(place, tree.proc)
    scope.take_in(JOB_PID, machine(), RESERVE)
    assert scope.facts.as_json() == {"scope": None, "scope_missing": str(place)}
    assert scope.seen(machine(), RESERVE) == machine()
    scope.follow(machine(), RESERVE)


class TestFollowing:
    def _started(self, systemd: Play) -> tuple[FakeSystemd, JobScope, str]:
        fake, scope = systemd(obliging)
        scope.take_in(JOB_PID, machine(), RESERVE)
        return fake, scope, f"{fake.slice_path}/{scope.facts.name}"

    def test_the_reserve_is_taken_from_its_room_only_once(self, systemd: Play) -> None:
        _, scope, path = self._started(systemd)
        raw = machine(8 * GIB, Limit(path, 9 * GIB, 2 * GIB), Limit("/user.slice", 12 * GIB, 3 * GIB))
        seen = scope.seen(raw, RESERVE)
        assert raw.available_bytes == 7 * GIB
        assert seen.available_bytes == 8 * GIB
        assert seen.limits[0].limit_bytes == 9 * GIB  # What is journaled is what is in force.
        assert seen.limits[1] == raw.limits[1]

    def test_the_limit_is_raised_when_others_free_memory(self, systemd: Play) -> None:
        fake, scope, path = self._started(systemd)
        scope.follow(machine(11 * GIB, Limit(path, 9 * GIB, 2 * GIB), clock_s=100), RESERVE)
        self._wait_for(fake, 2)
        member, data = fake.calls[1]
        assert member == "SetUnitProperties"
        assert (12 * GIB).to_bytes(8, "little") in data

    def test_it_is_not_changed_all_the_time(self, systemd: Play) -> None:
        fake, scope, path = self._started(systemd)
        own = Limit(path, 9 * GIB, 2 * GIB)
        scope.follow(machine(8 * GIB, own, clock_s=100), RESERVE)  # As it should be.
        scope.follow(machine(11 * GIB, own, clock_s=101), RESERVE)
        scope.follow(machine(5 * GIB, own, clock_s=102), RESERVE)  # Too soon.
        self._wait_for(fake, 2)
        scope.follow(machine(5 * GIB, own, clock_s=110), RESERVE)
        self._wait_for(fake, 3)
        assert (6 * GIB).to_bytes(8, "little") in fake.calls[2][1]

    def test_a_systemd_that_is_gone_is_no_trouble(self, systemd: Play, tmp_path: Path) -> None:
        _, scope, path = self._started(systemd)
        next(tmp_path.rglob("private")).unlink()
        scope.follow(machine(11 * GIB, Limit(path, 9 * GIB, 2 * GIB), clock_s=100), RESERVE)

    def _wait_for(self, fake: FakeSystemd, count: int) -> None:
        from tests.guard.processes import wait_until

        wait_until(lambda: len(fake.calls) >= count, f"{count} calls")
