"""Names from outside neither run nor reach the terminal raw, whatever the command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard.processes import Watched
from tests.helpers import HANG_S, memwatch
from tests.security.terminal import HOSTILE, obeyed, on_terminal

COMMANDS = [
    [HOSTILE],
    ["--" + HOSTILE],
    ["run", "--" + HOSTILE],
    ["run", HOSTILE],
    ["run", "--reserve", HOSTILE, "--", "true"],
    ["run", "--no-record", "--ui", "none", "--", HOSTILE],
    ["run", "--no-record", "--", HOSTILE],
    ["run", "--record", HOSTILE + "/x", "--", "true"],
    ["run", "--no-record", "tokenize", HOSTILE],
    ["run", "--no-record", "tokenize", "text.txt", "--out", "text.txt/" + HOSTILE],
    ["run", "--no-record", "tokenize", "text.txt", "--encoding", HOSTILE],
    ["runs", HOSTILE],
    ["attach", HOSTILE],
    ["attach", HOSTILE + ".jsonl"],
    ["export", HOSTILE, "--csv", "-"],
    ["export", HOSTILE],
    ["export", "machine", "--hours", HOSTILE, "--csv", "-"],
    ["verify", HOSTILE],
    ["diagnose", HOSTILE],
    ["diagnose", "--script", HOSTILE],
    ["diagnose", "--script", "text.txt", "--input", HOSTILE],
    ["estimate", HOSTILE],
    ["estimate", "text.txt", "--encoding", HOSTILE],
    ["doctor", HOSTILE],
    ["record", HOSTILE],
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("Some words to make tokens of.\n" * 100)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command).replace(HOSTILE, "X"))
def test_a_hostile_word_is_shown_and_not_obeyed(command: list[str]) -> None:
    _, text = on_terminal(*command)
    assert obeyed(text) == set()
    assert "Traceback" not in text
    assert "unexpected error" not in text


@pytest.mark.parametrize("name", [HOSTILE, "--help", "-", "$(touch ran)", ";touch ran", "a b"], ids=ascii)
def test_a_file_of_any_name_is_just_a_file(name: str, place: Path) -> None:
    folder = place / ("in" + name.replace("/", ""))
    folder.mkdir()
    source = os.path.join(folder, name)
    os.rename("text.txt", source)
    code, text = on_terminal("run", "tokenize", source, "--out", folder / "out")
    assert code == 0, text
    for command in (["verify", folder / "out"], ["estimate", source], ["runs"], ["diagnose", "last"]):
        _, more = on_terminal(*command)
        text += more
    assert obeyed(text) - {"\r"} == set()  # A progress line goes back to its start.
    assert "unexpected error" not in text
    assert not (place / "ran").exists()


def test_a_job_with_a_hostile_name_and_output_is_told_of_harmlessly(place: Path) -> None:
    program = place / HOSTILE
    program.write_text("#!/bin/sh\nsleep 1.2\n")
    program.chmod(0o755)
    assert memwatch("run", "--ui", "none", "--", program).code == 0
    for command in (["runs"], ["diagnose", "last", "--show-commands"], ["export", "last", "--csv", "-"],
                    ["export", "last", "--json", "-", "--show-commands"],
                    ["export", "last", "--html", "-", "--show-commands"]):  # fmt: skip
        _, text = on_terminal(*command)
        assert obeyed(text) == set(), command
        assert "unexpected error" not in text


def test_what_a_job_writes_is_shown_and_not_obeyed_by_those_who_attach(place: Path) -> None:
    journal = place / "run.jsonl"
    script = r"while ! [ -e go ]; do printf 'word\033[31m\007\n'; sleep 0.1; done"
    with Watched("sh", "-c", script, record=str(journal), captures_output=True) as watched:
        watched.event("start")
        watched.event("sample")
        command = [sys.executable, "-m", "memwatch", "attach", "--ui", "plain", str(journal)]
        attached = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert attached.stdout is not None
        line = next(line for line in attached.stdout if "word" in line)
        assert line == "word\\x1b[31m\\x07\n"
        (place / "go").touch()
        attached.communicate(timeout=HANG_S)
