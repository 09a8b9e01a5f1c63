"""What is written, what is left out, and what happens when nothing can be written."""

import json
import os
import stat
import subprocess
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from memwatch.journal.events import MOST_COMMAND_CHARACTERS, MOST_OUTPUT_CHARACTERS, MOST_PROGRESS_BYTES
from memwatch.journal.folder import state_folder
from memwatch.journal.reader import read_events
from memwatch.journal.writer import Journal
from memwatch.model.sample import Sample
from tests.helpers import HANG_S
from tests.journal.examples import as_nobody, kinds, sample, started, whole_run


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def events_of(path: Path, kind: str) -> list[dict[str, Any]]:
    return [event for event in read_events(path) if event["event"] == kind]


def test_the_start_tells_what_was_run_and_who_guards_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    whole_run(path)
    (start,) = events_of(path, "start")
    assert start["schema"] == 1
    assert start["command"] == ["python", "train.py"]
    assert start["cwd"] == os.getcwd()
    assert start["limits"] == {"reserve_bytes": 1 << 30}
    assert start["containment"] == {"scope": False}
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    assert (start["guard"]["pid"], start["guard"]["start_ticks"]) == (os.getpid(), int(ticks))


def test_the_environment_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "hush-hush-4711")
    path = tmp_path / "run.jsonl"
    whole_run(path)
    assert b"hush-hush" not in path.read_bytes()
    assert b"API_TOKEN" not in path.read_bytes()


def test_every_line_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    for count in range(1, 5):
        journal.sample(sample(1000.0 + count))
        assert len(events_of(path, "sample")) == count
    journal.close()


def test_every_line_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = os.write

    def kept(fd: int, data: bytes) -> int:
        written.append(data)
        return write(fd, data)

    monkeypatch.setattr(os, "write", kept)
    path = tmp_path / "run.jsonl"
    whole_run(path)
    assert b"".join(written) == path.read_bytes()
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in written)


def test_what_matters_is_synced_and_samples_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = threading.Event()
    fsync = os.fsync

    def noted(fd: int) -> None:
        fsync(fd)
        synced.set()

    monkeypatch.setattr(os, "fsync", noted)
    journal = started(tmp_path / "run.jsonl")

    def is_synced(write: Any, wait_s: float = 5.0) -> bool:
        synced.clear()
        write()
        return synced.wait(wait_s)

    assert synced.wait(5)
    assert is_synced(lambda: journal.verdict("warn", "soon full", 9.0, t=1.0))
    assert is_synced(lambda: journal.verdict("act", "full", 1.0, t=2.0))
    assert is_synced(lambda: journal.action("stop", [1], "guard", "sent TERM", t=3.0))
    assert not is_synced(lambda: journal.verdict("calm", "all is well", None, t=4.0), 0.05)
    assert not is_synced(lambda: journal.sample(sample()), 0.05)
    assert is_synced(lambda: journal.exit(0, None, None, t=5.0))
    journal.close()


def test_a_slow_disk_does_not_hold_up_the_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(os, "fsync", lambda fd: released.wait(30))
    began_s = time.monotonic()
    journal = started(tmp_path / "run.jsonl")
    for _ in range(10):
        journal.action("pause", [1], "guard", "stopped 1 process")
    journal.close(wait_s=0.05)
    assert time.monotonic() - began_s < 5
    released.set()


def test_the_last_sync_comes_after_the_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def slow_fsync(fd: int) -> None:
        sizes.append(os.fstat(fd).st_size)
        time.sleep(0.02)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    path = tmp_path / "run.jsonl"
    whole_run(path)
    for thread in threading.enumerate():
        if thread.name == "fsync":
            thread.join(HANG_S)  # On a busy machine `close` does not wait long enough for it.
    assert sizes[-1] == path.stat().st_size


def test_a_verdict_that_goes_on_is_written_once_a_second_and_a_change_always(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    for tenth in range(50):
        journal.verdict("watch", f"{50 - tenth}", None, t=1000 + tenth / 10)
    for level in ("warn", "act", "warn"):
        journal.verdict(level, "quick", 3.0, t=1005.0)
    journal.close()
    levels = [event["level"] for event in events_of(path, "verdict")]
    assert levels == ["watch"] * 5 + ["warn", "act", "warn"]


def test_the_last_word_of_progress_is_written_at_the_exit(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    for done in range(100):
        journal.progress({"done": done}, t=1000 + done / 100)
    journal.exit(0, None, None)
    journal.close()
    assert [event["done"] for event in events_of(path, "progress")] == [0, 50, 99]


def test_a_clock_that_is_set_back_silences_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    for t in (5000.0, 1000.0, 1001.0):
        journal.progress({"done": 1}, t=t)
        journal.verdict("calm", "all is well", None, t=t)
    journal.close()
    assert len(events_of(path, "progress")) == len(events_of(path, "verdict")) == 3


def test_for_ever_is_written_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    journal.verdict("calm", "all is well", float("inf"), more=[float("nan"), {"x": float("-inf")}])
    journal.close()
    last = json.loads(path.read_bytes().splitlines()[-1], parse_constant=pytest.fail)
    assert (last["seconds_left"], last["more"]) == (None, [None, {"x": None}])


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"done": 1, "x": "a" * 10 * MOST_PROGRESS_BYTES}, id="long"),
        pytest.param({"done": 1, "t": "never", "event": "exit"}, id="posing as something else"),
        pytest.param({"done": 1, "x": [[{}]], "y": b"", "z": object()}, id="not plain"),
        pytest.param({"done": 1, "x": "\ud800\0\n", "": 7}, id="strange characters"),
    ],
)
def test_whatever_a_job_says_becomes_one_short_progress_line(tmp_path: Path, message: dict[str, object]) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    journal.progress(message, t=1000.0)
    journal.close()
    last = path.read_bytes().splitlines()[-1]
    assert len(last) <= MOST_PROGRESS_BYTES
    event = json.loads(last)
    assert (event["t"], event["event"], event["done"]) == (1000.0, "progress", 1)


def test_a_command_line_of_megabytes_is_shortened(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "run.jsonl", ["cat", *["\N{PILE OF POO}" * 1000] * 1000])
    journal.start({}, {})
    journal.close()
    (start,) = read_events(tmp_path / "run.jsonl")
    assert start["command_shortened"] is True
    assert isinstance(start["command"], list)
    assert sum(map(len, start["command"])) <= MOST_COMMAND_CHARACTERS


def test_of_the_output_the_tail_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    journal = started(path)
    journal.output(b"\xff" * 100_000 + b"Killed")
    journal.output("x" * 100_000 + "Killed", stream="stderr")
    journal.close()
    texts = [event["text"] for event in events_of(path, "output")]
    assert all(len(text) == MOST_OUTPUT_CHARACTERS and text.endswith("Killed") for text in texts)


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    command = ["cat", os.fsdecode(b"caf\xe9")]
    journal = Journal.open(tmp_path / "run.jsonl", command)
    journal.start({}, {})
    journal.close()
    (start,) = read_events(tmp_path / "run.jsonl")
    assert start["command"] == command


class TestSizeCap:
    CAP = 200_000

    def _written(self, path: Path, samples: int) -> Journal:
        journal = started(path, cap_bytes=self.CAP)
        for count in range(samples):
            journal.sample(sample(1000.0 + count))
            journal.progress({"done": count}, t=1000.0 + count)
            if count % 500 == 0:
                journal.verdict(("calm", "watch")[count // 500 % 2], "a change", None, t=1000.0 + count)
                journal.action("warn", [], "guard", "shown", t=1000.0 + count)
        journal.exit(0, None, None)
        journal.close()
        return journal

    def test_samples_are_thinned_and_then_stop_and_the_rest_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        self._written(path, 20_000)
        every = [event.get("every", 1) for event in events_of(path, "sample")]
        assert every == sorted(every)
        assert set(every) == {1, 10, 100}
        assert len(events_of(path, "action")) == len(events_of(path, "verdict")) == 40
        assert kinds(path)[-2:] == ["progress", "exit"]
        assert path.stat().st_size < 1.5 * self.CAP

    def test_progress_goes_on_after_the_cap(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        self._written(path, 20_000)
        last_sample_t = events_of(path, "sample")[-1]["t"]
        assert len([event for event in events_of(path, "progress") if event["t"] > last_sample_t]) > 10

    def test_the_peak_is_known_even_of_samples_that_were_left_out(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        journal = started(path, cap_bytes=1)
        journal.sample(sample(job_bytes=7 << 30))
        journal.exit(0, None, None)
        journal.close()
        assert events_of(path, "sample") == []
        assert events_of(path, "exit")[0]["peak_job_bytes"] == 7 << 30

    def test_output_ends_soon_after_the_cap(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        journal = started(path, cap_bytes=1000)
        for _ in range(300):
            journal.output("x" * 8000)
        journal.close()
        assert path.stat().st_size < 1.1 * (1 << 20)


class TestWhereItGoes:
    def test_journal_and_folders_are_for_their_owner_alone(self, state_home: Path) -> None:
        os.umask(before := os.umask(0))
        os.umask(0)
        try:
            path = Path(started(None).path or "")
        finally:
            os.umask(before)
        assert path.parent == state_home / "memwatch" / "runs"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700

    def test_two_journals_of_one_moment_have_two_files(self) -> None:
        journals = [started(None) for _ in range(3)]
        for number, journal in enumerate(journals):
            journal.sample(sample(job_bytes=number + 8192))
        assert len({journal.path for journal in journals}) == 3
        ids = [journal.run_id or "" for journal in journals]
        assert sorted(ids)[0].count("-") == 2
        for number, journal in enumerate(journals):
            journal.close()
            (read,) = events_of(Path(journal.path or ""), "sample")
            assert read["job_bytes"] == number + 8192

    def test_a_job_does_not_inherit_the_journal(self, tmp_path: Path) -> None:
        journal = started(tmp_path / "run.jsonl")
        listed = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False)
        journal.close()
        assert "pipe:" in listed.stdout
        assert "run.jsonl" not in listed.stdout

    @pytest.mark.parametrize("part", ["memwatch", "memwatch/runs"])
    def test_a_symbolic_link_is_refused(self, state_home: Path, tmp_path: Path, part: str) -> None:
        (tmp_path / "elsewhere").mkdir()
        (state_home / part).parent.mkdir(parents=True)
        (state_home / part).symlink_to(tmp_path / "elsewhere")
        journal = started(None)
        assert "symbolic link" in (journal.problem or "")
        journal.exit(0, None, None)
        journal.close()
        assert list((tmp_path / "elsewhere").iterdir()) == []

    def test_a_folder_of_another_user_is_refused(self, state_home: Path) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can make a folder for another user")
        (state_home / "memwatch").mkdir(parents=True)
        os.chown(state_home / "memwatch", 12345, 12345)
        assert "belongs to another user" in (started(None).problem or "")

    def test_a_file_in_place_of_the_folder_is_refused(self, state_home: Path) -> None:
        state_home.mkdir()
        (state_home / "memwatch").write_text("hello")
        assert "is not a folder" in (started(None).problem or "")

    def test_a_relative_state_home_is_passed_over(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", "state")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert state_folder() == tmp_path / "home" / ".local" / "state" / "memwatch"

    @pytest.mark.parametrize("kind", ["file", "link", "pipe", "folder", "device"])
    def test_nothing_that_exists_is_written_into(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "run.jsonl"
        if kind == "file":
            path.write_text("precious")
        elif kind == "link":
            path.symlink_to(tmp_path / "target")
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path = Path("/dev/null")
        journal = started(path)
        assert str(path) in (journal.problem or "")
        journal.sample(sample())
        journal.close()
        assert kind != "file" or path.read_text() == "precious"
        assert not (tmp_path / "target").exists()

    def test_an_empty_file_made_beforehand_is_fine(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        path.touch()
        whole_run(path)
        assert kinds(path)[-1] == "exit"


class TestTrouble:
    def _goes_on(self, journal: Journal) -> None:
        journal.sample(Sample(1.0, 1.0, None))
        journal.verdict("warn", "soon full", 9.0)
        journal.exit(0, None, None)
        journal.close()

    def test_a_state_folder_one_may_not_write_in_stops_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with TemporaryDirectory() as folder:  # pytest's own can be entered by nobody else.
            os.chmod(folder, 0o755)
            monkeypatch.setenv("XDG_STATE_HOME", folder)
            with as_nobody():
                journal = started(None)
        assert "Permission denied" in (journal.problem or "")
        assert folder in (journal.problem or "")
        self._goes_on(journal)

    def test_no_home_stops_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        journal = started(None)
        assert "XDG_STATE_HOME" in (journal.problem or "")
        self._goes_on(journal)

    def test_an_error_of_the_disk_turns_it_off_for_good(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        now_s = [0.0]
        journal = started(tmp_path / "run.jsonl", clock=lambda: now_s[0])
        calls = []

        def fail(fd: int, data: bytes) -> int:
            calls.append(data)
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "write", fail)
        journal.sample(sample())
        now_s[0] = 1e6
        journal.sample(sample())
        assert "Input/output error" in (journal.problem or "")
        assert len(calls) == 1
        journal.close()

    def test_a_failing_sync_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(fd: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        journal = started(tmp_path / "run.jsonl")
        deadline_s = time.monotonic() + 5
        while journal.problem is None and time.monotonic() < deadline_s:
            journal.action("warn", [], "guard", "shown")
            time.sleep(0.01)
        assert "Input/output error" in (journal.problem or "")
        journal.close()

    def test_without_threads_it_does_without_the_sync(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        whole_run(tmp_path / "run.jsonl")
        assert kinds(tmp_path / "run.jsonl")[-1] == "exit"


def test_an_unrecorded_run_has_the_same_events_and_no_file(state_home: Path) -> None:
    journal = Journal.unrecorded(["sleep", "1"])
    assert journal.start({}, {}, 999.0)["command"] == ["sleep", "1"]
    assert journal.sample(sample())["event"] == "sample"
    assert journal.verdict("act", "full", 1.0)["level"] == "act"
    assert journal.exit(0, None, None)["peak_job_bytes"] == sample().job_bytes
    journal.close()
    assert (journal.path, journal.run_id, journal.problem, journal.size_bytes) == (None, None, None, 0)
    assert list(state_home.rglob("*.jsonl")) == []
