"""memwatch diagnose --script --fix: the copy beside the script, the difference, and the proof."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import Finished, error_of, memwatch

SCRIPT = """
import numpy as np

def encode(text):
    return [sum(map(ord, word)) % 50000 for word in text.split()]

tokens = []
with open("corpus.txt") as f:
    for line in f:
        tokens.extend(encode(line))
arr = np.array(tokens, dtype=np.uint16)
arr.tofile("train.bin")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prepare.py").write_text(SCRIPT)
    (tmp_path / "corpus.txt").write_text("".join(f"a{n} bc{n % 77} def{n % 13} gh\n" for n in range(50_000)))
    return tmp_path


def fix(folder: Path, *more: str) -> Finished:
    return memwatch("diagnose", "--script", folder / "prepare.py", "--input", folder / "corpus.txt", "--fix", *more)


def written(folder: Path, script: str) -> str:
    subprocess.run([sys.executable, script], cwd=folder, check=True)
    return hashlib.sha256((folder / "train.bin").read_bytes()).hexdigest()


def test_the_copy_writes_the_same_bytes_and_the_original_stays(folder: Path) -> None:
    done = fix(folder)
    assert (done.code, done.err) == (0, "")
    assert '+tokens = _TokenFile("train.bin", np.uint16)' in done.out
    assert "same bytes in train.bin" in done.out
    assert (folder / "prepare.py").read_text() == SCRIPT
    assert sorted(path.name for path in folder.iterdir()) == ["corpus.txt", "prepare.py", "prepare_streamed.py"]
    assert written(folder, "prepare_streamed.py") == written(folder, "prepare.py")


def test_an_existing_copy_is_not_replaced(folder: Path) -> None:
    (folder / "prepare_streamed.py").write_text("mine")
    done = fix(folder)
    assert done.code == 1
    assert "exists already" in error_of(done)
    assert (folder / "prepare_streamed.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("tokens.extend(encode(line))", "tokens.extend(encode(missing))"), "fails on a sample"),
        (("arr.tofile", "print(arr[0]); arr.tofile"), "uses arr as a whole"),
        (('"train.bin"', '"/tmp/elsewhere/train.bin"'), "a trial run must not touch"),
        (('open("corpus.txt")', "open(input())"), "cannot be run on a sample"),
        (("np.uint16)", "np.uint16 if len(tokens) % 2 else np.uint32)"), "line"),
    ],
)
def test_where_it_is_not_sure_it_says_why(folder: Path, change: tuple[str, str], reason: str) -> None:
    script = folder / "prepare.py"
    script.write_text(SCRIPT.replace(*change))
    done = fix(folder)
    assert done.code == 1
    assert reason in error_of(done)
    assert not (folder / "prepare_streamed.py").exists()


def test_an_input_is_needed(folder: Path) -> None:
    done = memwatch("diagnose", "--script", folder / "prepare.py", "--fix")
    assert done.code == 2
    assert "--input" in error_of(done)


def test_the_help_says_that_the_script_is_run() -> None:
    assert "runs the script and the copy on a sample" in " ".join(memwatch("diagnose", "--help").out.split())


def test_what_the_proof_itself_holds_is_not_taken_for_the_scripts_memory(folder: Path) -> None:
    """A token for each byte: output of twice the sample, which the proof compared in memory."""
    script = SCRIPT.replace("[sum(map(ord, word)) % 50000 for word in text.split()]", "list(text.encode())")
    (folder / "prepare.py").write_text(script)
    done = fix(folder)
    assert (done.code, done.err) == (0, "")
    assert "same bytes in train.bin" in done.out
