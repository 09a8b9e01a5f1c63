"""OOM reports of several kernels."""

from memwatch.diagnose.logs.log_events import read_log
from memwatch.diagnose.logs.log_lines import LogLine
from memwatch.diagnose.logs.oom_kill import OomKill, Row
from memwatch.model.units import GIB, KIB, MIB
from tests.diagnose.logs.examples import BOOTED_T, lines, read, recorded


def kills(name: str) -> list[OomKill]:
    return [event for event in recorded(name).events if isinstance(event, OomKill)]


def test_the_real_one_of_this_kernel_is_read() -> None:
    (kill,) = kills("memcg-6.18.dmesg")
    assert (kill.pid, kill.name, kill.invoked_by) == (10867, "python3", "python3")
    assert kill.rss_bytes == (102096 + 5616) * KIB
    assert (kill.in_cgroup, kill.cgroup, kill.cgroup_limit_bytes) == (True, "/limited", 100 * MIB)
    assert kill.biggest == (Row(10867, "python3", 26928 * 4096, 1000),)
    assert kill.t == BOOTED_T + 11709.036592
    assert kill.bigger is None


def test_linux_4_15_global() -> None:
    (kill,) = kills("global-4.15.syslog")
    assert (kill.pid, kill.name, kill.invoked_by, kill.in_cgroup) == (41031, "python", "Xorg", False)
    assert kill.ram_bytes == 16411234 * 4096
    assert (kill.swap_total_bytes, kill.swap_free_bytes) == (8388604 * KIB, 0)
    assert [row.name for row in kill.biggest[:2]] == ["python", "firefox"]
    assert kill.taken_bytes is not None
    assert round(kill.taken_bytes / GIB) == 65  # in RAM and in swap


def test_linux_5_4_with_a_bigger_one_that_was_spared() -> None:
    (kill,) = kills("innocent-5.4.journal")
    assert (kill.name, kill.oom_score_adj) == ("chrome", 300)
    assert kill.bigger == Row(7712, "python3", 7212345 * 4096, 0)


def test_linux_6_8_with_more_columns_and_odd_names() -> None:
    first, second = kills("global-6.8.syslog")
    assert (first.name, second.name) == ("python3 train.p", "(sd-pam)")
    assert first.biggest[0] == Row(5001, "python3 train.p", (1412345 + 120345) * 4096, 0, 120345 * 4096)
    assert second.biggest == ()  # Its own report has no table, and the first one's is not lent to it.


def test_linux_4_15_in_a_container() -> None:
    (kill,) = kills("memcg-4.15.dmesg")
    assert (kill.in_cgroup, kill.cgroup, kill.cgroup_limit_bytes) == (True, "/docker/3f2a9c", GIB)


def test_of_a_torn_report_the_victim_is_still_known() -> None:
    text = lines("global-4.15.syslog")
    (kill,) = read(text[-2]).events
    assert isinstance(kill, OomKill)
    assert (kill.pid, kill.biggest, kill.ram_bytes) == (41031, (), None)
    torn = [line[: len(line) * 2 // 3] for line in text]
    (still,) = read(*torn).events
    assert isinstance(still, OomKill)  # Whatever is left of it, memory ran out.
    assert (still.invoked_by, still.rss_bytes) == ("Xorg", None)


def test_a_lost_end_lends_nothing_to_the_next_report() -> None:
    text = lines("memcg-6.18.dmesg")[:-2]
    late = "[21709.1] Out of memory: Killed process 7 (late) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
    (kill,) = read(*text, late).events
    assert isinstance(kill, OomKill)
    assert (kill.name, kill.in_cgroup, kill.biggest) == ("late", False, ())


def test_a_table_of_a_hundred_thousand_is_not_held() -> None:
    head = "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name"
    rows = (f"[{pid:7d}]  1000 {pid} 100 {pid} 100 0 0 many" for pid in range(1, 100_000))
    end = "Out of memory: Killed process 99999 (many) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
    text = ["a invoked oom-killer: gfp_mask=0x0", head, *rows, end]
    (kill,) = read_log(LogLine(5.0, "kernel", line) for line in text).events
    assert isinstance(kill, OomKill)
    assert [row.pid for row in kill.biggest] == list(range(99_999, 99_989, -1))


def test_a_program_cannot_be_taken_for_the_kernel() -> None:
    assert (
        read("1794813543.0 desk evil: Out of memory: Killed process 1 (init) total-vm:1kB, anon-rss:1kB").events == ()
    )


def test_the_page_size_is_the_one_that_the_log_states() -> None:
    log = read(
        "[ 4211.101] python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0",
        "[ 4211.102] Mem-Info:",
        "[ 4211.102] active_anon:21 inactive_anon:243200 isolated_anon:0 free:1102",
        "[ 4211.103] Node 0 Normal: 1022*64kB (UM) 40*128kB (U) 0*256kB 0*512kB 0*1024kB = 70528kB",
        "[ 4211.104] 262144 pages RAM",
        "[ 4211.105] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        "[ 4211.106] [   2250]  1000  2250   250112   243210  1048576        0             0 python3",
        "[ 4211.107] Out of memory: Killed process 2250 (python3) total-vm:16007168kB, anon-rss:15565440kB",
    )
    (kill,) = log.of(OomKill)
    assert isinstance(kill, OomKill)
    assert (log.page_bytes, kill.ram_bytes) == (64 * KIB, 16 * GIB)
    assert kill.biggest == (Row(2250, "python3", 243210 * 64 * KIB, 0),)
    assert kill.anonymous_bytes == 243221 * 64 * KIB


def test_reports_of_two_ooms_that_interleave_keep_their_victims_and_limits() -> None:
    head = "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name"
    text = f"""
        [100.0] alpha invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
        [100.1] memory: usage 1048576kB, limit 1048576kB, failcnt 1
        [100.1] {head}
        [100.1] [     11]     0    11   300000   250000   200000        0             0 alpha
        [100.2] beta invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
        [100.2] memory: usage 524288kB, limit 524288kB, failcnt 1
        [100.2] {head}
        [100.2] [     22]     0    22   300000   120000   200000        0             0 beta
        [100.3] Memory cgroup out of memory: Killed process 11 (alpha) total-vm:1200000kB, anon-rss:1000000kB
        [100.4] Memory cgroup out of memory: Killed process 22 (beta) total-vm:1200000kB, anon-rss:480000kB
        """
    alpha, beta = [kill for kill in read(*map(str.strip, text.splitlines())).events if isinstance(kill, OomKill)]
    assert [(kill.name, kill.cgroup_limit_bytes) for kill in (alpha, beta)] == [("alpha", GIB), ("beta", GIB // 2)]
    assert [kill.programs[0].name for kill in (alpha, beta)] == ["alpha", "beta"]
