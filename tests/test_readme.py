"""The README is true: its commands run, end as it says, and print what it shows, as far as that is the same everywhere.

In the README, a line before a block may say more about it, where only this test reads it:

    <!-- test: not run, WHY -->          the block is left out
    <!-- test: NAME.py -->               the block is this file, which later blocks use
    <!-- test: exit 3, in 768 MiB -->    how its last command ends, and the memory it is limited to
"""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memwatch.cli.commands import COMMANDS
from tests.cage import Cage, cage, can_cage
from tests.helpers import HANG_S, memwatch

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(
    r"(?:<!-- test: (?P<said>.*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
MIB = 1 << 20
REST_IS_LEFT_OUT = "..."  # as the last line that the README shows of an output


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    said: str

    @property
    def is_run(self) -> bool:
        return self.language == "console" and not self.said.startswith("not run")

    @property
    def file(self) -> str | None:
        return self.said if self.said.endswith(".py") else None

    @property
    def exit_code(self) -> int:
        found = re.search(r"exit (\d+)", self.said)
        return int(found[1]) if found else 0

    @property
    def memory_bytes(self) -> int | None:
        found = re.search(r"in (\d+) MiB", self.said)
        return int(found[1]) * MIB if found else None

    def commands(self) -> list[tuple[str, list[str]]]:
        """Each with the lines it is said to print."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return found


BLOCKS = [Block(found["language"], found["text"], found["said"] or "") for found in BLOCK.finditer(README)]
COMMAND_BLOCKS = [block for block in BLOCKS if block.is_run]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, real_text: Path) -> Iterator[Path]:
    """What the README names is there, and small; what memwatch and tiktoken keep is kept here."""
    folder = tmp_path_factory.mktemp("readme")
    text = real_text.read_bytes()
    (folder / "recipes").symlink_to(ROOT / "recipes")
    (folder / "text.txt").write_bytes(text * 12)
    (folder / "book.txt").write_bytes(text)
    (folder / "pages.gz").write_bytes(gzip.compress(text, 1))
    documents = text.decode().split("\n\n\n")
    lines = "".join(json.dumps({"text": document}) + "\n" for document in documents)
    (folder / "docs.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 1))
    (folder / "fineweb").mkdir()
    pq.write_table(pa.table({"text": documents}), folder / "fineweb" / "000.parquet")
    for block in BLOCKS:
        if block.file:
            (folder / block.file).write_text(block.text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder / "tiktoken"))  # Empty: no command needs a download.
        patch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
        patch.setenv("COLUMNS", "110")
        yield folder


def heads(lines: list[str]) -> list[str]:
    """What output looks like whatever the machine and the data: the first word of each line, numbers aside.

    Progress lines, which begin with a share, come as often as they like.
    """
    words = [line.split()[0] for line in lines if line.strip() and not line.startswith(" ")]
    return [re.sub(r"\d[\d.,:]*", "#", word) for word in words]


def said_by_memwatch(lines: list[str]) -> set[str]:
    """'paused', 'stopped' and the like. Memory may be short here anyway, so more may be said than is shown; on a fast
    machine there is no time for a warning; and the symbol is there only on the full screen."""
    return {line.split()[1] for line in lines if line.startswith("memwatch: ")} - {"WARN", "✓"}


def _run(command: str, folder: Path, within: Cage | None) -> subprocess.CompletedProcess[str]:
    command = command.replace("--mib 190", "--mib 12")  # The quick tests have no time for more.
    words = ["bash", "-c", f"set -o pipefail; {command}"]
    words = words if within is None else within.command(*words)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=2 * HANG_S)


@pytest.mark.parametrize("block", COMMAND_BLOCKS, ids=[block.commands()[0][0] for block in COMMAND_BLOCKS])
def test_the_commands_of_the_readme_do_what_it_says(block: Block, folder: Path) -> None:
    if block.memory_bytes is not None and not can_cage:
        pytest.skip("needs a memory cgroup to be short of memory in")
    with ExitStack() as stack:
        within = None if block.memory_bytes is None else stack.enter_context(cage(block.memory_bytes))
        commands = block.commands()
        for command, shown in commands:
            done = _run(command, folder, within)
            is_last = command == commands[-1][0]
            assert done.returncode == (block.exit_code if is_last else 0), done.stdout + done.stderr
            assert "Traceback" not in done.stderr
            assert said_by_memwatch(done.stderr.splitlines()) >= said_by_memwatch(shown), done.stderr
            if printed := [line for line in shown if not line.startswith("memwatch: ")]:
                found = heads(done.stdout.splitlines())
                if printed[-1] == REST_IS_LEFT_OUT:
                    printed.pop()
                    found = found[: len(heads(printed))]
                assert found == heads(printed), done.stdout


def test_what_is_not_run_says_why() -> None:
    left_out = [block for block in BLOCKS if block.language == "console" and not block.is_run]
    assert all(re.fullmatch(r"not run, \w.+", block.said) for block in left_out)
    assert len(left_out) <= 3


def test_scripts_of_the_readme_are_files_of_this_test() -> None:
    assert all(block.file for block in BLOCKS if block.language == "python")


def test_the_readme_and_help_know_the_same_commands() -> None:
    table = README.partition("## All commands")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `memwatch (\w+)", table, re.MULTILINE))
    helped = set(re.findall(r"^  (\w+)  ", memwatch("--help").out.partition("Commands:")[2], re.MULTILINE))
    assert named == helped == set(COMMANDS)


def test_options_named_in_the_readme_exist() -> None:
    known = {"--version", "--help"}
    for command in [*([name] for name in COMMANDS), ["run", "tokenize"]]:
        known |= set(re.findall(r"--[a-z][a-z-]+", memwatch(*command, "--help").out))
    prose = re.sub(r"```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    named = {option for code in re.findall(r"`([^`\n]+)`", prose) for option in re.findall(r"--[a-z][a-z-]+", code)}
    assert named - known == set()


def test_words_of_memwatch_are_explained_once() -> None:
    for word in ("Headroom", "Reserve", "PSI", "Shard", "Scope"):
        assert len(re.findall(rf"^- \*\*{word}\*\*.*: .+$", README, re.MULTILINE)) == 1, word


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_shell_completion_prints_a_script(shell: str) -> None:
    """What the README tells people to put into their shell's start-up file. bash is not asked for its version here."""
    line = f"_MEMWATCH_COMPLETE={shell}_source memwatch"
    assert line in README
    environment = os.environ | {f"{line.partition('=')[0]}": f"{shell}_source"}
    done = subprocess.run([sys.executable, "-m", "memwatch"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "_memwatch_completion" in done.stdout


def test_figures_of_the_readme_stand_in_the_results() -> None:
    results = (ROOT / "tests" / "benchmarks" / "results.md").read_text()
    measured = set(re.findall(r"\d[\d.,]*", results))
    quoted = re.search(r"<!-- figures: begin.*?-->\n(.*?)<!-- figures: end -->", README, re.DOTALL)
    assert quoted is not None
    assert set(re.findall(r"\d[\d.,]*", quoted[1])) - measured - {"2"} == set()


def test_what_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    here = [link for link in links if "://" not in link]
    assert [link for link in here if not (ROOT / link).exists()] == []
