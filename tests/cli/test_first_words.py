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
    assert "\n  estimate  Tell tokens" in done.err


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
