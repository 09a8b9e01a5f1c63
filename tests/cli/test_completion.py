"""The shell completes commands, the tokenizer's options and run ids, as click's script for bash asks for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import HANG_S

RUNS = ("20261116-053012-12345", "20261117-101500-4242")


def completed(line: str, tmp_path: Path) -> list[str]:
    """What Tab offers at the end of `line`; a file name that the shell completes itself is <file>."""
    runs = tmp_path / "memwatch" / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for run in RUNS:
        (runs / f"{run}.jsonl").touch()
    environment = os.environ | {
        "_MEMWATCH_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "XDG_STATE_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "memwatch"], env=environment, capture_output=True, text=True, timeout=HANG_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    offered = [answer.partition(",") for answer in done.stdout.splitlines() if answer]
    return [f"<{kind}>" if kind != "plain" else word for kind, _, word in offered]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        pytest.param("memwatch est", ["estimate"], id="a-command"),
        pytest.param("memwatch run t", ["tokenize"], id="the-job"),
        pytest.param("memwatch run --ui plain t", ["tokenize"], id="the-job-after-options"),
        pytest.param("memwatch run --ui p", ["plain"], id="a-choice-of-run"),
        pytest.param("memwatch run tokenize --shard-t", ["--shard-tokens"], id="an-option-of-the-tokenizer"),
        pytest.param("memwatch run tokenize a.txt --mo", ["--mode"], id="an-option-after-an-input"),
        pytest.param("memwatch run tokenize a.txt --mode s", ["stream", "shard"], id="a-choice-of-the-tokenizer"),
        pytest.param("memwatch run tokenize a.txt --documents bl", ["blank"], id="a-word-among-free-values"),
        pytest.param("memwatch run tokenize a", ["<file>"], id="an-input"),
        pytest.param("memwatch run tokenize --out a", ["<file>"], id="a-folder"),
        pytest.param("memwatch run -- python a", ["<file>"], id="another-command"),
        pytest.param("memwatch run -- python --x", ["<file>"], id="an-option-of-another-command"),
        pytest.param("memwatch estimate a", ["<file>"], id="an-input-to-estimate"),
        pytest.param("memwatch verify . --input a", ["<file>"], id="an-input-to-verify"),
        pytest.param("memwatch diagnose 20261117", [RUNS[1]], id="a-run"),
        pytest.param("memwatch attach ", ["last", *reversed(RUNS)], id="all-runs"),
        pytest.param("memwatch replay m", ["machine"], id="the-machines-record"),
        pytest.param("memwatch export --columns l", ["last"], id="an-option-that-prints"),
        pytest.param("memwatch nosuch x", [], id="no-such-command"),
    ],
)
def test_tab_completes(line: str, offered: list[str], tmp_path: Path) -> None:
    assert completed(line, tmp_path) == offered


def test_tab_offers_all_commands(tmp_path: Path) -> None:
    from memwatch.cli.commands import COMMANDS

    assert completed("memwatch ", tmp_path) == list(COMMANDS)


def test_tab_offers_only_the_tokenizers_options_after_its_name(tmp_path: Path) -> None:
    offered = completed("memwatch run tokenize --", tmp_path)
    assert {"--val-ratio", "--force", "--help"} <= set(offered)
    assert "--reserve" not in offered
    assert "--block-size" not in offered  # It is hidden from help, too.


def test_a_state_folder_that_cannot_be_read_offers_no_runs(tmp_path: Path) -> None:
    (tmp_path / "memwatch").write_text("a file where the folder should be")
    environment = os.environ | {
        "_MEMWATCH_COMPLETE": "bash_complete",
        "COMP_WORDS": "memwatch replay ",
        "COMP_CWORD": "2",
        "XDG_STATE_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "memwatch"], env=environment, capture_output=True, text=True, timeout=HANG_S
    )
    assert (done.stdout.split(), done.stderr) == (["plain,last", "plain,machine"], "")
