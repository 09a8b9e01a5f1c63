"""What a newcomer types first, and gets wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import HANG_S, error_of, memwatch


def test_without_a_word_it_tells_what_there_is() -> None:
    done = memwatch()
    assert done.code == 2
    assert done.err.startswith("Usage: memwatch")
    assert "\n  estimate  Estimate tokens" in done.err


@pytest.mark.parametrize("option", ["--reserve", "--ui=plain"])
def test_an_option_of_run_belongs_before_tokenize(option: str) -> None:
    done = memwatch("run", "tokenize", "text.txt", option, "1G")
    assert done.code == 2
    assert f"put {option} before tokenize" in error_of(done)


def test_shards_of_a_few_tokens_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("some text\n")
    done = memwatch("run", "--ui", "none", "tokenize", tmp_path / "text.txt", "--mode", "shard", "--shard-tokens", "1")
    assert done.code == 2
    assert "at least 10000 tokens" in error_of(done)


@pytest.mark.parametrize("command", [("export", "--csv", "-"), ("diagnose",)])
def test_a_file_that_is_no_journal_is_refused(command: tuple[str, ...], tmp_path: Path) -> None:
    name, *options = command
    (tmp_path / "notes.txt").write_text("# Notes\n\nno journal at all\n")
    done = memwatch(name, tmp_path / "notes.txt", *options)
    assert done.code == 1
    assert "is not a journal" in error_of(done)


def test_a_full_disk_below_the_output_is_told_in_a_sentence() -> None:
    command = [sys.executable, "-m", "memwatch", "doctor"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG_S)
    assert "No space left on device" in done.stderr
    assert "unexpected" not in done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("tokenize", "my text.txt"), "memwatch run tokenize 'my text.txt'"),
        (("tokenise", "x"), "memwatch run tokenize x"),
        (("run", "tokenise", "x"), "memwatch run tokenize x"),
        (("diagnos", "last"), "memwatch diagnose last"),
        (("sh", "-c", "true"), "memwatch run -- sh -c true"),
        (("no-such-thing",), "memwatch --help"),
    ],
)
def test_a_command_that_does_not_exist_is_answered_with_what_was_meant(words: tuple[str, ...], meant: str) -> None:
    done = memwatch(*words)
    assert done.code == 2
    assert meant in error_of(done)


def test_a_theme_that_does_not_exist_is_refused_before_the_job_starts(tmp_path: Path) -> None:
    done = memwatch("run", "--theme", "nosuch", "--", "touch", tmp_path / "started")
    assert done.code == 2
    assert "there is no theme 'nosuch'; choose dark, light, ansi or one of:" in done.err
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(("--help",), 0, "Usage: memwatch run tokenize", id="help"),
        pytest.param((), 2, "Missing argument", id="no input"),
        pytest.param(("text.txt", "--mode", "wild"), 2, "Invalid value for '--mode'", id="a bad value"),
        pytest.param(("text.txt", "--no-such-option"), 2, "No such option", id="an unknown option"),
    ],
)
def test_help_and_usage_errors_of_tokenize_are_no_runs(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = memwatch("run", "tokenize", *words)
    assert done.code == code
    assert said in done.out + done.err
    assert memwatch("runs").out.startswith("no runs yet")
