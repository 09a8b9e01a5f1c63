"""Files appear whole or not at all, and never through somebody else's link."""

import os
import threading
from pathlib import Path

import pytest

from memwatch.errors import MemwatchError
from memwatch.whole_file import output_file, whole_file


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


def test_what_a_crash_left_under_the_partial_name_is_replaced_and_a_link_there_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "state.json.new").symlink_to(tmp_path / "precious")
    with whole_file(tmp_path / "state.json") as file:
        file.write(b"{}")
    assert (tmp_path / "state.json").read_bytes() == b"{}"
    assert not (tmp_path / "state.json").is_symlink()
    assert (tmp_path / "precious").read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == ["precious", "state.json"]


def test_names_may_be_relative_to_an_open_folder(tmp_path: Path) -> None:
    folder_fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with whole_file("a.run", ".a.run.new", folder_fd=folder_fd, durable=False) as file:
            file.write(b"a")
    finally:
        os.close(folder_fd)
    assert os.listdir(tmp_path) == ["a.run"]


def test_only_one_module_renames_files_that_it_writes() -> None:
    package = Path(__file__).parent.parent / "memwatch"
    renaming = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(call in path.read_text() for call in ("os.replace(", "os.rename("))
    }
    # output_folder.py names parts that workers wrote; local_store.py has no hard links to fall back on; the third has
    # a text with such a call.
    assert renaming == {
        "whole_file.py",
        "tokenize/output_folder.py",
        "storage/local_store.py",
        "diagnose/scripts/stream_fix.py",
    }
