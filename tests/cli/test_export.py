"""memwatch export, as a user sees it."""

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from memwatch.cli.export import export
from memwatch.command_line import invoke
from memwatch.journal.events import encode
from memwatch.journal.machine_record import MachineLog
from memwatch.journal.run_export import COLUMNS
from memwatch.journal.writer import Journal
from tests.helpers import HANG_S, error_of, memwatch
from tests.journal.examples import as_nobody, sample, whole_run
from tests.report.examples import freeze


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(encode, freeze())))
    return path


def test_all_three_at_once(run: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("out.csv", "out.json", "out.html")]
    done = memwatch("export", run, "--csv", files[0], "--json", files[1], "--html", files[2])
    assert (done.code, done.out, done.err) == (0, "", "")
    events = json.loads(files[1].read_text())["events"]
    samples = [event for event in events if event["event"] == "sample"]
    with files[0].open() as file:
        assert len(list(csv.DictReader(file))) == len(samples)
    assert files[2].read_text().count("<svg") == 6
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.html", "out.json", "run.jsonl"]


def test_command_lines_are_told_only_when_asked_for(run: Path) -> None:
    for kind in ("--csv", "--json", "--html"):
        assert "hf_SECRET" not in memwatch("export", run, kind, "-").out
    assert "hf_SECRET" in memwatch("export", run, "--json", "-", "--show-commands").out


def test_json_with_commands_has_every_event_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    whole_run(path)
    told = json.loads(memwatch("export", path, "--json", "-", "--show-commands").out)
    assert told == {"schema": 1, "events": [json.loads(line) for line in path.read_text().splitlines()]}
    without = json.loads(memwatch("export", path, "--json", "-").out)["events"]
    assert [event["event"] for event in without] == [event["event"] for event in told["events"]]
    assert "loss 2.31" not in json.dumps(without)


def test_the_last_run_has_a_name() -> None:
    journal = Journal.open(None, ["true"])
    journal.start({}, {})
    journal.sample(sample())
    journal.exit(0, None, None)
    journal.close()
    assert len(memwatch("export", "last", "--csv", "-").out.splitlines()) == 2
    assert len(memwatch("export", journal.run_id, "--csv", "-").out.splitlines()) == 2


def test_the_machines_record_can_be_exported() -> None:
    log = MachineLog(["memwatch", "record"], {})
    log.journal.sample(replace(sample(), job=()))
    log.close()
    assert len(memwatch("export", "machine", "--csv", "-").out.splitlines()) == 2
    assert "This machine" in memwatch("export", "machine", "--html", "-").out
    late = memwatch("export", "machine", "--hours", "1", "--csv", "-")
    assert len(late.out.splitlines()) == 1  # The sample is of 1970.


def test_a_terminal_that_knows_only_ascii_gets_utf8_all_the_same(run: Path) -> None:
    command = [sys.executable, "-m", "memwatch", "export", str(run), "--html", "-"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, timeout=HANG_S, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "·" in done.stdout.decode()


def test_where_nothing_was_recorded_that_is_said() -> None:
    assert "nothing was recorded" in error_of(memwatch("export", "machine", "--csv", "-"))


def test_the_columns_are_told_with_what_they_mean() -> None:
    lines = memwatch("export", "--columns").out.splitlines()
    assert [line.split()[0] for line in lines] == list(COLUMNS)
    assert all(len(line.split()) > 1 for line in lines)


@pytest.mark.parametrize("name", ["machine", "run.jsonl"])
def test_what_one_may_not_read_is_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with TemporaryDirectory() as folder:  # pytest's own can be entered by nobody else.
        os.chmod(folder, 0o755)
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        MachineLog(["memwatch", "record"], {}).close()
        os.chmod(f"{folder}/memwatch", 0o755)
        secret = Path(folder) / "run.jsonl"
        secret.touch(mode=0o600)
        with as_nobody():
            assert invoke(export, "memwatch export", [name if name == "machine" else str(secret), "--csv", "-"]) == 1
    assert re.match(r"memwatch: cannot read /.*: Permission denied\n$", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["last"], "an output is missing"),
        (["last", "--csv", "-", "--json", "-"], "only one of"),
        (["last", "--csv", "-", "--hours", "2"], "--hours is for the machine's record"),
        (["last", "--csv", "-"], "no runs yet"),
        (["nowhere.jsonl", "--csv", "-"], "is not a journal"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(arguments: list[str], sentence: str) -> None:
    done = memwatch("export", *arguments)
    assert done.code in (1, 2)
    assert sentence in error_of(done)
    assert done.out == ""


def test_a_torn_journal_is_exported_as_far_as_it_goes(run: Path) -> None:
    whole = run.read_bytes()
    run.write_bytes(whole[: len(whole) // 2] + b"\0" * 300 + b'\n{"t":')
    for kind in ("--csv", "--json", "--html"):
        assert memwatch("export", run, kind, "-").code == 0


def test_a_reader_who_has_had_enough_is_no_error_of_ours(run: Path) -> None:
    line = f"{sys.executable} -m memwatch export {run} --csv - | head -1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=HANG_S)
    assert done.stdout.startswith("time_utc,")
    assert done.stderr == ""


def test_a_huge_journal_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    small, huge = tmp_path / "small.jsonl", tmp_path / "huge.jsonl"
    line = encode({"t": 1.0, "event": "sample", "job_bytes": 1, "clock_s": 1.0, "memory": None, "note": "x" * 4000})
    small.write_bytes(line * 10)
    huge.write_bytes(line * 10_000)
    peaks = {}
    for path in (small, huge):
        script = (
            "import resource, sys\nfrom memwatch.command_line import invoke\nfrom memwatch.cli.export import export\n"
            f"code = invoke(export, 'export', [{str(path)!r}, '--csv', '/dev/null', '--json', '/dev/null'])\n"
            "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG_S, check=True
        )
        code, peaks[path] = map(int, done.stdout.split())
        assert code == 0
    assert peaks[huge] < peaks[small] + 4096
