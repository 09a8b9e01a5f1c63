"""Lines as people paste them: whatever stands before the kernel's own words is taken off."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.diagnose.logs.oom import Limit, OomKill
from memwatch.diagnose.logs.pasted import pasted_lines

pytestmark = pytest.mark.usefixtures("in_utc")

NOW_T = 1794844800.0  # 2026-11-16 16:00 UTC
TEXT = "Out of memory: Killed process 7 (python) total-vm:1kB, anon-rss:2097152kB, file-rss:0kB"
T = 1794813543.0


def one(text: str) -> LogLine:
    (line,) = pasted_lines(text.splitlines(), NOW_T)
    return line


@pytest.mark.parametrize(
    ("prefix", "t"),
    [
        ("", None),
        ("kernel: ", None),
        ("[11709.026736] ", 11709.026736),
        ("<3>[11709.026736] ", 11709.026736),
        ("[11709.026736][ T98] ", 11709.026736),
        ("[    +0.000001] ", None),
        ("[Nov16 07:19] ", None),
        ("[Mon Nov 16 07:19:03 2026] ", T),
        ("[Mo Nov 16 07:19:03 2026] ", T),
        ("[lun. nov. 16 07:19:03 2026] ", T),
        ("[Пн ноя 16 07:19:03 2026] ", T),
        ("[一 11月 16 07:19:03 2026] ", T),
        ("Nov 16 07:19:03 desk kernel: [11709.026736] ", T),
        ("Nov 16 07:19:03 desk kernel: ", T),
        ("Nov 16 07:19:03 kernel: ", T),
        ("Nov 16 07:19:03.123456 desk kernel: ", T),
        ("нояб. 16 07:19:03 desk kernel: ", None),
        ("ноя 16 07:19:03 desk kernel: ", T),
        ("11月 16 07:19:03 desk kernel: ", T),
        ("16 nov. 07:19:03 desk kernel: ", T),
        ("2026-11-16T07:19:03+00:00 desk kernel: ", T),
        ("2026-11-16T08:19:03+0100 desk kernel: ", T),
        ("2026-11-16T07:19:03,000000+00:00 ", T),
        ("2026-11-16 07:19:03 desk kernel: ", T),
        ("2026 Nov 16 07:19:03.123456 desk ERR kernel: [11709.026736] ", T),
        ("1794813543.0 desk kernel: ", T),
        ("07:19:03 kernel: ", None),
        ("> [11709.026736] ", 11709.026736),
        ("> > kernel: ", None),
        ("+> [11709.026736] ", 11709.026736),
        ("  12 [11709.026736] ", 11709.026736),
        ("12: [11709.026736] ", 11709.026736),
        ("[E] Nov 16 07:19:03 kernel: ", T),
        (" kern:     err: [2026-11-16T07:19:03.000000123Z]: ", T),
        ("Nov 16 07:19:03 10.0.0.5 3,3870,1349697000,-;", T),
        ("\t[11709.026736] ", 11709.026736),
    ],
)
def test_a_prefix_is_taken_off_and_its_time_is_kept(prefix: str, t: float | None) -> None:
    line = one(prefix + TEXT)
    assert (line.who, line.text) == ("kernel", TEXT)
    assert line.t == t or (prefix.startswith("нояб") and line.t is not None)


def test_a_program_is_told_from_the_kernel() -> None:
    assert one("Nov 16 07:19:03 desk earlyoom[12]: sending SIGTERM").who == "earlyoom"
    assert one("Nov 16 07:19:03 desk containerd: time=1").who == "containerd"
    assert one("Nov 16 07:19:03 earlyoom[12]: sending SIGTERM").who == "earlyoom"
    assert one("slurmstepd: error: Detected 1 oom-kill event(s) in step 7.0 cgroup.").who == "slurmstepd"


@pytest.mark.parametrize(
    "text",
    [
        "nvme nvme0: I/O 704 QID 2 timeout, aborting",
        "ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen",
        "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3",
        "EXT4-fs (sda1): Remounting filesystem read-only",
        "amdgpu 0000:33:00.0: amdgpu: GPU reset begin!",
        "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
        "[ 7748]     0  7748  3226957  2875051    5692        0             0 python",
    ],
)
def test_a_device_is_no_program(text: str) -> None:
    for prefix in ("", "[5.0] ", "2026-11-16T07:19:03+00:00 ", "kernel: ", "Nov 16 07:19:03 desk kernel: "):
        assert one(prefix + text).text == text
        assert one(prefix + text).who == "kernel"


def test_a_wrapped_line_is_joined_and_lines_without_stamps_are_not() -> None:
    head, _, tail = TEXT.rpartition(" ")
    assert one(f"[11709.026736] {head}\n    {tail}").text == TEXT
    assert len(list(pasted_lines([TEXT, TEXT], NOW_T))) == 2
    assert len(list(pasted_lines([f"[1.0] {TEXT}", TEXT], NOW_T))) == 2


def test_a_message_of_journalctl_in_json() -> None:
    entry = {"__REALTIME_TIMESTAMP": "1794813543000000", "_TRANSPORT": "kernel", "MESSAGE": TEXT}
    assert one(json.dumps(entry)) == LogLine(T, "kernel", TEXT)
    entry["MESSAGE"] = list(TEXT.encode())  # type: ignore[assignment]
    assert one(json.dumps(entry)) == LogLine(T, "kernel", TEXT)


def test_the_announcement_of_syslogd_is_no_line() -> None:
    text = "Message from syslogd@desk at Nov 16 07:19:03 ...\n kernel:[11709.026736] " + TEXT
    assert one(text) == LogLine(11709.026736, "kernel", TEXT)


def test_a_report_in_the_middle_of_a_thread_is_read() -> None:
    thread = f"Hi,\n\nmy job dies. The log says:\n\n> ```\n> Nov 16 07:19:03 desk kernel: {TEXT}\n> ```\n\nWhat now?"
    (kill,) = read_log(pasted_lines(thread.splitlines(), NOW_T)).events
    assert isinstance(kill, OomKill)
    assert (kill.name, kill.limit, kill.t) == ("python", Limit.MACHINE, T)


@settings(deadline=None)
@given(st.lists(st.text(max_size=60)), st.sampled_from(["", "[1.0] ", "> ", "Nov 16 07:19:03 a kernel: ", "{"]))
def test_no_text_is_too_much(texts: list[str], prefix: str) -> None:
    read_log(pasted_lines((prefix + text for text in texts), NOW_T))


@pytest.mark.parametrize(
    "text", ["[" * 8000, "1 " * 4000, "> " * 4000, "a" * 8000, "Jan " * 2000, "(" * 8000, ": " * 4000]
)
def test_a_line_made_to_be_slow_is_not(text: str) -> None:
    """One look at a line is linear in its length: all of these take milliseconds."""
    began_s = time.process_time()
    read_log(pasted_lines([text] * 20, NOW_T))
    assert time.process_time() - began_s < 10  # a bound on CPU time, far above what any machine needs
