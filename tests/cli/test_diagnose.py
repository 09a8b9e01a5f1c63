"""memwatch diagnose, as a user runs it."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memwatch.cli.diagnosis_text import as_object, report
from memwatch.diagnose.findings import Cause, Confidence, Diagnosis, Finding, Source
from memwatch.journal.events import encode, sample_event
from memwatch.journal.reader import read_events
from tests.diagnose.timeline.records import freeze
from tests.helpers import error_of, memwatch
from tests.journal.examples import whole_run

RECORDED = Path(__file__).parent.parent / "diagnose" / "recorded"
EXAMPLES = Path(__file__).parent.parent / "diagnose" / "scripts" / "examples"
NOW_T = 1794844800.0


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, in_utc: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its own state, and no system log but what a test writes: the machine's own may hold anything."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("journalctl", "dmesg"):
        (programs / name).write_text("#!/bin/sh\necho 'Operation not permitted' >&2; exit 1\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path / "state"


def utf_16(text: bytes) -> bytes:
    """As PowerShell writes what `wsl dmesg` prints."""
    return text.decode().encode("utf-16")


def lately(name: str, folder: Path) -> Path:
    """A recorded journal, as if it had been made a minute ago."""
    events = list(read_events(RECORDED / name))
    shift_s = time.time() - 60 - float(str(events[-1]["t"]))
    path = folder / name
    path.write_bytes(b"".join(encode(event | {"t": float(str(event["t"])) + shift_s}) for event in events))
    return path


def test_a_run_that_thrashed_is_explained(tmp_path: Path) -> None:
    done = memwatch("diagnose", lately("thrash.jsonl", tmp_path))
    assert (done.code, done.err) == (3, "")
    assert done.out.startswith("Freeze ")
    assert "confidence: high" in done.out.splitlines()[0]
    assert "WHAT      Swap thrashing inside the memory limit of /limited: python3 prepare.py (10782) grew" in done.out
    assert "NEXT      1. memwatch run -- python3 prepare.py" in done.out
    assert "permission denied" in done.out


def test_the_last_run_is_looked_at_without_being_named(state_home: Path) -> None:
    folder = state_home / "memwatch" / "runs"
    folder.mkdir(parents=True, mode=0o700)
    lately("stopped.jsonl", folder)
    done = memwatch("diagnose")
    assert done.code == 3
    assert "memwatch stopped sh" in done.out


def test_a_run_that_memwatch_stopped_is_mentioned_although_others_followed(state_home: Path) -> None:
    folder = state_home / "memwatch" / "runs"
    folder.mkdir(parents=True, mode=0o700)
    lately("stopped.jsonl", folder).rename(folder / "2026-11-16-100000-1.jsonl")
    whole_run(folder / "2026-11-16-110000-2.jsonl")
    done = memwatch("diagnose")
    assert done.code == 3
    assert "memwatch stopped sh" in done.out
    assert "grew" in done.out  # from what to what, and not only that there was no room
    assert "memwatch replay 2026-11-16-100000-1" in done.out


class TestLogs:
    LOG = EXAMPLES.parent.parent / "excerpts" / "open" / "docker-limit-old-form.log"

    def test_a_log_of_another_machine_is_all_the_evidence(self, state_home: Path) -> None:
        folder = state_home / "memwatch" / "runs"
        folder.mkdir(parents=True, mode=0o700)
        lately("stopped.jsonl", folder)
        done = memwatch("diagnose", "--log", self.LOG)
        assert (done.code, done.err) == (3, "")
        assert "ruby held 3.1 GiB of RAM" in done.out.replace("\n         ", "")
        for word in ("memwatch stopped", "RULED OUT", "permission denied", "memwatch record"):
            assert word not in done.out

    @pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, utf_16])
    def test_packed_and_from_standard_input(self, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
        path = tmp_path / "messages"
        path.write_bytes(pack(self.LOG.read_bytes()))
        said = memwatch("diagnose", "--log", path)
        assert said.code == 3
        with open(path, "rb") as file:
            piped = subprocess.run(
                [sys.executable, "-m", "memwatch", "diagnose", "--log", "-"], stdin=file, capture_output=True, text=True
            )
        assert piped.returncode == 3
        assert piped.stdout.replace("standard input", "messages") == said.out

    def test_json_names_the_part_that_is_at_fault(self) -> None:
        found = json.loads(memwatch("diagnose", "--log", self.LOG, "--json").out)
        assert [finding["cause"] for finding in found["findings"]] == ["cgroup-limit"]
        assert found["is_pasted"] is True

    def test_prose_alone_has_nothing_in_it(self, tmp_path: Path) -> None:
        path = tmp_path / "thread.txt"
        path.write_text("My machine froze again.\nI think it ran out of memory, but the log is empty.\n")
        done = memwatch("diagnose", "--log", path)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("No freeze and no killed job was found in this log.")

    def test_escape_sequences_in_a_log_are_shown_harmlessly(self, tmp_path: Path) -> None:
        path = tmp_path / "evil.log"
        path.write_text("[1.0] Out of memory: Killed process 7 (\x1b[31mevil) total-vm:1kB, anon-rss:900000kB\n")
        done = memwatch("diagnose", "--log", path)
        assert done.code == 3
        assert "\x1b" not in done.out

    def test_an_older_boot(self, tmp_path: Path) -> None:
        mixed = RECORDED.parent / "logs" / "recorded" / "mixed.journal"
        script = f'#!/bin/sh\ncase "$*" in *"-b -2 "*) cat {mixed};; *) exit 1;; esac\n'
        (tmp_path / "bin" / "journalctl").write_text(script)
        done = memwatch("diagnose", "--boot", "-2")
        assert done.code == 3
        assert "python3 (41031" in done.out
        assert "journal of boot -2" in done.out
        done = memwatch("diagnose", "--boot", "-9")
        assert done.code == 1
        assert "journalctl --list-boots" in error_of(done)


def test_a_run_that_went_well_has_nothing_wrong(tmp_path: Path) -> None:
    path = tmp_path / "good.jsonl"
    whole_run(path)
    done = memwatch("diagnose", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("No freeze and no killed job was found.")


def test_json_says_the_same(tmp_path: Path) -> None:
    done = memwatch("diagnose", lately("thrash.jsonl", tmp_path), "--json")
    assert done.code == 3
    found = json.loads(done.out)
    assert found["schema"] == 1
    assert [finding["cause"] for finding in found["findings"]] == ["swap-thrashing"]
    assert found["findings"][0]["confidence"] == "high"
    assert {"ruled_out", "not_known", "sources"} <= found.keys()


def test_command_lines_are_shown_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "secret.jsonl"
    record = freeze()
    shift_s = time.time() - 60 - record.t
    events = [sample_event(sample) for sample in record.samples]
    path.write_bytes(b"".join(encode(event | {"t": float(str(event["t"])) + shift_s}) for event in events))
    assert "SECRET" not in memwatch("diagnose", path).out
    assert "SECRET" not in memwatch("diagnose", path, "--json").out
    assert "SECRET" in memwatch("diagnose", path, "--show-commands").out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no-such-run"], 1, "there is no run no-such-run"),
        (["/no/such.jsonl"], 1, "no such file"),
        (["--since", "yesterday"], 2, "write it as 90min, 12h or 7d"),
        (["--input", __file__], 2, "needs --script"),
        (["last", "--script", __file__], 2, "not both"),
        (["--script", "/no/such.py"], 2, "does not exist"),
        (["--log", "/no/such.log"], 1, "cannot read such.log"),
        (["--log", __file__, "--boot", "-1"], 2, "use one"),
        (["last", "--log", __file__], 2, "a run cannot be named"),
        (["--log", __file__, "--json", "--html", "-"], 2, "only one of --json and --html"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(arguments: list[str], code: int, words: str) -> None:
    done = memwatch("diagnose", *arguments)
    assert done.code == code
    assert words in error_of(done)


_SHARED_MEMORY = """
Nov 16 07:19:03 nimbus kernel: worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
Nov 16 07:19:03 nimbus kernel: memory: usage 1048576kB, limit 1048576kB, failcnt 91
Nov 16 07:19:03 nimbus kernel: Memory cgroup stats for /system.slice/bobs-secret.service:
Nov 16 07:19:03 nimbus kernel: anon 47185920
Nov 16 07:19:03 nimbus kernel: file 1023410176
Nov 16 07:19:03 nimbus kernel: shmem 1023410176
Nov 16 07:19:03 nimbus kernel: file_dirty 0
Nov 16 07:19:03 nimbus kernel: [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
Nov 16 07:19:03 nimbus kernel: [   4242]     0  4242    40000    12032   200000        0             0 worker
Nov 16 07:19:03 nimbus kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,\
oom_memcg=/system.slice/bobs-secret.service,task_memcg=/system.slice/bobs-secret.service,task=worker,pid=4242,uid=0
Nov 16 07:19:03 nimbus kernel: Memory cgroup out of memory: Killed process 4242 (worker) total-vm:160000kB, \
anon-rss:46080kB, file-rss:2048kB, shmem-rss:0kB
""".replace("\\\n", "")


class TestSharedMemoryLog:
    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        path = tmp_path / "bobs-kern.log"
        path.write_text(_SHARED_MEMORY)
        return path

    def test_shared_memory_is_named_and_not_the_small_victim(self, log: Path) -> None:
        done = memwatch("diagnose", "--log", log)
        assert done.code == 3
        assert "976.0 MiB was in shared memory and tmpfs" in " ".join(done.out.split())
        assert "worker is not the reason" in " ".join(done.out.split())
        assert "systemctl set-property bobs-secret.service MemoryMax=2G" in " ".join(done.out.split())

    def test_a_page_of_a_log_can_be_sent(self, log: Path, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        assert memwatch("diagnose", "--log", log, "--html", page).code == 3
        text = page.read_text()
        assert "shared memory and tmpfs" in text
        assert "limit: the memory limit of the cgroup, 1.0 GiB" in text
        for private in ("bobs", "nimbus", "system.slice", str(tmp_path)):
            assert private not in text
        shown = memwatch("diagnose", "--log", log, "--html", "-", "--show-commands")
        assert shown.out.startswith("<!doctype html>")
        assert "bobs-secret.service" in shown.out

    def test_a_log_line_that_is_quoted_as_evidence_goes_into_json(self, tmp_path: Path) -> None:
        path = tmp_path / "disk.log"
        path.write_text("kernel: blk_update_request: I/O error, dev nvme0n1, sector 5\n")
        found = json.loads(memwatch("diagnose", "--log", path, "--json").out)
        assert found["findings"][0]["cause"] == "disk-fault"
        assert "sector 5" in found["findings"][0]["evidence"][0]


class TestScripts:
    def test_lines_are_pointed_at(self) -> None:
        done = memwatch("diagnose", "--script", EXAMPLES / "mission.py", "--input", __file__)
        assert (done.code, done.err) == (3, "")
        assert done.out.startswith("mission.py holds all data in memory in 2 places\n")
        assert "line 15   all_tokens.extend(enc.encode_ordinary(chunk))" in done.out
        assert "INPUT" in done.out

    def test_a_script_that_is_fine(self) -> None:
        done = memwatch("diagnose", "--script", EXAMPLES / "openwebtext.py")
        assert (done.code, done.out) == (
            0,
            "openwebtext.py: no line holds all data in memory; every call in it is known\n",
        )

    def test_json(self) -> None:
        done = memwatch("diagnose", "--script", EXAMPLES / "mission.py", "--json")
        assert [hit["line"] for hit in json.loads(done.out)["hits"]] == [15, 16]

    def test_what_is_no_script_is_one_sentence(self, tmp_path: Path) -> None:
        path = tmp_path / "broken.py"
        path.write_text("def (:\n")
        done = memwatch("diagnose", "--script", path)
        assert done.code == 1
        assert "is not valid Python (line 1)" in error_of(done)

    def test_nothing_is_called_fine_that_was_not_followed(self, tmp_path: Path) -> None:
        path = tmp_path / "prepare.py"
        path.write_text("from lib import load_documents\nout = []\nfor doc in load_documents():\n    out.append(doc)\n")
        done = memwatch("diagnose", "--script", path)
        assert done.code == 0
        assert "but could not follow all of it" in done.out
        assert "line 3: load_documents() is defined elsewhere, and may hold all of it" in done.out

    def test_a_notebook_names_cell_and_line(self, tmp_path: Path) -> None:
        path = tmp_path / "prepare.ipynb"
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["df = pd.read_csv('train.csv')"]}]}))
        done = memwatch("diagnose", "--script", path)
        assert done.code == 3
        assert "(cell 1, line 1)" in done.out
        assert "run tokenize" not in done.out  # A table is not text to be tokenized.

    def test_a_script_is_read_and_never_run(self, tmp_path: Path) -> None:
        path = tmp_path / "prepare.py"
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
        assert memwatch("diagnose", "--script", path).code == 0
        assert not (tmp_path / "ran").exists()

    def test_foreign_text_is_shown_harmlessly(self, tmp_path: Path) -> None:
        path = tmp_path / "prepare.py"
        path.write_text("data = open('\x1b[31m').read()\n")
        assert "\x1b" not in memwatch("diagnose", "--script", path).out


class TestReport:
    FINDING = Finding(
        Cause.SWAP_THRASHING,
        "Swap thrashing: \x1b[31mpython\n (7) grew.",
        "Why.",
        Confidence.HIGH,
        ("one", "two"),
        ("Do this.",),
        NOW_T - 300,
        NOW_T - 18,
    )

    def test_it_is_as_the_screens_show_it(self) -> None:
        diagnosis = Diagnosis(
            (self.FINDING,), ("GPU (0 %, 1.1 of 12.0 GiB)",), ("which line",), (Source("dmesg", "9 lines"),)
        )
        assert report(diagnosis, NOW_T, 100) == [
            "Freeze 15:55:00 - 15:59:42 (4 min 42 s)                  confidence: high",
            "WHAT      Swap thrashing: \\x1b[31mpython\\n (7) grew.",
            "WHY       Why.",
            "EVIDENCE  one · two",
            "RULED OUT GPU (0 %, 1.1 of 12.0 GiB)",
            "NOT KNOWN which line",
            "NEXT      1. Do this.",
            "LOOKED AT dmesg: 9 lines",
        ]

    def test_another_day_is_dated_once(self) -> None:
        head = report(Diagnosis((self.FINDING,)), NOW_T + 86400, 100)[0]
        assert head.startswith("Freeze 2026-11-16 15:55:00 - 15:59:42 (4 min 42 s)")

    def test_no_line_is_wider_than_the_terminal(self) -> None:
        diagnosis = Diagnosis((self.FINDING,) * 2, ("word " * 99,), (), (Source("x" * 300, None, "not here"),))
        assert all(len(line) <= 60 for line in report(diagnosis, NOW_T, 60))

    def test_it_can_be_written_as_json(self) -> None:
        found = json.loads(json.dumps(as_object(Diagnosis((self.FINDING,)), NOW_T)))
        assert found["findings"][0]["cause"] == "swap-thrashing"
        assert found["t"] == NOW_T


class TestPage:
    def test_a_run_is_drawn_with_its_findings(self, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        done = memwatch("diagnose", lately("thrash.jsonl", tmp_path), "--html", page)
        assert (done.code, done.err) == (3, "")
        assert done.out.startswith("Freeze ")
        text = page.read_text()
        assert text.startswith("<!doctype html>")
        assert "Swap thrashing inside the memory limit of [path]" in text
        assert "<svg" in text

    def test_the_record_around_a_finding_is_drawn(self, tmp_path: Path, state_home: Path) -> None:
        folder = state_home / "memwatch" / "machine"
        folder.mkdir(parents=True, mode=0o700)
        lately("machine.jsonl", tmp_path).rename(folder / "000001-20261116-075941.jsonl")
        done = memwatch("diagnose", "--html", "-")
        assert (done.code, done.err) == (3, "")
        assert "python3 prepare.py (12506)" in done.out
        assert "</html>" in done.out

    def test_where_nothing_was_recorded_there_is_no_page(self, tmp_path: Path) -> None:
        done = memwatch("diagnose", "--html", tmp_path / "page.html")
        assert done.code == 1
        assert "nothing was recorded that could be drawn" in error_of(done)
        assert not (tmp_path / "page.html").exists()
