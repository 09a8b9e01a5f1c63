"""Other events of a log."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwatch.diagnose.logs.daemon_lines import DaemonKill, Killer
from memwatch.diagnose.logs.fault_values import GpuHang, Lockup
from memwatch.diagnose.logs.log_events import MOST_EVENTS, GpuError, GpuFull, read_log
from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.diagnose.logs.stacks import HungTask, Wait
from memwatch.model.units import MIB
from tests.diagnose.logs.examples import FOLDER, lines, read, recorded

# Whole lines and halves of them, from every recorded log, without their heads.
PIECES = sorted(
    {
        half
        for path in FOLDER.iterdir()
        for line in path.read_text().splitlines()
        for text in [line.partition(": ")[2] or line.partition("] ")[2]]
        for half in (text, text[: len(text) // 2], text[len(text) // 2 :])
    }
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hung-writing-5.15.journal", [("fsync-heavy", 8123, Wait.WRITING), ("jbd2/nvme0n1p2-", 512, Wait.WRITING)]),
        ("hung-memory-6.1.journal", [("gnome-shell", 1907, Wait.MEMORY)]),
    ],
)
def test_hung_tasks_tell_what_they_wait_for(name: str, expected: list[tuple[str, int, Wait]]) -> None:
    found = [event for event in recorded(name).events if isinstance(event, HungTask)]
    assert [(task.name, task.pid, task.wait) for task in found] == expected
    assert {task.seconds for task in found} == {120}


def test_newer_kernels_name_the_kind_of_wait() -> None:
    (task,) = read("[5.0] INFO: task cc1:77 blocked in I/O wait for more than 122 seconds.").events
    assert task == HungTask(task.t, 77, "cc1", 122, Wait.UNKNOWN)


def test_daemons_that_kill() -> None:
    (session,) = recorded("oomd-session.journal").events
    assert isinstance(session, DaemonKill)
    assert session.name == "/user.slice/user-1000.slice/user@1000.service"
    assert "71.07% > 50.00%" in str(session.reason)
    first, second = recorded("earlyoom.journal").events
    assert isinstance(first, DaemonKill)
    assert (first.killer, first.name, first.pid, first.rss_bytes) == (Killer.EARLYOOM, "cluster", 29410, 23964 * MIB)
    assert isinstance(second, DaemonKill)
    assert second.name == "electron"
    (nohang,) = recorded("nohang.journal").events
    assert isinstance(nohang, DaemonKill)
    assert (nohang.killer, nohang.name, nohang.pid, nohang.rss_bytes) == (Killer.NOHANG, "mysqld", 903309, 10432 * MIB)


def test_errors_of_the_card() -> None:
    off = recorded("xid-79.journal").events
    assert [event.code for event in off if isinstance(event, GpuError)] == [79, 79]
    fault, _ = recorded("xid-31.journal").events
    assert isinstance(fault, GpuError)
    assert (fault.code, fault.name, fault.device) == (31, "python", "PCI:0000:01:00")
    (full,) = recorded("gpu-full.journal").events
    assert isinstance(full, GpuFull)
    assert isinstance(recorded("lockup.journal").events[0], Lockup)
    (amd,) = read("[5.0] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=12, emitted seq=14").events
    assert isinstance(amd, GpuHang)
    assert (amd.driver, amd.name) == ("amdgpu", None)


def test_the_same_event_in_two_files_is_one() -> None:
    text = lines("xid-31.journal")
    assert len(read(*text, *text).events) == 2


def test_of_many_events_the_last_are_kept_and_all_are_counted() -> None:
    text = "NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=python, Ch 1"
    found = read_log(LogLine(float(second), "kernel", text) for second in range(5000))
    assert len(found.events) == MOST_EVENTS
    assert found.left_out == 5000 - MOST_EVENTS
    assert (found.start_t, found.end_t, found.lines) == (0.0, 4999.0, 5000)


def test_an_empty_log_has_no_events() -> None:
    assert read_log([]).events == ()


def test_the_first_versions_of_oomd_name_only_what_they_watch() -> None:
    text = "Memory pressure for /user.slice/user-1000.slice is greater than 10 for more than 30 seconds and there was"
    (kill,) = read_log([LogLine(1.0, "systemd-oomd", f"{text} reclaim activity")]).events
    assert isinstance(kill, DaemonKill)
    assert (kill.killer, kill.name) == (Killer.OOMD, "a cgroup below /user.slice/user-1000.slice")


def test_harmless_lines_make_no_event() -> None:
    events = recorded("mixed.journal").events
    assert [type(event).__name__ for event in events] == ["OomKill", "OomKill"]


SAID = st.tuples(st.sampled_from(["kernel", "nohang", "earlyoom", "systemd-oomd", "x"]), st.sampled_from(PIECES))


@settings(deadline=None)
@given(st.lists(SAID))
def test_no_order_of_lines_is_too_much(said: list[tuple[str, str]]) -> None:
    """Torn, doubled and interleaved: read_log never raises."""
    read_log(LogLine(None if number % 3 else float(number), who, text) for number, (who, text) in enumerate(said))


def test_a_number_too_long_to_be_one_is_no_event() -> None:
    nines = "9" * 5000
    assert read(f"[5.0] NVRM: Xid (PCI:0): {nines}, pid=1").events == ()
    assert (
        read(f"[5.0] Out of memory: Killed process {nines} (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB").events == ()
    )
