"""Import walls: what must not be loaded where."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXTRAS = {"obstore", "pyarrow", "ray"}
HEAVY = {"numpy", "textual", "tiktoken", "gigatoken", "psutil", "pynvml", "requests"} | EXTRAS


def _loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import memwatch", id="memwatch"),
        pytest.param("import memwatch.job", id="the job API"),
        pytest.param(
            "import importlib\nfrom memwatch.cli.commands import COMMANDS\n"
            "for name in COMMANDS: importlib.import_module(f'memwatch.cli.{name}')",
            id="all commands",
        ),
        pytest.param("import memwatch.cli.record, memwatch.cli.export, memwatch.report.page", id="record and export"),
        pytest.param("sys.argv = ['memwatch', '--help']; import memwatch.cli; memwatch.cli.main()", id="--help"),
        pytest.param(
            "import memwatch.cli.diagnose, memwatch.diagnose.collect.all_evidence, memwatch.cli.script", id="diagnose"
        ),
        pytest.param("import memwatch.tokenize.command", id="the coordinator, which is to stay small"),
        pytest.param("import memwatch.guard.__main__, memwatch.guard.loop", id="the guard"),
        pytest.param("import memwatch.probe.machine, memwatch.journal.writer", id="what the guard reads and writes"),
    ],
)
def test_nothing_heavy_is_loaded_by(code: str) -> None:
    assert _loaded_by(code) & HEAVY == set()


def test_no_extra_is_loaded_by_runs_that_do_not_need_it(tmp_path: Path) -> None:
    """Ranks on a shared folder need neither a bucket nor Ray; nor does importing what runs on Ray."""
    (tmp_path / "text.txt").write_text("Some words. " * 1000)
    run = (
        "import memwatch.cluster.ray_run, memwatch.cluster.ray_task, memwatch.cluster.run_diagnosis\n"
        "from memwatch.cluster.rank_command import RANK_COMMAND\n"
        f"RANK_COMMAND.main([{str(tmp_path / 'text.txt')!r}, '--shard-by', 'segment'], standalone_mode=False)"
    )
    assert _loaded_by(run) & EXTRAS == set()
    assert (tmp_path / "manifest.json").exists()


def test_the_recorder_loads_no_more_than_it_must() -> None:
    """It runs all day, in 20 MiB: nothing heavy, and none of what only a command line or a reader needs."""
    loaded = _loaded_by("import memwatch.recorder.__main__")
    assert loaded & (HEAVY | {"click", "gzip", "pathlib", "csv", "html"}) == set()


def test_the_job_does_not_wait_for_dataclasses_to_be_loaded() -> None:
    """They bring in `inspect`, which takes as long as Python itself to load; before the job starts, tuples will do."""
    assert _loaded_by("import memwatch.guard.__main__") & {"dataclasses", "inspect"} == set()


@pytest.mark.parametrize(
    ("folder", "apart_from"),
    [
        pytest.param("memwatch.tui.model", {"rich", "textual"}, id="what there is to see"),
        pytest.param("memwatch.tui.draw", {"textual"}, id="how it looks"),
    ],
)
def test_the_screen_is_thought_out_without_textual(folder: str, apart_from: set[str]) -> None:
    code = (
        f"import pkgutil, importlib, {folder} as folder\n"
        "for found in pkgutil.iter_modules(folder.__path__): importlib.import_module(f'{folder.__name__}.{found.name}')"
    )
    assert _loaded_by(code) & apart_from == set()


def test_a_screen_is_started_without_textual_so_that_the_job_need_not_wait_for_it() -> None:
    assert "textual" not in _loaded_by("import memwatch.tui.full_screen")


def test_no_two_modules_and_no_two_public_classes_share_a_name() -> None:
    """Whoever searches for a name finds one thing."""
    modules = [path for path in (ROOT / "memwatch").rglob("*.py") if not path.stem.startswith("__")]
    of_rooms = [path.stem for path in modules if path.parent.name != "cli"]  # A command is named like its room.
    classes = re.findall(r"^class ([A-Z]\w*)", "\n".join(path.read_text() for path in modules), re.MULTILINE)
    twice = [name for names in (of_rooms, classes) for name, count in Counter(names).items() if count > 1]
    assert twice == []
