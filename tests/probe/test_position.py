"""How far a job is that does not say so: seen from the files it has open."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwatch.model.sample import Process
from memwatch.model.units import MIB
from memwatch.probe.position import LOOK_INTERVAL_S, InputPosition

READER = """
import sys
files = [open(path, mode, buffering=0) for path, mode in zip(sys.argv[1::2], sys.argv[2::2])]
for line in sys.stdin:
    which, size = map(int, line.split())
    files[which].read(size) if "r" in files[which].mode else files[which].write(b"x" * size)
    print("done", flush=True)
"""


class Reader:
    def __init__(self, *paths_and_modes: object) -> None:
        command = [sys.executable, "-c", READER, *map(str, paths_and_modes)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.job = (Process(self._process.pid, 0, 0, "S", 0, 0, 0.0, None, None, "reader"),)

    def move(self, which: int, size: int) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(which, size, file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    sizes = {"small.txt": 1000, "input.txt": 3 * MIB, "model.bin": 9 * MIB, "out.bin": 0}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(bytes(size))
    return [tmp_path / name for name in sizes]


@pytest.fixture
def reader(files: list[Path]) -> Iterator[Reader]:
    small, text, model, out = files
    reader = Reader(small, "rb", text, "rb", model, "rb", out, "wb")
    reader.move(0, 0)
    yield reader
    reader.close()


def test_the_largest_file_whose_position_moves_is_the_input(reader: Reader) -> None:
    position = InputPosition()
    assert position.look(reader.job, 0.0) is None
    reader.move(0, 10)
    reader.move(1, MIB)
    reader.move(3, 5 * MIB)  # It writes more than it reads.
    found = position.look(reader.job, LOOK_INTERVAL_S)
    assert found is not None
    assert (found.name, found.done_bytes, found.total_bytes) == ("input.txt", MIB, 3 * MIB)


def test_what_stands_still_is_no_progress(reader: Reader) -> None:
    position = InputPosition()
    reader.move(1, MIB)
    assert position.look(reader.job, 0.0) is None
    assert position.look(reader.job, LOOK_INTERVAL_S) is None


def test_it_looks_only_now_and_then(reader: Reader) -> None:
    position = InputPosition()
    position.look(reader.job, 0.0)
    reader.move(1, MIB)
    assert position.look(reader.job, LOOK_INTERVAL_S / 2) is None
    assert position.look(reader.job, LOOK_INTERVAL_S) is not None


def test_a_process_that_is_gone_reads_nothing() -> None:
    gone = Process(2**22 + 1, 0, 0, "S", 0, 0, 0.0, None, None, "gone")
    assert InputPosition().look((gone,), 0.0) is None
