"""memwatch runs, as a user sees it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from memwatch.cli.runs import runs, table
from memwatch.command_line import invoke
from memwatch.journal.run_list import RunInfo, list_runs
from memwatch.journal.writer import Journal
from tests.helpers import Finished, memwatch
from tests.journal.examples import as_nobody, sample, started


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def ended(command: list[str], code: int | None, signal_number: int | None = None, by: str | None = None) -> Journal:
    journal = Journal.open(None, command)
    journal.start({}, {"scope": None})
    journal.sample(sample(job_bytes=3 << 30))
    journal.verdict("warn", "RAM is full soon", 9.0)
    journal.exit(code, signal_number, by)
    journal.close()
    return journal


def rows(finished: Finished) -> list[list[str]]:
    return [line.split() for line in finished.out.splitlines()[1:]]


def test_an_empty_list_says_so(state_home: Path) -> None:
    done = memwatch("runs")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("no runs yet")
    assert list(state_home.iterdir()) == []
    assert json.loads(memwatch("runs", "--json").out)["runs"] == []


def test_runs_are_a_table_with_the_newest_last() -> None:
    journals = [
        ended(["true"], 0),
        ended(["false"], 1),
        ended(["hog"], 124, 15, "guard"),
        ended(["python", "train.py"], None, signal.SIGKILL),
        started(None),
    ]
    done = memwatch("runs")
    assert done.code == 0
    assert [row[0] for row in rows(done)] == [journal.run_id for journal in journals]
    states = ["done", "failed", "stopped", "killed", "running"]
    assert [next(word for word in row if word in states) for row in rows(done)] == states
    assert "3.0 GiB" in done.out.splitlines()[1]
    assert done.out.splitlines()[4].endswith("python train.py")
    journals[-1].close()


def test_a_run_that_is_paused_is_not_called_running() -> None:
    journal = started(None)
    journal.action("pause", [7], "guard", "done")
    (run,) = json.loads(memwatch("runs", "--json").out)["runs"]
    assert (run["state"], run["ended_t"]) == ("paused", None)
    journal.action("resume", [], "user", "no process was left")
    assert json.loads(memwatch("runs", "--json").out)["runs"][0]["state"] == "paused"
    journal.action("resume", [7], "guard", "done", brief=True)
    assert json.loads(memwatch("runs", "--json").out)["runs"][0]["state"] == "paused", "it is only tried"
    journal.action("resume", [7], "user", "done")
    assert json.loads(memwatch("runs", "--json").out)["runs"][0]["state"] == "running"
    journal.close()


def test_a_run_whose_guard_was_killed_has_died() -> None:
    script = (
        "from tests.journal.examples import *\n"
        "journal = started(None)\nfor t in range(1000, 1003): journal.sample(sample(float(t)))\n"
        "print(journal.run_id, flush=True)\ninput()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as guard:
        assert guard.stdout is not None
        run_id = guard.stdout.readline().decode().strip()
        (run,) = json.loads(memwatch("runs", "--json").out)["runs"]
        assert (run["run"], run["state"]) == (run_id, "running")
        guard.kill()
    (run,) = json.loads(memwatch("runs", "--json").out)["runs"]
    assert (run["state"], run["ended_t"], run["exit_code"]) == ("died", 1002.0, None)
    assert run["peak_job_bytes"] == 100 << 20


def test_json_has_everything() -> None:
    journal = ended(["a", "b c"], 124, 15, "guard")
    (run,) = json.loads(memwatch("runs", "--json").out)["runs"]
    assert run["run"] == journal.run_id
    assert run["command"] == ["a", "b c"]
    assert (run["state"], run["exit_code"], run["signal"], run["by"]) == ("stopped", 124, 15, "guard")
    assert (run["peak_job_bytes"], run["worst_level"], run["path"]) == (3 << 30, "warn", journal.path)
    assert run["containment"] == {"scope": None}


def test_nothing_foreign_reaches_the_terminal(state_home: Path) -> None:
    ended(["\x1b[31mred\x1b[0m", "a\nb\r", os.fsdecode(b"\xff")], 0)
    (state_home / "memwatch" / "runs" / "\x1b]0;title\x07.jsonl").write_text(
        '{"t":1e308,"event":"start","command":["\\u001b[2J"]}\n{"t":1,"event":"action","action":"\\u001b[5m"}\n'
    )
    done = memwatch("runs")
    assert done.code == 0
    assert len(done.out.splitlines()) == 3
    assert all(character.isprintable() or character == "\n" for character in done.out)


def test_on_a_terminal_a_run_is_one_line(tmp_path: Path) -> None:
    journal = ended(["word"] * 1000, 0)
    run = RunInfo.read(Path(journal.path or ""))
    assert max(map(len, table([run], 0.0, 80))) == 80
    assert table([run], 0.0, None)[1].endswith("word word")


def test_a_journal_that_cannot_be_read_is_named_and_the_others_are_shown(
    state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(["true"], 0)
    hidden = state_home / "memwatch" / "runs" / "hidden.jsonl"
    hidden.write_text("")
    read = RunInfo.read

    def refuse(path: Path) -> RunInfo:
        if path == hidden:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(RunInfo, "read", refuse)
    result = CliRunner().invoke(runs, standalone_mode=False)
    assert result.return_value == 1
    assert "hidden.jsonl: Permission denied" in result.output
    assert "true" in result.output


def test_a_folder_one_may_not_look_into_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "memwatch" / "runs").mkdir(parents=True)
        os.chmod(folder, 0o755)
        os.chmod(f"{folder}/memwatch", 0o700)
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        with as_nobody():
            assert invoke(runs, "memwatch runs", []) == 1
    assert capsys.readouterr().err == f"memwatch: cannot read {folder}/memwatch/runs: Permission denied\n"


def test_a_narrow_terminal_still_shows_what_was_run() -> None:
    ended(["python", "train.py", "--epochs", "3"], 0)
    found, _ = list_runs()
    for width in (80, 100, 200):
        lines = table(found, 0.0, width)
        assert all(len(line) <= width for line in lines)
        assert "python train.py --epochs" in lines[1]
    assert "STARTED" in table(found, 0.0, None)[0]


def test_the_peak_of_a_short_run_is_known() -> None:
    taking = "held = b'x' * (150 << 20)"
    assert memwatch("run", "--ui", "none", "--", sys.executable, "-c", taking).code == 0
    (run,) = json.loads(memwatch("runs", "--json").out)["runs"]
    assert run["peak_job_bytes"] > 150 << 20


def test_a_run_begins_when_its_job_does(tmp_path: Path) -> None:
    done = memwatch("run", "--ui", "none", "--", "date", "+%s.%N")
    (run,) = json.loads(memwatch("runs", "--json").out)["runs"]
    assert run["started_t"] <= float(done.out)


def test_a_confined_run_says_how_it_goes_on() -> None:
    words = "confined to 450.0 MiB: 1.2 GiB in swap"
    journal = Journal.open(None, ["python", "train.py"])
    journal.start({}, {"scope": None})
    journal.sample(sample(job_bytes=3 << 30))
    journal.action("confine", [1], "guard", "done", None, reason="full")
    journal.verdict("watch", words, None, confined_bytes=450 << 20)
    (line,) = memwatch("runs").out.splitlines()[1:]
    assert " confined " in line
    assert "confine:1" in line
    assert line.endswith(f"python train.py ({words})")
    journal.exit(0, None, None)
    journal.close()
    (found,) = json.loads(memwatch("runs", "--json").out)["runs"]
    assert (found["state"], found["confined"]) == ("done", words)
