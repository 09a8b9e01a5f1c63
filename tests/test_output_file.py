"""A file the user has named: whole or not at all, and never through somebody else's link."""

import os
import threading
from pathlib import Path

import pytest

from memwatch.errors import MemwatchError
from memwatch.output_file import output_file


def test_a_new_file_has_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with output_file(str(path)) as file:
        file.write("größe\n")
        assert not path.exists()
    assert path.read_bytes() == "größe\n".encode()
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), output_file(str(path)) as file:
        file.write(str(1 / 0))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "out.csv").symlink_to(tmp_path / "precious")
    with pytest.raises(MemwatchError, match="symbolic link"), output_file(str(tmp_path / "out.csv")):
        pass
    assert (tmp_path / "precious").read_text() == "precious"
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MemwatchError, match="symbolic link"), output_file(str(tmp_path / "dangling")):
        pass


def test_a_folder_and_a_place_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MemwatchError, match="is a folder"), output_file(str(tmp_path)):
        pass
    with pytest.raises(MemwatchError, match=r"cannot write .*No such file"), output_file(str(tmp_path / "a" / "b")):
        pass


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    with output_file(str(path)) as file:
        file.write("hello")
    reader.join(10)
    assert read == ["hello"]


def test_standard_output_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    with output_file("-") as file:
        file.write("hello")
    assert capsys.readouterr().out == "hello"


def test_a_full_disk_is_one_sentence() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with pytest.raises(MemwatchError, match="cannot write /dev/full: No space left"), output_file("/dev/full") as file:
        file.write("hello")
