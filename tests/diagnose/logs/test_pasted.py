"""Lines as people paste them: whatever stands before the kernel's own words is taken off."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.diagnose.logs.oom_kill import LimitKind, OomKill
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
        ("  12 Nov 16 07:19:03 desk kernel: [11709.026736] ", T),
        ("  12: 2026-11-16T07:19:03+00:00 desk kernel: ", T),
        ("[11709.026736 <    0.000010>] ", 11709.026736),
        ("Mon 2026-11-16 07:19:03 UTC desk kernel: ", T),
        ("Mon 2026-11-16 07:19:03.000000 CET desk kernel: ", T),
        ("node-1: kern: warning: [2026-11-16T07:19:03.000000000Z]: ", T),
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


@pytest.mark.parametrize(
    "form",
    [
        '{{\n\t"__REALTIME_TIMESTAMP" : "{us}",\n\t"MESSAGE" : "{text}"\n}}',
        "__REALTIME_TIMESTAMP={us}\nMESSAGE={text}\n",
        "Mon 2026-11-16 07:19:03.000000 UTC [s=a;i=1]\n    __REALTIME_TIMESTAMP={us}\n    MESSAGE={text}",
        'data: {{"__REALTIME_TIMESTAMP":"{us}","MESSAGE":"{text}"}}\n',
        '[{{"__REALTIME_TIMESTAMP":"{us}","MESSAGE":"{text}"}},',
    ],
    ids=["json-pretty", "export", "verbose", "json-sse", "list"],
)
def test_an_entry_of_journalctl_has_its_time_in_every_format(form: str) -> None:
    """Two entries, the second without a time of its own: it does not get the first one's."""
    text = form.format(us=int(T * 1e6), text=TEXT)
    lines = [*pasted_lines([*text.split("\n"), "}", "", f"MESSAGE={TEXT}"], NOW_T)]
    first, second = (line for line in lines if "Killed process" in line.text)
    assert (first.t, second.t) == (T, None)


def test_the_announcement_of_syslogd_is_no_line() -> None:
    text = "Message from syslogd@desk at Nov 16 07:19:03 ...\n kernel:[11709.026736] " + TEXT
    assert one(text) == LogLine(11709.026736, "kernel", TEXT)


def test_a_report_in_the_middle_of_a_thread_is_read() -> None:
    thread = f"Hi,\n\nmy job dies. The log says:\n\n> ```\n> Nov 16 07:19:03 desk kernel: {TEXT}\n> ```\n\nWhat now?"
    (kill,) = read_log(pasted_lines(thread.splitlines(), NOW_T)).events
    assert isinstance(kill, OomKill)
    assert (kill.name, kill.limit, kill.t) == ("python", LimitKind.MACHINE, T)


HEALTHY = """
[    0.000000] Linux version 6.8.0-48-generic (buildd@lcy02) (x86_64-linux-gnu-gcc-13)
[    0.043437] mce: CPU supports 7 MCE banks
[    0.110000] Memory: 16110000K/16777216K available (20480K kernel code, 4300K rwdata)
[    0.200000] rcu: Hierarchical RCU implementation.
[    0.300000] NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.
[    0.400000] EDAC MC: Ver: 3.0.0
[    0.500000] EDAC ie31200: No ECC support
[    1.000000] nvme nvme0: 8/0/0 default/read/poll queues
[    1.100000] nvme nvme0: missing or invalid SUBNQN field.
[    1.200000] ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
[    1.210000] ata2: SATA link down (SStatus 0 SControl 300)
[    1.300000] blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0
[    1.310000] Buffer I/O error on dev sr0, logical block 0, async page read
[    1.400000] EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.
[    1.410000] EXT4-fs (nvme0n1p2): re-mounted r/w. Opts: errors=remount-ro
[    1.420000] BTRFS info (device sdb1): bdev /dev/sdb1 errs: wr 0, rd 0, flush 0, corrupt 0, gen 0
[    1.500000] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0
[    1.510000] i915 0000:00:02.0: [drm] GT0: GUC: submission enabled
[    1.520000] [drm] PCIE GART of 512M enabled (table at 0x0000008000900000).
[    1.530000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.65  Thu Jan  1 00:00:00 UTC 2026
[    2.000000] systemd[1]: Listening on systemd-oomd.socket - Userspace Out-Of-Memory (OOM) Killer Socket.
[    2.100000] usb 3-2: USB disconnect, device number 4
[    2.200000] perf: interrupt took too long (3142 > 3141), lowering kernel.perf_event_max_sample_rate to 63600
[    2.300000] zram0: detected capacity change from 0 to 16777216
[    2.400000] Adding 8388604k swap on /dev/zram0.  Priority:100 extents:1 across:8388604k SSDsc
[    2.500000] watchdog: Delayed init of the lockup detector failed: -19
[    2.600000] NFS: Registering the id_resolver key type
"""


def test_a_healthy_log_has_no_events_but_what_was_unplugged() -> None:
    events = read_log(pasted_lines(HEALTHY.strip().splitlines(), NOW_T)).events
    assert [type(event).__name__ for event in events] == ["UsbDisconnect"]


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


@pytest.mark.parametrize(
    "words",
    ["amdgpu Process ", "Killed process 1 (", "[1.000000] ", "out of memory: ", "BTRFS error (", "nvme "],
)
def test_a_line_that_repeats_itself_takes_no_time(words: str) -> None:
    """Patterns that backtrack would take hours here; the hang limit of the suite is the assertion."""
    read_log(pasted_lines([words * (8192 // len(words))], NOW_T))


@pytest.mark.parametrize(
    "line",
    [
        "kern  :err   : [11709.026736] Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",
        "\x1b[32m[11709.026736] \x1b[0mOut of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",
        "&lt;3&gt;[11709.026736] Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",
        '{"log":"[11709.026736] Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB"}',
        "    MESSAGE=Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",
        '        "MESSAGE" : "Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",',
        "화 11월 17 10:00:00 desk kernel: Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",
        "[二 11月 17 10:00:00 2026] Out of memory: Killed process 5 (python3) total-vm:1kB, anon-rss:1kB",
        'I saw "Out of memory: Killed process 5 (python3)" and gave up',
        "oom_reaper: reaped process 5 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    ],
)
def test_a_kill_is_found_in_every_form_of_a_line(line: str) -> None:
    (event,) = read_log(pasted_lines([line], NOW_T)).events
    assert isinstance(event, OomKill)
    assert (event.name, event.pid) == ("python3", 5)


def test_lines_that_a_terminal_cut_in_words_are_joined() -> None:
    report = [
        "[ 7097.004932] GC Thread#9 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0",
        "[ 7097.005191] 8232342 pages RAM",
        "[ 7097.005400] Out of memory: Killed process 25601 (java) total-vm:16048492kB, anon-rss:7960840kB,"
        " file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:16592kB oom_score_adj:0",
    ]
    cut = [line[i : i + 72] for line in report for i in range(0, len(line), 72)]
    (kill,) = read_log(pasted_lines(cut, NOW_T)).events
    assert isinstance(kill, OomKill)
    assert (kill.name, kill.rss_bytes, kill.oom_score_adj) == ("java", 7960840 * 1024, 0)
