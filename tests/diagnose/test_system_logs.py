"""Where logs are read from, and what is said where they cannot be."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from memwatch.diagnose.collect.system_logs import LogPlaces, read_logs
from memwatch.diagnose.logs.oom_kill import OomKill
from tests.diagnose.logs.examples import FOLDER, NOW_T

LONG_AGO_T = 0.0
Places = Callable[..., LogPlaces]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Programs that print what they are told to, and a folder for logs."""

    def make(journalctl: str = "exit 1", dmesg: str = "exit 1") -> LogPlaces:
        (tmp_path / "log").mkdir(exist_ok=True)
        for name, script in (("journalctl", journalctl), ("dmesg", dmesg)):
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        return LogPlaces(str(tmp_path / "journalctl"), str(tmp_path / "dmesg"), str(tmp_path / "log"))

    return make


def test_the_journal_of_two_boots_comes_first(places: Places) -> None:
    script = f'case "$*" in *"-b -1"*) cat {FOLDER}/mixed.journal;; *) cat {FOLDER}/earlyoom.journal;; esac'
    events, sources = read_logs(NOW_T, LONG_AGO_T, places(journalctl=script, dmesg="echo never asked; exit 9"))
    assert events is not None
    assert [type(event).__name__ for event in events.events] == ["OomKill", "DaemonKill", "DaemonKill", "OomKill"]
    assert [source.name for source in sources] == ["journal of the previous boot", "journal of this boot"]
    assert all(source.found for source in sources)


def test_what_is_too_old_is_left_out(places: Places) -> None:
    events, _ = read_logs(NOW_T, 1794839000.0, places(journalctl=f"cat {FOLDER}/mixed.journal"))
    assert events is not None
    assert [event.pid for event in events.events if isinstance(event, OomKill)] == [41031]


def test_without_a_journal_the_files_are_read(places: Places, tmp_path: Path) -> None:
    where = places(journalctl="echo '-- No entries --'; echo 'No journal files were found.' >&2")
    (tmp_path / "log" / "kern.log").write_bytes((FOLDER / "global-6.8.syslog").read_bytes())
    (tmp_path / "log" / "syslog").write_bytes((FOLDER / "global-6.8.syslog").read_bytes())
    events, sources = read_logs(NOW_T, LONG_AGO_T, where)
    assert events is not None
    assert len(events.events) == 2  # The same lines in two files are one event each.
    assert sources[0].missing == "empty (No journal files were found.)"
    assert [source.found is not None for source in sources] == [False, False, True, True, False]


def test_where_there_is_nothing_else_dmesg_is_asked(places: Places) -> None:
    events, sources = read_logs(NOW_T, LONG_AGO_T, places(dmesg=f"cat {FOLDER}/memcg-6.18.dmesg"))
    assert events is not None
    assert len(events.events) == 1
    assert "dmesg" in [source.name for source in sources if source.found]


def test_permission_denied_is_named_and_nothing_is_claimed(places: Places) -> None:
    hint = "Hint: You are currently not seeing messages from other users and the system."
    denied = "dmesg: read kernel buffer failed: Operation not permitted"
    where = places(journalctl=f"echo '{hint}' >&2; echo '-- No entries --'", dmesg=f"echo '{denied}' >&2; exit 1")
    events, sources = read_logs(NOW_T, LONG_AGO_T, where)
    assert events is None
    missing = {source.name: source.missing for source in sources}
    assert "permission denied" in str(missing["journal of this boot"])
    assert "permission denied" in str(missing["dmesg"])


def test_a_journal_that_hangs_is_passed_over(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwatch.diagnose.collect.capture.command_lines.__defaults__", (1 << 20, 0.3))
    events, sources = read_logs(NOW_T, LONG_AGO_T, places(journalctl="exec sleep 100", dmesg="exec sleep 100"))
    assert events is None
    assert all("did not finish in" in str(source.missing) for source in sources if "log/" not in source.name)


def test_a_huge_journal_is_read_quickly_and_held_small(places: Places) -> None:
    script = "exec yes '1794839512.0 desk kernel: usb 1-4: reset high-speed USB device number 3 using xhci_hcd'"
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    events, sources = read_logs(NOW_T, LONG_AGO_T, places(journalctl=f"{script} | head -n 50000"))
    assert events is not None
    assert events.events == ()
    assert sources[0].found == "50000 lines"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 32 * 1024


def test_torn_bytes_are_no_trouble(places: Places, tmp_path: Path) -> None:
    where = places()
    whole = (FOLDER / "global-6.8.syslog").read_bytes()
    (tmp_path / "log" / "kern.log").write_bytes(b"\xff\0\0" + whole[100:-40] + b"\0" * 500 + b"\xc3")
    events, _ = read_logs(NOW_T, LONG_AGO_T, where)
    assert events is not None
    assert len(events.events) >= 1
