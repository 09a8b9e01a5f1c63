"""What other programs print, within limits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memwatch.diagnose.collect.capture import Captured, command_lines, file_lines
from tests.helpers import HANG_S
from tests.journal.examples import as_nobody

Program = Callable[[str], str]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def make(script: str) -> str:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


def test_lines_come_as_they_are(program: Program) -> None:
    captured = Captured()
    assert list(command_lines([program("echo one; printf two")], captured)) == ["one", "two"]
    assert captured == Captured()


def test_what_it_complains_of_is_kept(program: Program) -> None:
    captured = Captured()
    script = "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1"
    assert list(command_lines([program(script)], captured)) == []
    assert captured.permission_denied
    assert captured.trouble == "dmesg: read kernel buffer failed: Operation not permitted"


def test_a_program_that_is_not_there() -> None:
    captured = Captured()
    assert list(command_lines(["/no/such/program"], captured)) == []
    assert captured.missing


def test_one_that_hangs_is_ended(program: Program, tmp_path: Path) -> None:
    captured = Captured()
    script = f"echo $$ > {tmp_path}/pid; echo one; exec sleep {HANG_S}"
    assert list(command_lines([program(script)], captured, seconds=0.5)) == ["one"]
    assert captured.cut_short == "it did not finish in 0 s"
    pid = int((tmp_path / "pid").read_text())
    assert not os.path.exists(f"/proc/{pid}")


def test_one_that_prints_without_end_is_ended(program: Program) -> None:
    captured = Captured()
    count = sum(1 for _ in command_lines([program("exec yes abcdefg")], captured, most_bytes=1 << 20))
    assert 1 << 17 <= count <= 1 << 18
    assert captured.cut_short is not None


def test_whoever_has_enough_may_stop(program: Program) -> None:
    lines = command_lines([program("exec yes")], Captured())
    assert next(lines) == "y"
    lines.close()  # type: ignore[attr-defined]


def test_of_a_long_file_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.write_bytes(b"".join(b"line %07d\n" % number for number in range(1_000_000)))
    captured = Captured()
    lines = list(file_lines(str(path), captured, most_bytes=1 << 20))
    assert lines[-1] == "line 0999999"
    assert len(lines) < 100_000
    assert captured.cut_short == "only its last 1 MiB were read"


def test_a_file_without_newlines_costs_little(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    (line,) = file_lines(str(path), Captured())
    assert len(line) < 1 << 20


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.write_text("x\n")
    path.chmod(0)
    tmp_path.chmod(0o755)
    captured = Captured()
    with as_nobody():
        assert list(file_lines(str(path), captured)) == []
    assert captured.permission_denied


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(file_lines(str(tmp_path / "pipe"), Captured())) == []


def test_nothing_is_left_running(program: Program) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text()
    list(command_lines([program("sleep 0.01")], Captured()))
    assert children.read_text() == before
